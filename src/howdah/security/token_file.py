"""The tokens that a process was given in a file (shell): `HADOOP_TOKEN_FILE_LOCATION`.

Who started the process may replace the file by one with renewed tokens. So each time that tokens
are asked for, the file is looked at, and read again if it is another one.
"""

from __future__ import annotations

import os
from pathlib import Path

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.credentials import Credentials

_NOTHING = Credentials()
_Stamp = tuple[int, int, int, int]


class TokenFile:
    """One file. Thread-safe: two threads may read the same file twice. A path of None is none."""

    def __init__(self, path: str | None) -> None:
        self.path = None if path is None else Path(path)
        self._read: tuple[_Stamp, Credentials] | None = None

    def __repr__(self) -> str:
        return f"TokenFile({self.path})"

    def credentials(self) -> Credentials:
        """What is in the file now. Raises LoginFailed where it cannot be read."""
        if self.path is None:
            return _NOTHING
        try:
            status = os.stat(self.path)
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            known = self._read
            if known is not None and known[0] == stamp:
                return known[1]
            credentials = Credentials.decode(self.path.read_bytes())
        except OSError as error:
            raise errors.LoginFailed(
                f"the token file {self.path} (HADOOP_TOKEN_FILE_LOCATION) cannot be read: "
                f"{error.strerror or error}"
            ) from error
        except MalformedRecord as error:
            raise errors.LoginFailed(
                f"the token file {self.path} (HADOOP_TOKEN_FILE_LOCATION): {error}"
            ) from error
        self._read = (stamp, credentials)
        return credentials
