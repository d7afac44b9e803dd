"""A boxed program stays nobody: no capabilities, no set-user-id program helps, no other user id can be taken."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, subprocess
gained = []
for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0])):
    try:
        call()
        gained.append(str(os.getresuid()))
    except OSError:
        pass
print(gained, os.getgroups() in ([], [os.getgid()]), os.getuid() != 0)
for name in ("su", "newgrp", "mount", "passwd", "sudo"):
    if os.path.exists("/usr/bin/" + name):
        words = ["/usr/bin/" + name, "-c", "id -u"] if name in ("su", "newgrp") else ["/usr/bin/" + name, "--help"]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.stdout.strip() == "0":
            print("root through", name)
fields = [line.split() for line in open("/proc/self/status") if line.startswith("Cap") or line.startswith("NoNew")]
print({name: int(value, 16) for name, value in fields})
"""


def test_no_right_is_gained(attack):
    """Ids, groups, set-user-id programs, capability sets."""
    lines = attack(SOURCE).lines
    assert "[] " in lines[0]
    assert lines[0].endswith("True")
    assert lines[1:] == ["{'CapInh:': 0, 'CapPrm:': 0, 'CapEff:': 0, 'CapBnd:': 0, 'CapAmb:': 0, 'NoNewPrivs:': 1}"]
