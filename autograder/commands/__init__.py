"""The commands of `autograder`, one module each; `autograder.cli` parses the words and loads the one that is needed."""
