"""Lock files that die with their holders: by HDFS's leases, or by `flock` on `file://`.

A lease needs the namenode only: the file stays empty, and an extended attribute says who holds
it (a line in the file where there are no attributes). So no datanode is needed, and no block has
to be recovered before the next job gets the lock.

Both kinds are taken, queried and released in the same way (`locks.tree_lock` says what for).
"""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from howdah import errors
from howdah.copy.locks.holders import Holder
from howdah.fs import capabilities, paths

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.streams import FSDataOutputStream
from howdah.options import CreateFlag

_MOST_BYTES: Final = 64 << 10
_XATTR: Final = "user.howdah.holder"
_NO_XATTRS: Final = (errors.UnsupportedOperation, errors.RemoteError)
"""Errors of a filesystem without extended attributes, or a namenode with them switched off."""


class TreeLocked(errors.HowdahError, OSError):
    """Another job works on the tree; the message names it."""


class HeldLock(Protocol):
    """A lock file that this process holds."""

    path: str

    def is_held(self) -> bool: ...
    def holder(self) -> Holder | None: ...
    def release(self) -> None: ...


class LockMechanism(Protocol):
    def acquire(self, path: str, note: bytes) -> HeldLock | None:
        """Take the lock; None if another job holds it. Raises `AccessDenied` if the file cannot
        be created."""
        ...

    def holder(self, path: str) -> Holder | None:
        """The holder of a lock file; None if nobody holds it."""
        ...


def mechanism_of(fs: FileSystem) -> LockMechanism | None:
    if fs.has_path_capability(paths.SEPARATOR, capabilities.LEASE_RECOVERABLE):
        return _Leases(fs)
    return _Flocks(fs) if fs.scheme == "file" else None


# --- leases -------------------------------------------------------------------------------


class _Leases:
    """Lock files that are open for writing."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs

    def acquire(self, path: str, note: bytes) -> HeldLock | None:
        fs = self._fs
        try:
            try:
                # Whoever looks has to see the note, below an erasure coding policy, too.
                out = fs.create(path, flags=CreateFlag.SHOULD_REPLICATE)
            except errors.PathExists:
                out = fs.append(path)
        except (errors.AlreadyBeingCreated, errors.RecoveryInProgress, errors.PathNotFound):
            return None
        except errors.AccessDenied as error:
            if not fs.exists(path):
                raise
            if self.holder(path) is not None:
                return None
            raise TreeLocked(
                f"{fs.uri}{path} was left by a job that died, and may not be taken over "
                f"({error}): its owner has to delete it"
            ) from error
        taken = _LeaseFile(fs, path, out, note)
        try:
            taken.write_note()
        except BaseException as error:
            try:
                taken.remove()
            except (errors.HowdahError, OSError) as failure:
                error.add_note(f"removing {path} failed as well: {failure}")
            raise
        if taken.is_held():
            return taken
        # Another job read the dead holder's note, took it for ours, and recovered the file.
        taken.release()
        return None

    def holder(self, path: str) -> Holder | None:
        fs, holder = self._fs, Holder()
        try:
            if fs.is_file_closed(path):
                return None
            holder = Holder.parse(_note_of(fs, path))
            if holder.is_gone:
                return None if fs.recover_lease(path) else replace(holder, machine="")
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return None
        except errors.AccessDenied:
            # A user who may not write the file may not recover its lease. The holder is gone.
            if not holder.is_gone:
                raise
            return None
        return holder


def _note_of(fs: FileSystem, path: str) -> bytes:
    """The note that the holder has written about itself."""
    try:
        note = fs.get_xattrs(path).get(_XATTR)
        if note is not None:
            return note
    except _NO_XATTRS:
        pass  # the note is in the file
    except errors.AccessDenied:
        return b""
    try:
        with fs.open(path) as stream:
            stream.seek(max(stream.size - _MOST_BYTES, 0))
            return stream.read()
    except (errors.CannotObtainBlockLength, errors.BlockMissing, errors.AccessDenied):
        return b""  # it is being written at this moment, or this user may not read it


class _LeaseFile:
    def __init__(self, fs: FileSystem, path: str, out: FSDataOutputStream, note: bytes) -> None:
        self.path = path
        self._fs = fs
        self._out = out
        self._note = note

    def write_note(self) -> None:
        try:
            self._fs.set_xattr(self.path, _XATTR, self._note)
        except _NO_XATTRS:
            # On a new line: a holder that died may have left half of one.
            self._out.write(b"\n" + self._note)
            self._out.hflush()

    def is_held(self) -> bool:
        try:
            is_open = not self._fs.is_file_closed(self.path)
            return is_open and _note_of(self._fs, self.path).endswith(self._note)
        except errors.PathNotFound:
            return False

    def holder(self) -> Holder | None:
        try:
            return Holder.parse(_note_of(self._fs, self.path))
        except errors.PathNotFound:
            return None

    def release(self) -> None:
        if self.is_held():
            self.remove()
        else:
            self._close()

    def remove(self) -> None:
        """Remove the file, which this process holds."""
        self._fs.delete(self.path)
        self._close()

    def _close(self) -> None:
        try:
            self._out.close()
        except (errors.PathNotFound, errors.LeaseExpired, errors.PipelineFailed):
            return  # expected: the file is deleted, or another job has it


# --- file locks ---------------------------------------------------------------------------

_OWN: Final = os.O_CLOEXEC | os.O_NOFOLLOW


class _Flocks:
    """Lock files of this machine, or of a network filesystem with `flock`."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs

    def acquire(self, path: str, note: bytes) -> HeldLock | None:
        place = os.fsencode(path)
        try:
            self._fs.mkdirs(paths.parent_of(path) or paths.SEPARATOR)
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | _OWN, 0o644)
        except PermissionError as error:
            raise errors.AccessDenied(f"{path}: {error.strerror}") from error
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            # Somebody else's, where everybody may write: what it leads to would be emptied.
            raise TreeLocked(
                f"{path} is a symbolic link, and cannot be a lock: remove it"
            ) from None
        taken = _FlockFile(path, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not taken.is_held():
                os.close(descriptor)
                return None  # it was released meanwhile
            os.ftruncate(descriptor, 0)
            os.write(descriptor, note)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return taken

    def holder(self, path: str) -> Holder | None:
        try:
            descriptor = os.open(os.fsencode(path), os.O_RDONLY | os.O_NONBLOCK | _OWN)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return None  # no lock is a link
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return Holder.parse(os.read(descriptor, _MOST_BYTES))
        finally:
            os.close(descriptor)
        return None


class _FlockFile:
    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def is_held(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(os.fsencode(self.path)))
        except FileNotFoundError:
            return False

    def holder(self) -> Holder | None:
        try:
            with open(os.fsencode(self.path), "rb") as file:
                return Holder.parse(file.read(_MOST_BYTES))
        except FileNotFoundError:
            return None

    def release(self) -> None:
        if self.is_held():
            os.unlink(os.fsencode(self.path))
        os.close(self._descriptor)
