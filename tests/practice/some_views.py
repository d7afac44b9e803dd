"""Some checks as they are shown; not a test."""

from __future__ import annotations

from autograder.practice.progress import Progress
from autograder.practice.view import Diagnosis, Row, View, section_of, url_of

PAGE = "book/mathematical-formulation.html#bn-forward"
FOUND = Diagnosis(
    "The variance is unbiased", url_of(PAGE), section_of(PAGE), (("Think", "Count the rows."), ("See", "Too small."))
)
SECOND = Diagnosis(
    "The bias is left out", url_of(PAGE), section_of(PAGE), (("Think", "At zero?"), ("See", "No shift."))
)
ROWS = (Row("y", "wrong", "y[0] should be 1; it is 2", "one call"), Row("x.grad", "passed"), Row("m.a", "not reached"))
FAILED = View(
    "c-one", "a title", "not yet", "1 of 2 scenarios agree", ROWS, "import torch\ny = f(1)\nprint(y)\n# y[0] should be 1",
    (FOUND,), "advice", Progress("Lab 1", 7, 1, 78),
)  # fmt: skip
PASSED = View("c-one", "a title", "passed", "2 scenarios", (Row("y", "passed"),), progress=Progress("Lab 1", 8, 0, 78))
