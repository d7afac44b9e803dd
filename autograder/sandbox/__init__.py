"""Runs one untrusted process tree in a box (bubblewrap); knows nothing of notebooks, labs or grades."""
