"""Run one program in one box and print how it ended, as JSON (started by the fixture `attack`)."""

import json
import os
import sys
from dataclasses import asdict

from autograder.sandbox.bwrap import TEMPLATE_PLACE
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box, start_fork
from autograder.sandbox.view import view
from autograder.sandbox.warm import Template

os.environ["A_SECRET_OF_THE_GRADER"] = "1"
order = json.load(sys.stdin)
limits = Limits(**order["limits"])
folder = RunFolder()
if order["rung"] == "warm":
    template = keeper().call(lambda: Template(["json"])).result()
    template.wait_until_ready(60)
    folder.remove()
    folder = RunFolder(within=template.folder)
    source, *arguments = (word.replace("RUN_FOLDER", TEMPLATE_PLACE) for word in (order["source"], *order["arguments"]))
    given = {"connection": None, "source": source, "arguments": arguments, "files": {}}
    box = start_fork(template, folder, limits, given).result()
else:
    argv = [view().python, "-I", "-u", "-c", order["source"], *order["arguments"]]
    box = start_box([word.replace("RUN_FOLDER", str(folder.path)) for word in argv], folder, limits).result()
end = asdict(box.ended.result())
assert not folder.path.exists()
end["lines"] = end.pop("tail").splitlines()
print(json.dumps({**end, "cpu_s": box.cpu_s, "peak_memory_mb": box.peak_memory_mb}))
