"""The example lab of docs/writing-a-lab.md: rows of unit length. Small enough to read in one go; the tests build and grade it."""
