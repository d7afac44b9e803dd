"""Links, files and folders in the place of a kernel's sockets and connection file harm nobody."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import glob, os
folder = os.path.dirname([*glob.glob("/tmp/autograder-*/*/c.json"), *glob.glob("/opt/box/c.json")][0])
done = []
for name in sorted(os.listdir(folder)):
    try:
        os.unlink(f"{folder}/{name}")
        os.symlink("/etc/shadow", f"{folder}/{name}")
        done.append(name)
    except OSError:
        pass
for path in (folder, os.path.dirname(folder)):
    try:
        os.rename(path, path + "x")
        done.append(path)
    except OSError:
        pass
print(done)
import time
time.sleep(0.5)
"""


def test_the_grader_follows_nothing(either_users_notebook, rung):
    """Built by root or forked, the folder is out of reach; else the box is stopped at the next look."""
    run, after = either_users_notebook(SOURCE, "print(1)", rung=rung)
    if run.status == "ok":
        assert run.text == "[]\n"
        assert after.text == "1\n"
    else:
        assert run.status == "dead"
        assert "folder of the kernel's own sockets" in run.reason
        assert after.reason == run.reason
