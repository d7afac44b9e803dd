"""Lab 3: group normalization and instance normalization. Everything about it, the solutions included; students get labs/."""
