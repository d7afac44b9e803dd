"""What `check` needs on a student's machine: the practice files of the labs, and how they are read and shown. No answers."""
