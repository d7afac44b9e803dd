"""Checks: what a lab promises, how two traces are compared, and the name of the difference. No torch, no student code."""
