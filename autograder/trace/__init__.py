"""Scenarios and traces: the data that both sides of the sandbox share, and its two forms on the wire."""
