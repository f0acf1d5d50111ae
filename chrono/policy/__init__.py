"""What a policy says about a scan: load, decide, settle."""
