# wrong: statistics_shape: ss-token-swapped-when-square
def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (max(n, l), min(n, l))
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
