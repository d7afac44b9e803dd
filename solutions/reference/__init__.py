"""The reference layers, one file per family, each with its backward pass by hand.

They are written to be read, tested against torch.nn, and used as the truth in grading.
"""
