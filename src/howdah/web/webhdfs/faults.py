"""Errors as WebHDFS tells them: Hadoop's ExceptionHandler and RemoteException (pure)."""

from __future__ import annotations

import json
from typing import Final

from howdah import errors
from howdah.web.http import Response, answer

JSON_TYPE: Final = "application/json"

_STATUS_OF: Final = {
    "java.io.FileNotFoundException": 404,
    "java.lang.UnsupportedOperationException": 400,
    "java.lang.IllegalArgumentException": 400,
    "org.apache.hadoop.HadoopIllegalArgumentException": 400,
    "org.apache.hadoop.fs.InvalidPathException": 400,
    "java.lang.RuntimeException": 500,
    "java.lang.NullPointerException": 500,
}
_REFUSED: Final = 403
"""Of every other IOException."""


def status_of(error: errors.HowdahError) -> int:
    return _STATUS_OF.get(class_of(error), _REFUSED)


def class_of(error: errors.HowdahError) -> str:
    """Java's name of the error. A directory where a file is wanted is no file that is found: so
    Hadoop's servers tell those who read it."""
    if isinstance(error, errors.PathIsDirectory):
        return errors.PathNotFound.java_class
    return error.remote_class


def refused(error: errors.HowdahError, status: int | None = None) -> Response:
    """Return the answer that a request gets instead of what it asked for."""
    java_class = class_of(error)
    exception = {
        "exception": java_class.rpartition(".")[2].rpartition("$")[2],
        "javaClassName": java_class,
        "message": error.message,
    }
    body = json.dumps({"RemoteException": exception}, ensure_ascii=False, separators=(",", ":"))
    return answer(
        status_of(error) if status is None else status,
        body.encode("utf-8", "surrogatepass"),
        JSON_TYPE,
    )
