"""The command line: table of commands, rendering, errors to exit codes."""
