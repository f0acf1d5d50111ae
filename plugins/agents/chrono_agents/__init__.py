"""Adapters of chrono for agent clients other than Claude Code; one module a client."""
