"""Errors as programs hear them."""

from __future__ import annotations

import errno

import pytest

from howdah import errors
from howdah.mount.failures import Refused, number_of


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (errors.PathNotFound("x"), errno.ENOENT),
        (errors.PathExists("x"), errno.EEXIST),
        (errors.AccessDenied("x"), errno.EACCES),
        (errors.DirectoryNotEmpty("x"), errno.ENOTEMPTY),
        (errors.ParentNotDirectory("x"), errno.ENOTDIR),
        (errors.PathIsDirectory("x"), errno.EISDIR),
        (errors.InvalidPath("x"), errno.EINVAL),
        (errors.IllegalArgument("x"), errno.EINVAL),
        (errors.NamespaceQuotaExceeded("x"), errno.EDQUOT),
        (errors.SpaceQuotaExceeded("x"), errno.EDQUOT),
        (errors.MaxDirectoryItemsExceeded("x"), errno.EDQUOT),
        (errors.PathComponentTooLong("x"), errno.ENAMETOOLONG),
        (errors.SafeMode("x"), errno.EROFS),
        (errors.SnapshotReadOnly("x"), errno.EROFS),
        (errors.AlreadyBeingCreated("x"), errno.EBUSY),
        (errors.RecoveryInProgress("x"), errno.EBUSY),
        (errors.AcrossMountPoints("x"), errno.EXDEV),
        (errors.AttributeNotFound("x"), errno.ENODATA),
        (errors.UnsupportedOperation("x"), errno.EOPNOTSUPP),
        (errors.NoDatanodes("x"), errno.ENOSPC),
        (errors.BlockMissing("x"), errno.EIO),
        (errors.ChecksumMismatch("x"), errno.EIO),
        (errors.Unreachable("x"), errno.EIO),
        (errors.StandbyError("x"), errno.EIO),
        (errors.RetriableError("x"), errno.EIO),
        (errors.CallTimeout("x"), errno.ETIMEDOUT),
        (errors.FileChanged("x"), errno.ESTALE),
        (errors.RemoteError("x"), errno.EIO),
        (errors.EndOfFile("x"), errno.EIO),
        (Refused(errno.EPERM, "x"), errno.EPERM),
        (OSError(errno.ENOSPC, "x"), errno.ENOSPC),
        (OSError("x"), errno.EIO),
        (ValueError("x"), errno.EINVAL),
        (UnicodeEncodeError("ascii", "x", 0, 1, "x"), errno.EILSEQ),
    ],
)
def test_a_program_gets_the_number_that_it_knows(error: Exception, number: int) -> None:
    assert number_of(error) == number


def test_every_error_of_ours_has_a_number() -> None:
    def below(kind: type[errors.HowdahError]) -> list[type[errors.HowdahError]]:
        return [kind, *(each for child in kind.__subclasses__() for each in below(child))]

    ours = [each for each in below(errors.HowdahError) if each.__module__ == errors.__name__]
    assert len(ours) > 80
    for kind in ours:
        assert 0 < number_of(kind("x")) < 200
