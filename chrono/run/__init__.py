"""`chrono run`: a command under supervision, with a savepoint before it and a way back after it."""
