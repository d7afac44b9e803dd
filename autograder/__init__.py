"""The autograder of the course on normalization in deep learning."""
