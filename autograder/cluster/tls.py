"""Whom to trust with a class: the address of a scheduler and the three files of TLS, from words or from Dask's configuration.

Whoever may speak to a Dask scheduler can run any code on its workers, and the other way round. So both ends show a certificate
of one authority of your own, and an address without TLS is refused unless that is asked for by name.
"""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path

import dask
from distributed import Security

from autograder.errors import UsageError

FILES = {  # the option, what Dask's configuration calls it, and the field of `Security`
    "--tls-ca": ("distributed.comm.tls.ca-file", "tls_ca_file"),
    "--tls-cert": ("distributed.comm.tls.client.cert", "tls_client_cert"),
    "--tls-key": ("distributed.comm.tls.client.key", "tls_client_key"),
}


def checked_address(address: str, *, insecure: bool) -> str:
    """Return the address; UsageError when it is none, or says nothing of TLS and nobody asked for that."""
    found = re.fullmatch(r"(?:(\w+)://)?(\[[0-9A-Fa-f:]+\]|[^\s:/\[\]]+):(\d{1,5})", address)
    if found is None or found[1] not in ("tls", "tcp", None):
        raise UsageError(
            f"--scheduler takes tls://HOST:PORT, as tls://grading.example.org:8786; {address!r} was given."
        )
    if found[1] == "tls":
        return address
    if not insecure:
        raise UsageError(
            f"The scheduler {address} would be spoken to without TLS: anyone on the way could read the submissions and run "
            f"code here. Give tls://{found[2]}:{found[3]} (deploy/dask/README.md says how to make certificates), or say "
            "--insecure-scheduler where nobody else is on that network."
        )
    return f"tcp://{found[2]}:{found[3]}"


def security(address: str, given: dict[str, Path | None]) -> Security:
    """Return what a client shows and asks of the other end; UsageError when a file is missing or does not fit."""
    if not address.startswith("tls://"):
        return Security(require_encryption=False)
    fields: dict[str, str] = {}
    for option, (setting, field) in FILES.items():
        named = given.get(option) or dask.config.get(setting, None)
        if named is None and option == "--tls-key":
            continue  # it may stand in the certificate's file
        if named is None:
            raise UsageError(
                f"{address} needs certificates, and no {option} was given (nor {setting} in Dask's configuration). "
                "deploy/dask/README.md says how to make them."
            )
        path = Path(named).expanduser()
        if not os.access(path, os.R_OK) or not path.is_file():
            raise UsageError(f"{option} names {path}, which is no file that can be read.")
        fields[field] = str(path)
    found = Security(require_encryption=True, **fields)
    try:
        found.get_connection_args("client")
    except (ssl.SSLError, OSError) as error:
        raise UsageError(
            f"The files of TLS do not fit together ({error}): {', '.join(fields.values())}. The certificate and the key must be "
            "a pair, and all of them PEM."
        ) from error
    return found
