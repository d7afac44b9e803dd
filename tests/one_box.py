"""Run one program in one box and print how it ended, as JSON (started by the fixture `attack`)."""

import json
import os
import sys
from dataclasses import asdict

from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box
from autograder.sandbox.view import view

os.environ["A_SECRET_OF_THE_GRADER"] = "1"
order = json.load(sys.stdin)
limits = Limits(**order["limits"])
folder = RunFolder()
argv = [view().python, "-I", "-u", "-c", order["source"], *order["arguments"]]
box = start_box([word.replace("RUN_FOLDER", str(folder.path)) for word in argv], folder, limits).result()
end = asdict(box.ended.result())
assert not folder.path.exists()
end["lines"] = end.pop("tail").splitlines()
print(json.dumps({**end, "cpu_s": box.cpu_s, "peak_memory_mb": box.peak_memory_mb}))
