"""The script that makes a cluster's certificates: keys for their owner alone, and a client's key opens no false scheduler."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.loopback import DEPLOY

ROLES = ("scheduler", "worker", "client")


def test_only_the_owner_can_read_a_key(tls: Path) -> None:
    assert tls.stat().st_mode & 0o777 == 0o700
    keys = {path.name: path.stat().st_mode & 0o777 for path in tls.glob("*-key.pem")}
    assert keys == {f"{name}-key.pem": 0o600 for name in ("ca", *ROLES)}


def test_no_key_is_overwritten(tls: Path) -> None:
    before = {path.name: path.read_bytes() for path in tls.iterdir()}
    words = [sys.executable, str(DEPLOY / "certificates.py"), str(tls)]
    again = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert {path.name: path.read_bytes() for path in tls.iterdir()} == before


def shakes_hands(tls: Path, listener: str, caller: str) -> bool:
    """Whether two of the pairs agree on a connection; in memory, as Dask sets its contexts."""

    def context(purpose: ssl.Purpose, role: str) -> ssl.SSLContext:
        made = ssl.create_default_context(purpose, cafile=str(tls / "ca.pem"))
        made.load_cert_chain(tls / f"{role}.pem", tls / f"{role}-key.pem")
        made.check_hostname = False
        made.verify_mode = ssl.CERT_REQUIRED
        return made

    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context(ssl.Purpose.CLIENT_AUTH, listener).wrap_bio(to_server, to_client, server_side=True)
    calling = context(ssl.Purpose.SERVER_AUTH, caller)
    client = calling.wrap_bio(to_client, to_server)
    done: set[str] = set()
    for _ in range(6):
        for name, side in (("client", client), ("server", server)):
            try:
                side.do_handshake()
                done.add(name)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return done == {"client", "server"}


@pytest.mark.parametrize(
    ("listener", "caller", "well"),
    [
        ("scheduler", "client", True),
        ("scheduler", "worker", True),
        ("worker", "scheduler", True),
        ("worker", "worker", True),
        ("worker", "client", True),
        ("client", "worker", False),
        ("client", "client", False),
    ],
)
def test_who_may_listen_and_who_may_call(tls: Path, listener: str, caller: str, well: bool) -> None:
    """A client's certificate is good for calling only."""
    assert shakes_hands(tls, listener, caller) is well
