"""YAML rule packs -> a compiled Ruleset."""
