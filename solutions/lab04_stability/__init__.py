"""Lab 4, stability: how much one example's output and gradient depend on its batch-mates, and what that does to training."""
