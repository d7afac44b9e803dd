"""Lab 6, beyond batch norm: the notebook, its checks, the mistakes they must catch, the variants they must accept."""
