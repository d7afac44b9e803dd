"""Grading: a notebook and a lab go in, a report comes out."""
