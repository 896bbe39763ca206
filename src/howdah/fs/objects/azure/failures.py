"""Refusals of the Blob service as errors of howdah.

Codes are those of "Blob Storage error codes" of Microsoft's reference. A message has the
service's first line and no more: the rest of some quotes the request.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.fs.objects.retrying import Damaged, Failed, Throttled
from howdah.fs.objects.store import NotAsExpected, UploadLost

_EXISTS: Final = frozenset(("BlobAlreadyExists",))
_LOST: Final = frozenset(("InvalidBlockList",))
_BUSY: Final = frozenset(("ServerBusy", "TooManyRequests"))
_AGAIN: Final = frozenset(
    ("InternalError", "OperationTimedOut", "PendingCopyOperation", "ContainerBeingDeleted")
)
_BAD_KEY: Final = frozenset(
    ("AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation")
)


def translated(
    status: int, code: str, message: str, *, where: str, place: str, container: str
) -> errors.HowdahError:
    """The error that a request for `where` comes to."""
    said = f"{code or 'no code'}: {message or 'no message'} (HTTP status {status})"
    if code == "ContainerNotFound":
        return errors.UnknownStore(f"Container {container} does not exist at {place}")
    if code in _LOST:
        return UploadLost(f"{where}: {said}")
    if code in _EXISTS or status == 412:
        return NotAsExpected(f"{where}: {said}")
    if code == "Md5Mismatch":
        return Damaged(f"{where}: {said}")
    if code in _BUSY or status in (429, 503):
        return Throttled(f"{where}: {place} asks to slow down: {said}")
    if code in _AGAIN or status >= 500 or status == 408:
        return Failed(f"{where}: {place} failed: {said}")
    if code in _BAD_KEY or status == 401:
        return errors.AccessDenied(f"{where}: {place} refuses the credentials: {said}")
    if status == 403:
        return errors.AccessDenied(f"{where}: access denied by {place}: {said}")
    if status == 416:
        return errors.EndOfFile(f"{where}: {said}")
    if status == 404:
        return errors.PathNotFound(f"File does not exist: {where}")
    return errors.RemoteError(f"{where}: {said}")
