"""Adapters to agent clients: the protocol, the registry, install plans."""
