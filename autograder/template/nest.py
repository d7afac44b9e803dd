"""The fence that a fork of the template puts around itself before any student code: `enter` never returns half done.

Theory of operation. The template runs in a bubblewrap box that shows programs and packages, read-only. A fork of it is made into a
world of its own inside: namespaces for users, mounts, processes, network, IPC, host name and cgroups; a /proc of its own, empty
/tmp and /dev/shm of bounded size, and of all run folders only its own. Then it gives up what it needed for that, in this order:
limits, capabilities, the right to gain privileges, the file system (Landlock, where the kernel has it), and last the system calls.
Anything that fails on the way raises, and the caller ends the fork: a kernel with half a fence must not start. What it is not: a
way to choose what is forbidden; limits and the filter of system calls come from the grader as data.

Process 1 of the new world, which only waits, makes process 2 before it has done anything else that is not needed for that: each
page that it wrote to would be copied once more there. So both give up everything, each for itself (`stand_by`, `enter`).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import resource
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

NEW_WORLD = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
"""user, mount, process, network, IPC, host name, cgroup namespaces, for clone(2)"""

CLONE = {"x86_64": 56, "aarch64": 220}  # its number, by processor

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 4, 38, 22, 24, 47
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SIGCHLD = 17  # on both processors; as a plain number
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same numbers on every processor

# Landlock's rights on files, in the order of their bits; the last three came with later versions of it.
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_SOCK, TRUNCATE, IOCTL_DEV = 1 << 9, 1 << 14, 1 << 15
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}  # by version; from 5 on, ioctl on devices as well
ANY = RIGHTS[3] | IOCTL_DEV

LAST_CAPABILITY = int(Path("/proc/sys/kernel/cap_last_cap").read_text()) if sys.platform == "linux" else 0

# Found here, once, and not in each fork.
_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_calling = ctypes.PyDLL(None, use_errno=True)  # keeps Python's lock, which a child could not take
_clone, _fork = _calling.syscall, _calling.fork
_before_fork, _after_fork = ctypes.pythonapi.PyOS_BeforeFork, ctypes.pythonapi.PyOS_AfterFork_Parent
_after_fork_in_child = ctypes.pythonapi.PyOS_AfterFork_Child
if sys.platform == "linux":
    _prctl, _capset, _mount_call, _signal = _libc.prctl, _libc.capset, _libc.mount, _libc.signal
    _NO_CAPABILITIES = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0)), ctypes.create_string_buffer(24)


@dataclass(frozen=True)
class Fence:
    """Where all run folders lie in the template's box, this one's name and place, if it has one, and the bounds."""

    folders: str
    name: str | None
    place: str
    rlimits: Mapping[str, int]
    scratch_mb: int
    shared_memory_mb: int
    home: str


class Program(ctypes.Structure):
    """A compiled filter of system calls, as the kernel takes it: `sock_fprog`. The template makes it, once for all forks."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    def __init__(self, program: bytes) -> None:
        self.kept = ctypes.create_string_buffer(program, len(program))
        super().__init__(len(program) // 8, ctypes.addressof(self.kept))


def new_world() -> int:
    """Fork into a new world and return twice, as `os.fork` does; the child is process 1 of it.

    One call of the system where unsharing and forking would be two copies of a large process. What the C library and Python do
    in the child of a fork they do for the next one that process 1 makes, with `next_process`; its own Python has one thread.

    Raises:
        OSError: the system refuses, or this processor's number of the call is not known.
    """
    call = CLONE.get(platform.machine())
    if call is None:
        raise OSError(f"the number of clone(2) is not known for {platform.machine()}")
    _before_fork()
    process = int(_clone(call, ctypes.c_ulong(NEW_WORLD | SIGCHLD), None, None, None, None))
    error = ctypes.get_errno()
    if process == 0:
        _signal(SIGCHLD, None)  # process 1 waits for its children, and hears of none in between
        return 0
    _after_fork()
    if process < 0:
        raise OSError(error, f"clone: {os.strerror(error)}")
    return process


def next_process() -> int:
    """Fork process 2 off process 1, and return twice, as `os.fork` does; process 1 is none that Python looks after.

    Raises:
        OSError: the system refuses.
    """
    process = _check(_fork(), "fork")
    if process == 0:
        _after_fork_in_child()
    return process


def settle(user_id: int | None, own_user: int, own_group: int, wait: Callable[[], None]) -> None:
    """Become the only user of a new world, in which nothing else has happened yet.

    `wait` returns when the grader has put this process where it belongs. With a `user_id` it has also made that the only
    user, which takes root's right to do so; otherwise it is the template's own.
    """
    _write("/proc/self/setgroups", b"deny")
    if user_id is None:
        _write("/proc/self/uid_map", b"%d %d 1" % (own_user, own_user))
        _write("/proc/self/gid_map", b"%d %d 1" % (own_group, own_group))
    wait()
    if user_id is not None:
        os.setresgid(user_id, user_id, user_id)
        os.setresuid(user_id, user_id, user_id)
        _check(_prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable")  # or the files in /proc/self would be root's


def stand_by(fence: Fence, program: Program) -> None:
    """Give up everything as process 1, which opens no file any more."""
    os.chdir("/")  # not the template's own folder
    _give_up(fence.rlimits, {}, program)


def enter(fence: Fence, program: Program) -> None:
    """Build the new world's view and give up everything."""
    _raise_loopback()
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)
    mega = 1024 * 1024
    _mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"size={fence.shared_memory_mb * mega},mode=1777")
    os.umask(0o022)
    shown = _shown_below("/tmp")
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"size={fence.scratch_mb * mega},mode=1777")
    _show_again(shown)
    os.mkdir(fence.home)
    if fence.name is not None:
        _mount(f"{fence.folders}/{fence.name}", fence.place, None, MS_BIND)
    # The folders of all: nothing is left of them.
    _mount("tmpfs", fence.folders, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "size=4096,mode=0555")
    os.chdir(fence.home)
    reading = EXECUTE | READ_FILE | READ_DIR
    allowed = {
        "/": reading,
        "/tmp": ANY,
        "/dev/shm": ANY,
        "/dev": reading | WRITE_FILE | IOCTL_DEV,
        "/proc": reading | WRITE_FILE,
    }
    if fence.name is not None:  # its sockets may be made, and nothing be put in their place
        allowed[fence.place] = READ_FILE | READ_DIR | MAKE_SOCK
    _give_up(fence.rlimits, allowed, program)


def _give_up(rlimits: Mapping[str, int], allowed: Mapping[str, int], program: Program) -> None:
    for name, value in rlimits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (value, value))
    _drop_capabilities()
    _check(_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    _landlock(allowed)
    _check(_prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "filter of system calls")


def landlock_version() -> int:
    """The version of Landlock that this kernel speaks; 0 for none."""
    return max(0, int(_syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def _raise_loopback() -> None:
    """Let the new world talk to itself over 127.0.0.1, as in a box of bubblewrap's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def _shown_below(top: str) -> list[tuple[str, int | str]]:
    """Return what the template is shown below a folder, since Python or a course may lie there: mounts, held open, and links."""
    found: list[tuple[str, int | str]] = []
    if not os.listdir(top):
        return found  # as a rule; what is mounted below it would need a place there
    places = [line.split()[4].replace("\\040", " ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    outermost: list[str] = []
    for place in sorted(place for place in places if place.startswith(f"{top}/")):
        if not any(place == other or place.startswith(f"{other}/") for other in outermost):
            outermost.append(place)
            found.append((place, os.open(place, os.O_PATH | os.O_CLOEXEC)))
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if f"{folder}/{name}" not in outermost]
        links = [path for name in (*names, *files) if os.path.islink(path := f"{folder}/{name}")]
        found += [(path, os.readlink(path)) for path in links]
    return found


def _show_again(shown: list[tuple[str, int | str]]) -> None:
    """Show it in the new folder; a mount keeps being read-only, and so is what lies above it."""
    above = {str(folder) for place, _ in shown for folder in Path(place).parents if len(folder.parts) > 2}
    for folder in sorted(above):
        os.makedirs(folder)
    for place, what in shown:
        if isinstance(what, str):
            os.symlink(what, place)
            continue
        source = f"/proc/self/fd/{what}"
        if os.path.isdir(source):
            os.mkdir(place)
        else:
            Path(place).touch()
        _mount(source, place, None, MS_BIND | MS_REC)
        os.close(what)
    for folder in above:
        os.chmod(folder, 0o555)


def _write(path: str, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text)
    os.close(descriptor)


def _mount(source: str, place: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if text is None else text.encode() for text in (source, place, kind)]
    options = None if data is None else data.encode()
    _check(_mount_call(*words, ctypes.c_ulong(flags), options), f"mount {place}")


def _drop_capabilities() -> None:
    for capability in range(LAST_CAPABILITY + 1):
        _check(_prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "drop a capability")
    _check(_prctl(PR_CAP_AMBIENT, 4, 0, 0, 0), "clear ambient capabilities")
    _check(_capset(*_NO_CAPABILITIES), "capset")  # effective, permitted, inheritable: none


def _landlock(allowed: Mapping[str, int]) -> None:
    version = landlock_version()
    if version == 0:
        return  # the namespaces are the fence; this is a second one
    every = RIGHTS[min(version, 3)] | (IOCTL_DEV if version >= 5 else 0)
    attributes = ctypes.create_string_buffer(struct.pack("Q", every))
    rules = _check(_syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(8), 0), "landlock")
    for path, rights in allowed.items():
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights & every, descriptor))
        _check(_syscall(LANDLOCK_ADD, rules, 1, rule, 0), f"landlock {path}")
        os.close(descriptor)
    _check(_syscall(LANDLOCK_RESTRICT, rules, 0), "landlock")
    os.close(rules)


def _check(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result
