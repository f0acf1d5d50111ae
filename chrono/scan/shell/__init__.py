"""Shell text -> evaluated commands."""
