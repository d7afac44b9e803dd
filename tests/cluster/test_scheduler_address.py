"""What a client shows a scheduler: TLS unless it is waived by name, and a plain sentence for each thing that is missing."""

from __future__ import annotations

from pathlib import Path

import dask
import pytest

from autograder.cluster.tls import checked_address, security
from autograder.errors import UsageError

ADDRESS = "tls://grading.example.org:8786"


def files(folder: Path, **other: str | None) -> dict[str, Path | None]:
    """The client's three files, some of them others."""
    names = {"ca": "ca.pem", "cert": "client.pem", "key": "client-key.pem", **other}
    return {f"--tls-{word}": folder / name if name is not None else None for word, name in names.items()}


@pytest.mark.parametrize("address", [ADDRESS, "tls://10.0.0.7:8786", "tls://[::1]:1"])
def test_tls_needs_no_other_word(address: str) -> None:
    assert checked_address(address, insecure=False) == address


@pytest.mark.parametrize("address", ["tcp://grading.example.org:8786", "grading.example.org:8786"])
def test_no_tls_must_be_said_aloud(address: str) -> None:
    with pytest.raises(UsageError, match="--insecure-scheduler"):
        checked_address(address, insecure=False)
    assert checked_address(address, insecure=True) == "tcp://grading.example.org:8786"
    assert security("tcp://grading.example.org:8786", {}).require_encryption is False


@pytest.mark.parametrize(
    "address", ["", "tls://host", "tls://host:port", "https://host:80", "inproc://a:1", "tls://a b:1", "host"]
)
@pytest.mark.parametrize("insecure", [False, True])
def test_what_is_no_address_is_named(address: str, insecure: bool) -> None:
    with pytest.raises(UsageError, match="tls://HOST:PORT"):
        checked_address(address, insecure=insecure)


def test_three_files_are_enough(tls: Path) -> None:
    """And then nothing is spoken in the clear, to workers either."""
    assert security(ADDRESS, files(tls)).require_encryption is True


def test_they_may_stand_in_dasks_configuration(tls: Path) -> None:
    settings = {
        "distributed.comm.tls.ca-file": str(tls / "ca.pem"),
        "distributed.comm.tls.client.cert": str(tls / "client.pem"),
        "distributed.comm.tls.client.key": str(tls / "client-key.pem"),
    }
    with dask.config.set(settings):
        assert security(ADDRESS, files(tls, ca=None, cert=None, key=None)).tls_client_cert == str(tls / "client.pem")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"ca": None}, "no --tls-ca was given"),
        ({"cert": None}, "no --tls-cert was given"),
        ({"key": None}, "do not fit together"),
        ({"ca": "nothing.pem"}, "which is no file that can be read"),
        ({"key": "."}, "which is no file that can be read"),
        ({"key": "worker-key.pem"}, "do not fit together"),
        ({"ca": "client-key.pem"}, "do not fit together"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_named(tls: Path, other: dict[str, str | None], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        security(ADDRESS, files(tls, **other))
