"""The signed log: record, tree head, witness, verification."""
