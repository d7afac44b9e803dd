"""A Jupyter kernel in a box, and the client that treats every reply of it as hostile."""
