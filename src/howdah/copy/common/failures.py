"""How a job fails, in a line: what a task reports, and what Spark says.

A task that fails ends well as far as Spark knows, and its row names the error: the class and
the message. So the driver raises the error as it was, and reads no stack traces of Java.

Where Spark itself fails, its message has the stacks of Java in it, and those of Python where a
task raised. Users get only the line that says what happened.
"""

from __future__ import annotations

import re
from typing import Final

from howdah import errors
from howdah.fs import paths

MOST_CHARS: Final = 1000
# The line behind a Python traceback, which is indented.
_RAISED: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")
# Of a package that is not there other packages may have a part, whose location is unknown.
_MISSING: Final = re.compile(
    r"No module named '(?P<module>[\w.]+)'"
    r"|cannot import name '\w+' from '(?P<part>[\w.]+)' \(unknown location\)"
)
_THROWN: Final = re.compile(r"(?:^|[ :])(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): (.*)")
_PREFIX: Final = re.compile(r"^Job aborted due to stage failure: ")
_PACKAGES: Final = {"google": "protobuf", "google_crc32c": "google-crc32c"}


def reason(text: str) -> str:
    """The line of Spark's message that says what happened.

    >>> reason("It failed.\\n: org.apache.spark.SparkException: Gone\\n\\tat a.B(C.scala:1)")
    'Gone'
    """
    raised = _RAISED.findall(text)
    if raised:
        line = str(raised[-1])
        missing = _MISSING.search(line)
        return line if missing is None else _missing(missing["module"] or missing["part"])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        thrown = _THROWN.search(line)
        if thrown:
            return _PREFIX.sub("", thrown.group(1))[:MOST_CHARS]
    return _PREFIX.sub("", lines[0])[:MOST_CHARS] if lines else "it doesn't say why"


def _missing(module: str) -> str:
    package = _PACKAGES.get(module.partition(".")[0], module)
    return (
        f"the Python of the executors has no package {package} ({module}); install it there, or "
        "let PYSPARK_PYTHON name one that has howdah's requirements"
    )


class JobFailed(errors.HowdahError, RuntimeError):
    """Spark could not run the tasks to their end."""


def from_spark(error: Exception) -> errors.HowdahError:
    """The error for a failure of Spark itself. (Tasks report their own errors in rows.)

    Raises KeyboardInterrupt if that was the cause: py4j may fail to close its connection after
    one, and then raises that failure instead.
    """
    cause = error.__context__
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            raise cause
        cause = cause.__context__
    return JobFailed(f"Spark could not finish the job: {reason(str(error))}")


class CopyFailed(errors.HowdahError, OSError):
    """A file could not be copied; the message names source, target and reason in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(paths.printable(message))


class ReadFailed(CopyFailed):
    """The source could not be read; `-i` ignores this."""

    java_class = "org.apache.hadoop.tools.mapred.RetriableFileCopyCommand$CopyReadException"


class SourceChanged(CopyFailed):
    """The source changed on each of several tries to copy it."""


class JobOver(CopyFailed):
    """The job may not go on: another one may have the target by now."""


class SourceGone(CopyFailed):
    """A source is gone, or another inode is in its place. No option ignores this, and nothing
    is deleted at the target."""


# Another try within the same second would fail as well.
PERMANENT: Final = (
    errors.PathNotFound,
    errors.InvalidPath,
    errors.AccessDenied,
    errors.UnsupportedOperation,
    errors.QuotaExceeded,
    errors.PathIsDirectory,
    errors.PathComponentTooLong,
    errors.SafeMode,
    errors.CorruptImage,
    JobOver,
)

FAILURES: Final = (errors.HowdahError, OSError)
"""Errors that a task reports in a row. Any other is a defect, and Spark reports it."""
_OWN: Final = {
    kind.__name__: kind for kind in (CopyFailed, ReadFailed, SourceChanged, SourceGone, JobOver)
}


def error_name(error: Exception) -> str:
    """The class of an error, as a row names it."""
    return type(error).__name__


def error_text(error: Exception) -> str:
    """The message of an error, in a line that is UTF-8 even if a path is not."""
    return paths.printable(str(error))


def error_from(name: str, message: str, *kinds: type[errors.HowdahError]) -> errors.HowdahError:
    """The error of a row: one of this module, of `kinds`, or of `errors`. Any other becomes
    CopyFailed with the class in its message."""
    own = _OWN | {kind.__name__: kind for kind in kinds}
    kind = own.get(name) or getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.HowdahError):
        return kind(message)
    return CopyFailed(f"{name}: {message}")
