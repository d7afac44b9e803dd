"""Lab 2: layer normalization over any number of last axes, its backward pass by hand, and RMSNorm."""
