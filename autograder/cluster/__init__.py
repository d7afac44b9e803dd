"""Grading on other machines through Dask: graders on each worker, and an executor here that reaches them over TLS."""
