"""The error of bytes that are not what they must be.

In a module of its own: mypyc compiles no classes of errors, and those who read the bytes are
compiled (`primitives`).
"""

from __future__ import annotations

from howdah import errors


class MalformedRecord(errors.CorruptEditLog):
    """Bytes that are not what a record must be; `offset` is where, counted from its start.

    Whoever knows the file adds its name and the transaction.
    """

    def __init__(self, message: str, *, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset
