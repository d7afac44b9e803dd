"""Grade a class with otter-grader, in one process: run by the Python of otter's own environment, which has nothing of this course.

`python otter_class.py FOLDER STUDENT...` takes FOLDER/submitted/ and FOLDER/autograder.zip, and writes FOLDER/results/.
"""

import csv
import json
import sys
import time
from pathlib import Path

BEGAN_S = time.perf_counter()


def main(folder: Path, students: list[str]) -> None:
    """Grade these students, one after the other."""
    from otter.api import grade_submission

    (folder / "start.json").write_text(json.dumps({"start_s": time.perf_counter() - BEGAN_S}))
    (folder / "results").mkdir(exist_ok=True)
    table = []
    for student in students:
        found = grade_submission(
            str(folder / "submitted" / f"{student}.ipynb"), str(folder / "autograder.zip"), quiet=True
        )
        result = {"points": found.total, "possible": found.possible, "summary": found.summary()}
        (folder / "results" / f"{student}.json").write_text(json.dumps(result))
        table.append((student, found.total))
    with (folder / "results" / "grades.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("student", "points"), *table])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
