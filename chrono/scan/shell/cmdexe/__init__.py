"""cmd.exe: text in, the commands that it can run out."""
