"""Lab 1: the notebook, its checks, the mistakes they must catch, the variants they must accept."""
