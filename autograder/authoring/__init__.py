"""Authoring: what an author of labs runs to make the notebooks and the practice files, and to see that they are fresh."""
