"""What a command starts: scripts, package scripts, make targets."""
