"""What nbgrader loads: its own extension points, filled with the course's grading. No fork, no patch."""
