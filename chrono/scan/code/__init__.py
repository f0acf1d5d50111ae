"""Source code of other languages -> the commands it amounts to."""
