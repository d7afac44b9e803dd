"""Measurements (`make bench` and its relatives), printed as Markdown tables: no tests, and nothing fails for being slow."""
