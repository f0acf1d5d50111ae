"""Text of a command -> what it would run and touch. Pure: the machine is seen through `world.World` only."""
