"""The system calls that a boxed process may not make: a deny-list, compiled to BPF by libseccomp.

Not a proof of safety: the namespaces and the dropped capabilities are the fence. This closes what they leave open
(sockets that no network namespace covers, the kernel's own keyring, new namespaces and with them most local kernel
bugs) and the memory that the watch cannot count.
"""

from __future__ import annotations

import errno
import socket
import tempfile
from functools import lru_cache
from typing import Any

from autograder.errors import SandboxUnavailable

# Names unknown to an older libseccomp or to another processor are left out one by one.
# fmt: off
FORBIDDEN = (
    # tracing and reading other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # the view of the file system
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
    "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd",
    "fanotify_init",
    # new or other namespaces
    "unshare", "setns",
    # parts of the kernel with a long history of bugs and no use in a notebook
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "keyctl", "add_key", "request_key",
    "lookup_dcookie", "modify_ldt", "personality", "uselib", "vmsplice",
    # the machine itself
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    "create_module", "reboot", "swapon", "swapoff", "acct", "syslog",
    "settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "adjtimex",
    "iopl", "ioperm", "vhangup", "nfsservctl", "_sysctl", "sysfs",
    "move_pages", "migrate_pages", "mbind", "set_mempolicy", "set_mempolicy_home_node",
    # memory that belongs to no process, so that no watch sees it
    "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd",
    "msgrcv", "semget", "mq_open",
)
# fmt: on

# A network namespace does not cover AF_VSOCK and others; libzmq needs AF_INET, which leads nowhere in the box.
FAMILIES = (socket.AF_UNIX, socket.AF_INET, 10, 16)  # 10 AF_INET6, 16 AF_NETLINK (list own interfaces)

NEW_NAMESPACES = (
    0x00000080,  # CLONE_NEWTIME
    0x00020000,  # CLONE_NEWNS
    0x02000000,  # CLONE_NEWCGROUP
    0x04000000,  # CLONE_NEWUTS
    0x08000000,  # CLONE_NEWIPC
    0x10000000,  # CLONE_NEWUSER
    0x20000000,  # CLONE_NEWPID
    0x40000000,  # CLONE_NEWNET
)

TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # put characters into a terminal's input


@lru_cache(maxsize=1)
def program() -> bytes:
    """The compiled filter, as `bwrap --seccomp` reads it.

    Everything is allowed but the calls above, which fail with EPERM; `clone3` fails with ENOSYS, because its flags lie
    in memory where a filter cannot look, and the C library then falls back to `clone`, whose flags it can.
    Calls of a foreign architecture (32-bit, x32) kill the process.

    Raises:
        SandboxUnavailable: pyseccomp or libseccomp is missing.
    """
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxUnavailable(
            f"The filter of system calls could not be built: {error}. "
            "Install it: `apt install libseccomp2` and `pip install 'normalization-course[grading]'`."
        ) from error
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)

    def deny(name: str, *conditions: Any) -> None:
        if _known(pyseccomp, name):
            rules.add_rule(refuse, name, *conditions)

    for name in FORBIDDEN:
        deny(name)
    for flag in NEW_NAMESPACES:
        deny("clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    for call in ("socket", "socketpair"):
        for family in range(max(FAMILIES)):
            if family not in FAMILIES:
                deny(call, pyseccomp.Arg(0, pyseccomp.EQ, family))
        deny(call, pyseccomp.Arg(0, pyseccomp.GT, max(FAMILIES)))
    for request in (TIOCSTI, TIOCLINUX):
        # The kernel takes 32 bits of the request; without the mask a set upper bit would slip past the rule.
        deny("ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    if _known(pyseccomp, "clone3"):
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _known(pyseccomp: Any, name: str) -> bool:
    try:
        # A negative number stands for a call that this processor does not have; no rule is needed then.
        return bool(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0)
    except (OSError, ValueError):
        return False
