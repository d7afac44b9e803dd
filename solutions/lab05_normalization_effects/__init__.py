"""Lab 5: what normalization does to activations and gradients, measured over training: source, checks, mistakes, variants."""
