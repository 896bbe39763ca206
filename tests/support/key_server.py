"""A key server of ours, as a process, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.started import server

KEY_ACCESS: Final = {
    f"default.key.acl.{use}": "*" for use in ("MANAGEMENT", "GENERATE_EEK", "DECRYPT_EEK", "READ")
}
"""Everybody may do everything."""
_PASSPHRASE: Final = "correct horse battery staple"


@contextmanager
def key_server(directory: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """`howdah kms` with these settings: its address, as clients are told it."""
    directory.mkdir(parents=True, exist_ok=True)
    passphrase = directory / "passphrase"
    passphrase.write_text(f"{_PASSPHRASE}\n")
    passphrase.chmod(0o600)
    values = {
        "hadoop.kms.http.port": "0",
        "hadoop.kms.proxyuser.root.users": "*",
        "hadoop.kms.proxyuser.root.hosts": "*",
        "howdah.kms.keys.file": str(directory / "keys"),
        "howdah.kms.passphrase.file": str(passphrase),
        **settings,
    }
    with server("kms", values, directory) as told:
        yield f"kms://http@{told['http']}/kms"
