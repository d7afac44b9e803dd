"""`python -m autograder` is `autograder`."""

import sys

from autograder.cli import main

sys.exit(main())
