"""Files of tokens as commands read and write them."""

from __future__ import annotations

import os
from pathlib import Path

from howdah.errors import IllegalArgument
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.credentials import WRITABLE, Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, KMS_DELEGATION, Token

_OURS_ALONE = 0o600


def read_file(path: Path) -> Credentials:
    """Raises IllegalArgument, which names the file, for what is none of tokens."""
    try:
        return Credentials.decode(path.read_bytes())
    except MalformedRecord as error:
        raise IllegalArgument(f"{path}: {error}") from error
    except OSError as error:
        raise IllegalArgument(f"{path}: {error.strerror or error}") from error


def write_file(path: Path, credentials: Credentials, version: int = WRITABLE) -> None:
    """Replace the file at once by one that only its owner may read: who has it has the tokens."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OURS_ALONE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(credentials.encode(version))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise IllegalArgument(f"{path}: {error.strerror or error}") from error


def identifier_of(token: Token) -> DelegationTokenIdentifier | None:
    """What a delegation token says; None for one of another kind, or form."""
    if not token.kind.endswith(("delegation", HDFS_DELEGATION, KMS_DELEGATION)):
        return None
    try:
        return DelegationTokenIdentifier.decode(token.identifier)
    except MalformedRecord:
        return None
