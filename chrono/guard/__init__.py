"""The hook: boot, client, service, engine, effects."""
