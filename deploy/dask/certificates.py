"""Makes the certificates of a cluster: an authority of its own, and a pair each for the scheduler, the workers and the client.

    python deploy/dask/certificates.py FOLDER [--days 180]

FOLDER must be new. Copy to each machine only what it needs: everybody ca.pem, then scheduler.pem and scheduler-key.pem, or
worker..., or client.... Keep ca-key.pem off all of them: whoever has it, or any of the keys, can run code on the cluster.
The folder must not lie where students' code can look: below the course or its Python.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
# Scheduler and workers call each other; a client is only ever the one that calls, so its key opens no false scheduler.
ROLES = {"scheduler": [SERVER, CLIENT], "worker": [SERVER, CLIENT], "client": [CLIENT]}


def make(folder: Path, days: int) -> None:
    """Write the authority and the pairs into a new folder that only its owner can open."""
    folder.mkdir(mode=0o700, parents=True)
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = _name("authority of a grading cluster")
    certificate = _builder(issuer, issuer, authority.public_key(), ends)
    certificate = certificate.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = certificate.add_extension(_usage(signs=True), critical=True)
    _write(folder, "ca", authority, certificate.sign(authority, hashes.SHA256()))
    for role, purposes in ROLES.items():
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _builder(_name(f"{role} of a grading cluster"), issuer, key.public_key(), ends)
        certificate = certificate.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        certificate = certificate.add_extension(_usage(signs=False), critical=True)
        certificate = certificate.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        _write(folder, role, key, certificate.sign(authority, hashes.SHA256()))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, ends: datetime.datetime
) -> x509.CertificateBuilder:
    begins = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=5)  # clocks differ
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    nothing = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, **nothing)


def _write(folder: Path, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    pem = serialization.Encoding.PEM
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with open(os.open(folder / f"{name}-key.pem", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)


def main() -> int:
    """Make them, and say where they are."""
    parser = argparse.ArgumentParser(description="Make the certificates of a cluster of your own.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument("--days", type=int, default=180, help="how long they hold (%(default)d)")
    given = parser.parse_args()
    try:
        make(given.folder, given.days)
    except FileExistsError:
        print(f"{given.folder} is there already; name a new folder, so that no key is overwritten.", file=sys.stderr)
        return 2
    print(
        f"{given.folder}: ca.pem for everybody, and a pair each for scheduler, worker and client. Keep ca-key.pem apart."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
