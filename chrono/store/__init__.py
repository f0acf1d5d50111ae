"""The hidden git repository: capture, savepoints, restore. The only room that imports pygit2."""
