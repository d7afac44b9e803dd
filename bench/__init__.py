"""What `make bench` runs: measurements, printed as Markdown tables. Nothing here is a test, and nothing fails for being slow."""
