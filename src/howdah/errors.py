"""One tree of exceptions, and the one table to and from Hadoop's class names (pure).

A failing call crosses the wire as a Java class name and a message
(RpcResponseHeaderProto.exceptionClassName, errorMsg). Servers raise these
exceptions and the RPC shell sends `java_class`; clients look the class name up
with `from_java` and raise the same type again. So both directions stand in one
place, and a Python user catches what Python users catch: a missing path is a
`FileNotFoundError`, a forbidden one a `PermissionError`.

This module imports nothing of the rest of howdah.
"""

from __future__ import annotations

import copy
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final, Self


class HowdahError(Exception):
    """Root of everything that howdah raises on purpose.

    `java_class` is the name under which the error travels; `errno_code` is put
    in `errno` for the members that are also an `OSError`.
    """

    java_class: ClassVar[str] = "java.io.IOException"
    errno_code: ClassVar[int] = errno.EIO

    def __init__(self, message: str = "", *, java_class: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remote_class = java_class or type(self).java_class
        if isinstance(self, OSError):
            as_os_error: OSError = self  # else the type checker sees a new attribute here
            as_os_error.errno = self.errno_code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        """As it is, for pickling and copying, whatever a class's constructor takes: an error
        travels between processes (multiprocessing, joblib, dask, Spark's workers)."""
        state = dict(self.__dict__)
        kept = object.__getstate__(self)
        if isinstance(kept, tuple):
            state |= kept[1]  # what is in slots
        if isinstance(self, OSError):
            # Fields of the C structure, which are in no dictionary.
            state |= {name: getattr(self, name) for name in _FIELDS_OF_OS_ERRORS}
        return _again, (type(self), self.args), state

    def about(self, path: str | None, other: str | None = None) -> Self:
        """The same, with the path that it is about (and a second one) as `filename` (and
        `filename2`), as Python's own errors of files have them; what is known stays."""
        if isinstance(self, OSError) and path and self.filename is None:
            as_os_error: OSError = self
            as_os_error.filename = path
            as_os_error.filename2 = other
        return self

    def naming(self, path: str) -> HowdahError:
        """The same, or one of its type with `path` in front of its message if that lacks it."""
        if path in self.message:
            return self.about(path)
        named = copy.copy(self)
        named.message = f"{path}: {self.message}"
        named.args = (named.message,)
        return named.about(path)

    def adding(self, words: str) -> Self:
        """One of its type, with words behind its message."""
        longer = copy.copy(self)
        longer.message = f"{self.message}{words}"
        longer.args = (longer.message,)
        return longer

    def numbered_as(self, cause: Exception) -> Self:
        """The same, with the `errno` of what caused it, where both are an `OSError`."""
        if isinstance(self, OSError) and isinstance(cause, OSError) and cause.errno:
            as_os_error: OSError = self
            as_os_error.errno = cause.errno
        return self


_FIELDS_OF_OS_ERRORS: Final = ("errno", "strerror", "filename", "filename2")


def _again(cls: type[HowdahError], args: tuple[object, ...]) -> HowdahError:
    """An error of the class without what its constructor does; its state follows."""
    # Of several built-in classes this is the one with fields of its own, which makes them.
    makers = [
        base
        for base in cls.__mro__
        if issubclass(base, BaseException) and base.__module__ == Exception.__module__
    ]
    maker = max(makers, key=lambda base: base.__basicsize__)
    error: HowdahError = maker.__new__(cls)
    error.args = args
    return error


@contextmanager
def naming(path: str) -> Iterator[None]:
    """What is raised within names the file that it is about (LM-049).

    A namenode's refusal of a block, or a lease that somebody else has, may not say which file
    it is about, and Hadoop's closed-channel error says nothing at all.
    """
    try:
        yield
    except HowdahError as error:
        known = error.naming(path)
        if known is error:
            raise
        raise known from error


@contextmanager
def about(path: str, other: str | None = None) -> Iterator[None]:
    """What is raised within has the path that the caller named as its `filename` (and a second
    one as `filename2`), whatever directory above it was in the way."""
    try:
        yield
    except HowdahError as error:
        if isinstance(error, OSError):
            as_os_error: OSError = error
            as_os_error.filename, as_os_error.filename2 = path, other
        raise


class RemoteError(HowdahError, OSError):
    """The far end failed with a class that has no twin here; `remote_class` names it."""

    java_class = "java.io.IOException"


class AcrossMountPoints(RemoteError):
    """A rename from one mount point of a view or of a router to another, which would have to
    copy. It has the `errno` of a rename between two devices; Hadoop says an IOException, which
    tells by a part of its message when a router means this."""

    ROUTERS_WORDS: ClassVar[str] = "no eligible destination in the same namespace"
    errno_code = errno.EXDEV


class FileIsOpen(RemoteError):
    """A file that is being written has no checksum yet. Hadoop says an IOException."""


class NoDatanodes(RemoteError):
    """No datanode, or fewer than have to, can take a block that is written: none is alive, has
    room, or has a storage of the kind that the path's policy wants. Hadoop says an IOException,
    which tells by a part of its message that it means this."""

    NAMENODES_WORDS: ClassVar[tuple[str, ...]] = (
        "could only be written to ",
        "could only be replicated to ",
    )


class AttributeNotFound(RemoteError):
    """A path has none of the extended attributes that were asked for."""

    WORDS: ClassVar[str] = "At least one of the attributes provided was not found."
    """Hadoop's, which programs look for."""

    java_class = "org.apache.hadoop.hdfs.protocol.XAttrNotFoundException"


class IllegalArgument(HowdahError, ValueError):
    java_class = "org.apache.hadoop.HadoopIllegalArgumentException"


class NoCodingPolicySet(HowdahError, ValueError):
    """A directory has no erasure coding policy of its own that could be taken away."""

    java_class = "org.apache.hadoop.hdfs.protocol.NoECPolicySetException"


class InvalidRequest(HowdahError, ValueError):
    """What a request asks for makes no sense, or is beyond a bound."""

    java_class = "org.apache.hadoop.fs.InvalidRequestException"


class InvalidPath(HowdahError, ValueError):
    java_class = "org.apache.hadoop.fs.InvalidPathException"


class InvalidSeek(HowdahError, ValueError, OSError):
    """A seek to before the beginning: an OSError, as of Python's own files, which `zipfile` goes
    by, and a ValueError, as of `io.BytesIO`."""

    errno_code = errno.EINVAL


class UnsupportedOperation(HowdahError, OSError):
    """What is asked for is not offered; the message names it."""

    java_class = "java.lang.UnsupportedOperationException"
    errno_code = errno.ENOTSUP


class UnsupportedAction(UnsupportedOperation):
    """A namenode has no such feature, or has it switched off."""

    java_class = "org.apache.hadoop.hdfs.server.namenode.UnsupportedActionException"


class PathNotFound(HowdahError, FileNotFoundError):
    java_class = "java.io.FileNotFoundException"
    errno_code = errno.ENOENT


class UnknownStore(HowdahError, FileNotFoundError):
    """There is no such bucket: no path in it is merely missing."""

    java_class = "org.apache.hadoop.fs.s3a.UnknownStoreException"
    errno_code = errno.ENOENT


class PathExists(HowdahError, FileExistsError):
    java_class = "org.apache.hadoop.fs.FileAlreadyExistsException"
    errno_code = errno.EEXIST


class NotTheKnownFile(HowdahError, OSError):
    """A file is not the one any more that was to be replaced or deleted; only servers of howdah
    say so."""

    java_class = "java.util.ConcurrentModificationException"
    errno_code = errno.ESTALE


class ParentNotDirectory(HowdahError, NotADirectoryError):
    java_class = "org.apache.hadoop.fs.ParentNotDirectoryException"
    errno_code = errno.ENOTDIR


class PathIsDirectory(HowdahError, IsADirectoryError):
    java_class = "org.apache.hadoop.fs.PathIsDirectoryException"
    errno_code = errno.EISDIR


class PathIsNotDirectory(HowdahError, NotADirectoryError):
    java_class = "org.apache.hadoop.fs.PathIsNotDirectoryException"
    errno_code = errno.ENOTDIR


class DirectoryNotEmpty(HowdahError, OSError):
    java_class = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
    errno_code = errno.ENOTEMPTY


class UnresolvedLink(HowdahError, OSError):
    java_class = "org.apache.hadoop.fs.UnresolvedLinkException"


class UnresolvedPath(UnresolvedLink):
    """A symbolic link is in the path, and the caller has to follow it.

    The message is the path with that link replaced by its target: a path of the same
    filesystem, or a URI. Nothing else is said, as Hadoop's clients read it as a path.
    """

    java_class = "org.apache.hadoop.hdfs.protocol.UnresolvedPathException"
    errno_code = errno.ELOOP


class LinkLoop(HowdahError, OSError):
    """More links in one path than anybody follows."""

    java_class = "java.io.IOException"
    errno_code = errno.ELOOP


class AccessDenied(HowdahError, PermissionError):
    java_class = "org.apache.hadoop.security.AccessControlException"
    errno_code = errno.EACCES


class PathThroughFile(AccessDenied, ParentNotDirectory):
    """A file stands where the path needs a directory, and nothing is to be made there.

    To Hadoop that is a denied access, told from others by the end of its message.
    """

    MESSAGE_END: ClassVar[str] = " (is not a directory)"
    errno_code = errno.ENOTDIR


class AuthorizationFailed(HowdahError, PermissionError):
    java_class = "org.apache.hadoop.security.authorize.AuthorizationException"
    errno_code = errno.EACCES


class AuthenticationFailed(HowdahError, PermissionError):
    """Two sides of a connection could not prove to each other who they are, or found that the
    other is not who it has to be. The message says which, and never has a secret."""

    java_class = "javax.security.sasl.SaslException"
    TICKET_NOT_TAKEN: ClassVar[str] = "GSS initiate failed"
    """What Hadoop's servers say of a ticket that they do not take, whatever the reason."""
    errno_code = errno.EACCES


class LoginFailed(AuthenticationFailed):
    """This process has nothing to prove who it is: no ticket, one that is over, a keytab that
    cannot be read or is of another principal."""

    java_class = "org.apache.hadoop.security.KerberosAuthException"


class InvalidToken(HowdahError, PermissionError):
    java_class = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
    errno_code = errno.EACCES


class NotInMountPoint(UnsupportedOperation):
    """Only a target of a mount table could answer, and the path leads to none."""

    java_class = "org.apache.hadoop.fs.viewfs.NotInMountpointException"


class SafeMode(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
    errno_code = errno.EROFS


class RetriableError(HowdahError, OSError):
    java_class = "org.apache.hadoop.ipc.RetriableException"
    errno_code = errno.EAGAIN


class StandbyError(HowdahError, OSError):
    """The namenode that was asked is not active: ask another one."""

    java_class = "org.apache.hadoop.ipc.StandbyException"
    errno_code = errno.EAGAIN


class ObserverRetryOnActive(StandbyError):
    """An observer was asked for what only the active does."""

    java_class = "org.apache.hadoop.ipc.ObserverRetryOnActiveException"


class HealthCheckFailed(HowdahError, OSError):
    """A namenode answers and says that it is not well."""

    java_class = "org.apache.hadoop.ha.HealthCheckFailedException"


class ServiceFailed(HowdahError, OSError):
    """A namenode could not change its role, or must not."""

    java_class = "org.apache.hadoop.ha.ServiceFailedException"


class FailoverFailed(HowdahError, OSError):
    """A failover did not happen; says why, and who is active now if that is known."""

    java_class = "org.apache.hadoop.ha.FailoverFailedException"


class BadFencingConfiguration(HowdahError, ValueError, OSError):
    """No fencing method is set, or one that cannot be used; the message names it."""

    java_class = "org.apache.hadoop.ha.BadFencingConfigurationException"


class NoNamenodes(HowdahError, OSError):
    """A router reached no namenode of a nameservice that serves it; the message says why."""

    java_class = "org.apache.hadoop.hdfs.server.federation.router.NoNamenodesAvailableException"
    errno_code = errno.EHOSTUNREACH


class NoLocation(PathNotFound):
    """A path is in no nameservice that a router knows."""

    java_class = "org.apache.hadoop.hdfs.server.federation.router.NoLocationException"


class AlreadyBeingCreated(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
    errno_code = errno.EBUSY


class RecoveryInProgress(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.protocol.RecoveryInProgressException"
    errno_code = errno.EBUSY


class LeaseExpired(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
    errno_code = errno.ESTALE


class NotReplicatedYet(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
    errno_code = errno.EAGAIN


class QuotaExceeded(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.protocol.QuotaExceededException"
    errno_code = errno.EDQUOT

    def naming(self, path: str) -> Self:
        """Programs read its message from the front, which names the directory with the quota: the
        file is its `filename` alone."""
        return self.about(path)


class NamespaceQuotaExceeded(QuotaExceeded):
    java_class = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"


class SpaceQuotaExceeded(QuotaExceeded):
    java_class = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"


class TypeQuotaExceeded(QuotaExceeded):
    java_class = "org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException"


class SnapshotError(HowdahError, OSError):
    """What cannot be done with snapshots, or because of them."""

    java_class = "org.apache.hadoop.hdfs.protocol.SnapshotException"
    errno_code = errno.EINVAL


class SnapshotReadOnly(AccessDenied):
    """Nothing below `.snapshot` can be changed."""

    java_class = "org.apache.hadoop.hdfs.protocol.SnapshotAccessControlException"
    errno_code = errno.EROFS


class InvalidAcl(HowdahError, ValueError, OSError):
    """An access control list that cannot be, or ACLs where they are switched off."""

    java_class = "org.apache.hadoop.hdfs.protocol.AclException"
    errno_code = errno.EINVAL


class PathComponentTooLong(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException"
    errno_code = errno.ENAMETOOLONG


class MaxDirectoryItemsExceeded(HowdahError, OSError):
    java_class = (
        "org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException"
    )
    errno_code = errno.ENOSPC


class UnregisteredNode(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.protocol.UnregisteredNodeException"


class DisallowedDatanode(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.protocol.DisallowedDatanodeException"


class InvalidReportLease(HowdahError, OSError):
    """A datanode sent a full block report under a lease that it does not hold."""

    java_class = "org.apache.hadoop.hdfs.server.protocol.InvalidBlockReportLeaseException"


class IncorrectVersion(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.common.IncorrectVersionException"


class InconsistentStorage(HowdahError, OSError):
    """A storage directory is not what it must be; the message names the directory."""

    java_class = "org.apache.hadoop.hdfs.server.common.InconsistentFSStateException"


class StorageLocked(HowdahError, OSError):
    """Another process holds `in_use.lock` of a storage directory."""

    java_class = "java.io.IOException"
    errno_code = errno.EBUSY


class CorruptEditLog(HowdahError, OSError):
    """An edit log is damaged before its end; names file, offset and transaction."""

    java_class = "java.io.IOException"


class WriterFenced(HowdahError, OSError):
    """A journal node has promised a younger writer to take nothing of this one any more."""

    java_class = "java.io.IOException"
    errno_code = errno.EPERM


class JournalOutOfSync(HowdahError, OSError):
    """What a writer sends does not follow what a journal node has: the node is left out until
    the next segment."""

    java_class = "org.apache.hadoop.hdfs.qjournal.protocol.JournalOutOfSyncException"


class JournalNotFormatted(HowdahError, OSError):
    """A journal node has no such journal, or an empty one."""

    java_class = "org.apache.hadoop.hdfs.qjournal.protocol.JournalNotFormattedException"


class JournalCacheMiss(HowdahError, OSError):
    """A journal node does not hold the edits in memory any more that are asked for: they are
    read from its segments."""

    java_class = "org.apache.hadoop.hdfs.qjournal.server.JournaledEditsCache$CacheMissException"


class NewerTransaction(HowdahError, OSError):
    """A journal node is asked for edits behind those that it misses itself."""

    java_class = "org.apache.hadoop.hdfs.qjournal.server.NewerTxnIdException"


class CorruptImage(HowdahError, OSError):
    """A namespace image is damaged; names the file and what is wrong with it."""

    java_class = "java.io.IOException"


class CheckpointFailed(HowdahError, OSError):
    """The namespace was not saved; says why."""

    java_class = "java.io.IOException"


class RpcNoSuchMethod(HowdahError, OSError):
    java_class = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
    errno_code = errno.ENOSYS


class RpcNoSuchProtocol(HowdahError, OSError):
    java_class = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
    errno_code = errno.ENOSYS


class RpcServerError(HowdahError, OSError):
    java_class = "org.apache.hadoop.ipc.RpcServerException"


class ProtocolViolation(HowdahError, OSError):
    """Bytes from the far end that its protocol does not allow; the connection is over."""

    java_class = "org.apache.hadoop.ipc.RpcServerException"
    errno_code = errno.EPROTO


class ReplicaNotFound(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException"
    errno_code = errno.ENOENT


class ReplicaExists(HowdahError, OSError):
    java_class = "org.apache.hadoop.hdfs.server.datanode.ReplicaAlreadyExistsException"
    errno_code = errno.EEXIST


class DiskOutOfSpace(HowdahError, OSError):
    java_class = "org.apache.hadoop.util.DiskChecker$DiskOutOfSpaceException"
    errno_code = errno.ENOSPC


class ChecksumMismatch(HowdahError, OSError):
    java_class = "org.apache.hadoop.fs.ChecksumException"


class DiskBalancerError(HowdahError, OSError):
    """A datanode refuses a plan, or a question about one. `result` is why, in a word of Hadoop's
    DiskBalancerException.Result; it stays with the server that raises it."""

    java_class = "org.apache.hadoop.hdfs.server.diskbalancer.DiskBalancerException"
    result = ""

    @classmethod
    def of(cls, result: str, message: str) -> Self:
        error = cls(message)
        error.result = result
        return error


class BlockMissing(HowdahError, OSError):
    """No live replica of a block could be read; the message names file, block and nodes."""

    java_class = "org.apache.hadoop.hdfs.BlockMissingException"


class CannotObtainBlockLength(HowdahError, OSError):
    """Nobody can tell now how long the last block of an open file is."""

    java_class = "org.apache.hadoop.hdfs.CannotObtainBlockLengthException"


class FileChanged(HowdahError, OSError):
    """A file was cut or replaced under its reader, who has to open it again."""

    java_class = "java.io.IOException"
    errno_code = errno.ESTALE


class NotCopiedByServer(HowdahError, OSError):
    """A server does not copy a file, or not so that it can be verified as it is wanted. Nothing
    speaks against reading and writing its bytes; the message has the reason."""

    java_class = "java.io.IOException"
    errno_code = errno.ENOTSUP


class EndOfFile(HowdahError, EOFError):
    """The file ends before what was asked for; the message names path and offsets."""

    java_class = "java.io.EOFException"


class PipelineFailed(HowdahError, OSError):
    """A write pipeline broke; the message names the file, the block and the node."""

    java_class = "java.io.IOException"


class WriteInterrupted(HowdahError, OSError):
    """Ctrl-C, or another exception, came in the middle of a write; the message names the file.
    How much of the write was taken is unknown, so the stream takes no more."""

    java_class = "java.io.InterruptedIOException"
    errno_code = errno.EINTR


class MalformedText(HowdahError, ValueError, OSError):
    """Bytes that are not modified UTF-8, or a text too long for its length field."""

    java_class = "java.io.UTFDataFormatException"
    errno_code = errno.EILSEQ


class InvalidPathHandle(HowdahError, OSError):
    """What a path handle stood for is not there any more, or has changed."""

    java_class = "org.apache.hadoop.fs.InvalidPathHandleException"
    errno_code = errno.ESTALE


class ClosedStream(HowdahError, ValueError, OSError):
    """An operation on a closed stream; the message names the path (OS-033, LM-049).

    Also a `ValueError`, as every closed Python `io` object raises.
    """

    java_class = "java.nio.channels.ClosedChannelException"
    errno_code = errno.EBADF


class Unreachable(HowdahError, ConnectionError):
    """A server did not answer; the message names its address."""

    java_class = "java.net.ConnectException"
    errno_code = errno.EHOSTUNREACH


class FilesystemClosed(Unreachable, ValueError):
    """A call on a filesystem that was closed; nobody tries it again. Also a `ValueError`, as
    every closed Python `io` object raises."""

    java_class = "java.io.IOException"
    errno_code = errno.EBADF


class UnknownHost(Unreachable):
    """A name that no address is known for; trying again would not help."""

    java_class = "java.net.UnknownHostException"
    host = ""

    @classmethod
    def named(cls, host: str, why: object) -> Self:
        """The error for `host`, which it keeps."""
        error = cls(f"No address is known for the host {host!r}: {why}")
        error.host = host
        return error


class CallTimeout(HowdahError, TimeoutError):
    java_class = "java.net.SocketTimeoutException"
    errno_code = errno.ETIMEDOUT


class InvalidConfiguration(HowdahError, ValueError):
    """A configuration value that cannot be used; the message names key, value and source."""

    java_class = "java.lang.IllegalArgumentException"


def _all_types(root: type[HowdahError]) -> list[type[HowdahError]]:
    types = [root]
    for child in root.__subclasses__():
        types += _all_types(child)
    return types


# Several types share java.io.IOException; it comes back as RemoteError.
_BY_JAVA_CLASS: dict[str, type[HowdahError]] = {
    cls.java_class: cls
    for cls in _all_types(HowdahError)
    if cls.java_class != RemoteError.java_class
}
_BY_JAVA_CLASS["java.io.IOException"] = RemoteError
_BY_JAVA_CLASS["java.lang.IllegalArgumentException"] = IllegalArgument
_BY_JAVA_CLASS["org.apache.hadoop.ipc.RpcServerException"] = RpcServerError
_BY_JAVA_CLASS["org.apache.hadoop.fs.PathNotFoundException"] = PathNotFound
_BY_JAVA_CLASS[AccessDenied.java_class] = AccessDenied


def from_java(class_name: str, message: str) -> HowdahError:
    """The exception for a Java class name from the wire; unknown ones are `RemoteError`."""
    cls = _BY_JAVA_CLASS.get(class_name, RemoteError)
    if cls is AccessDenied and message.endswith(PathThroughFile.MESSAGE_END):
        cls = PathThroughFile
    elif cls is RemoteError and AcrossMountPoints.ROUTERS_WORDS in message:
        cls = AcrossMountPoints
    elif cls is RemoteError and any(words in message for words in NoDatanodes.NAMENODES_WORDS):
        cls = NoDatanodes
    return cls(message, java_class=class_name)
