"""What goes wrong in a command, and how it is said on stderr.

FsShell says ``ls: `/x': No such file or directory``: the path as the user wrote
it between a grave accent and a quote. `PathProblem` carries those parts. What would end the
line or move the cursor is written as an escape, as nowhere in Hadoop. Everything that the
filesystem raises is said in the words of the server, first line only (`describe`). A call that
cannot be understood is a `UsageError`, which is followed by the usage and makes the exit code
255 instead of 1.
"""

from __future__ import annotations

from typing import Self

from howdah.errors import HowdahError
from howdah.fs.paths import printable

NO_SUCH_FILE = "No such file or directory"
FILE_EXISTS = "File exists"
IS_A_DIRECTORY = "Is a directory"
IS_NOT_A_DIRECTORY = "Is not a directory"
NOT_EMPTY = "Directory is not empty"
IO_ERROR = "Input/output error"


class CommandProblem(HowdahError, OSError):
    """A command cannot go on; the message is all there is to say."""


class PathProblem(CommandProblem):
    """A path is not as the command needs it."""

    def __init__(
        self, path: str, text: str, *, target: str | None = None, full_path: str | None = None
    ) -> None:
        subject = (
            f"`{printable(path)}'"
            if target is None
            else f"`{printable(path)}' to `{printable(target)}'"
        )
        message = f"{subject}: {text}"
        if full_path is not None and full_path != path:
            message += f": `{printable(full_path)}'"
        super().__init__(message)

    @classmethod
    def missing(cls, path: str, full_path: str | None = None) -> Self:
        return cls(path, NO_SUCH_FILE, full_path=full_path)

    @classmethod
    def exists(cls, path: str) -> Self:
        return cls(path, FILE_EXISTS)

    @classmethod
    def is_directory(cls, path: str) -> Self:
        return cls(path, IS_A_DIRECTORY)

    @classmethod
    def is_not_directory(cls, path: str) -> Self:
        return cls(path, IS_NOT_A_DIRECTORY)


def reasons(error: OSError | HowdahError) -> list[str]:
    """What is behind the line of `describe`, which Hadoop's shell would leave out."""
    return error.message.splitlines()[1:] if isinstance(error, HowdahError) else []


def describe(error: OSError | HowdahError) -> str:
    """One line for stderr: what a server or this machine's system said, as Hadoop says it."""
    if isinstance(error, HowdahError):
        lines = error.message.splitlines()
        return lines[0] if lines else type(error).__name__
    reason = error.strerror or str(error) or type(error).__name__
    named = error.filename if isinstance(error.filename, str) else None
    return f"`{printable(named)}': {reason}" if named else reason
