"""`HdfsFileSystem`: the FileSystem interface over a DFS client (`hdfs://host:port`, or
`hdfs://NAME` with the name of a nameservice).

Thin: each method is an RPC or a stream of `howdah.client`. What a namenode answers to `webhdfs://`
as well is in `namespace`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.config import Configuration
from howdah.fs import capabilities, paths
from howdah.fs.api import Progress
from howdah.fs.builders import HdfsCreateFileBuilder
from howdah.fs.hdfs.caching import (
    CacheDirective,
    CachePool,
    cache_directive,
    cache_pool,
    directive_message,
    pool_message,
)
from howdah.fs.hdfs.links import follow_links
from howdah.fs.hdfs.name_order import HadoopListings, ListAfter, encoded
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.hdfs.operation_metrics import counts_operations
from howdah.fs.hdfs.status import datanode_report, file_status, name_of, server_defaults
from howdah.fs.path_handle import PathHandle, check_handle, make_handle
from howdah.fs.paths import PathLike
from howdah.fs.status import (
    DatanodeReport,
    FileChecksum,
    FileStatus,
    FsStatistics,
    ServerDefaults,
)
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CreateFlag
from howdah.proto import client_namenode_pb2
from howdah.protocol.trash_names import TRASH_NAME
from howdah.runtime.fork_safety import made_once
from howdah.security.identity import user_of

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy
    from howdah.client.state.writing.statistics import OutputStatistics
    from howdah.client.writing.output_stream import OutputStream
    from howdah.formats.tokens.token import Token
    from howdah.fs.hdfs.administration import Administration, OpenFileEntry
    from howdah.fs.hdfs.encryption import (
        EncryptionZone,
        EncryptionZones,
        FileEncryptionInfo,
        ReencryptionStatus,
    )
    from howdah.fs.hdfs.walk import BatchedWalk
    from howdah.fs.inotify import InotifyStream


def list_with_writers(
    namenode: NamenodeProxy, directory: str, after: str = ""
) -> Iterator[tuple[FileStatus, bool]]:
    """What is in a directory behind the name `after`, and whether it is a file that is open for
    writing.

    Names, lengths and times of a file don't change at the namenode while it is written to. That
    it is open comes with the locations of its blocks, so everybody who may list the directory
    may know. Raises `PathNotFound`.
    """
    last = encoded(after)
    while page := namenode.get_listing(directory, last, need_location=True):
        for proto in page.partialListing:
            status = file_status(proto, paths.join(directory, name_of(proto.path)))
            yield status, status.is_file and proto.locations.underConstruction
        if not page.remainingEntries or not page.partialListing:
            return
        last = page.partialListing[-1].path
    raise errors.PathNotFound(f"File does not exist: {directory}").about(directory)


def _known(status: FileStatus | None) -> client_namenode_pb2.KnownFileProto:
    if status is None:
        return client_namenode_pb2.KnownFileProto(fileId=0, modificationTime=0, length=0)
    return client_namenode_pb2.KnownFileProto(
        fileId=status.file_id or 0,
        modificationTime=status.modification_time_ms,
        length=status.length,
    )


# Below it every file has its inode's number for a name, wherever it lies.
_INODES = "/.reserved/.inodes"
FILE_MODE = 0o666
_READ_BUFFER_BYTES = 64 * 1024
_PATH_CAPABILITIES = frozenset(
    (
        capabilities.ACLS,
        capabilities.APPEND,
        capabilities.CHECKSUMS,
        capabilities.CONCAT,
        capabilities.LEASE_RECOVERABLE,
        capabilities.PATH_HANDLES,
        capabilities.PERMISSIONS,
        capabilities.STORAGE_POLICY,
        capabilities.TRUNCATE,
        capabilities.XATTRS,
    )
)


class HdfsDataOutputStream(FSDataOutputStream):
    """The stream that HDFS gives (OS-025): a wrapper around a `DFSOutputStream`."""

    _is_given_whole = True

    def __init__(self, inner: OutputStream) -> None:
        super().__init__(inner)
        self._dfs = inner

    def current_block_replication(self) -> int:
        """How many datanodes have the current block.

        As many as its pipeline has left after failures; between blocks, what the file's
        replication asks for. Raises `ClosedStream`.
        """
        return self._dfs.current_block_replication()

    def statistics(self) -> OutputStatistics:
        """What the stream has done so far: bytes, packets, syncs, recoveries."""
        return self._dfs.statistics()


@counts_operations
class HdfsFileSystem(HdfsNamespace):
    """One HDFS, as one user."""

    scheme = "hdfs"

    def __init__(self, authority: str, conf: Configuration, user: str | None = None) -> None:
        user = user_of(conf, user)
        self._client = DFSClient.at(authority, conf, user)
        super().__init__(authority, conf, user, self._client.namenode, self._client.tally)

    @property
    def client(self) -> DFSClient:
        """The client underneath, for what the interface has no method for.

        >>> fs.client.default_replication()
        3
        """
        return self._client

    @made_once
    def administration(self) -> Administration:
        """What administrators ask of the namenode; most of it only the superuser may do.

        >>> fs.administration.open_files("/docs")
        <generator ...>
        """
        from howdah.fs.hdfs.administration import Administration

        return Administration(self._namenode)

    def list_open_files(self, path: PathLike = "/") -> Iterator[OpenFileEntry]:
        """The files below `path` that somebody is writing. Only for the superuser.

        >>> with fs.append("/docs/a"):
        ...     [entry.path for entry in fs.list_open_files("/docs")]
        ['/docs/a']
        """
        return self.administration.open_files(self.resolve(path))

    def list_corrupt_files(self, path: PathLike = "/") -> Iterator[str]:
        """The files below `path` that have lost every good replica of a block. Only for
        the superuser.

        >>> list(fs.list_corrupt_files("/docs"))
        []
        """
        return self.administration.corrupt_files(self.resolve(path))

    def inotify(self, last_txid: int | None = None) -> InotifyStream:
        """What happens in the namespace from now on, or since transaction `last_txid`.

        Only for the superuser. See `howdah.fs.inotify`.

        >>> events = fs.inotify()
        >>> fs.rename("/docs/a", "/docs/b")
        >>> events.take(timeout_s=20).events[0].destination
        '/docs/b'
        """
        from howdah.fs.inotify import InotifyStream

        return InotifyStream(self._namenode, last_txid)

    def close(self) -> None:
        super().close()
        self._client.close()

    # --- streams ----------------------------------------------------------------------

    @follow_links
    def create(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        replication: int | None = None,
        block_size: int | None = None,
        permission: int | None = None,
        create_parent: bool = True,
        buffer_size: int | None = None,
        progress: Progress | None = None,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
        ec_policy: str | None = None,
        replicate: bool = False,
    ) -> HdfsDataOutputStream:
        """As for any filesystem. `favored_nodes` are datanodes (`host:port`, as they serve
        data) that replicas are to be on; those that can't take one are passed over.

        `ec_policy` is the erasure coding policy of the file, by name, whatever that of its
        directory is; with `replicate` it is replicated there too. Raises `IllegalArgument` for
        both, and `RemoteError` for a policy that is not enabled. An erasure coded file has no
        `hflush` and `hsync`: they raise `UnsupportedOperation`.

        >>> with fs.create("/docs/b", replication=2) as out:
        ...     _ = out.write(b"one line\\n")
        ...     out.hflush()             # every new reader sees it from here on
        >>> fs.get_file_status("/docs/b").replication
        2
        """
        if replicate:
            flags |= CreateFlag.SHOULD_REPLICATE
        mode = FILE_MODE if permission is None else permission
        return HdfsDataOutputStream(
            self._client.create(
                self.resolve(path),
                masked=mode & ~self._umask,
                unmasked=mode,
                overwrite=overwrite,
                create_parent=create_parent,
                replication=replication,
                block_size=block_size,
                progress=progress,
                flags=flags,
                favored_nodes=favored_nodes,
                ec_policy=ec_policy,
            )
        )

    def create_file(self, path: PathLike) -> HdfsCreateFileBuilder:
        return HdfsCreateFileBuilder(self, path)

    @follow_links
    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> HdfsDataOutputStream:
        flags = CreateFlag.NEW_BLOCK if new_block else CreateFlag.NONE
        if sync_block:
            flags |= CreateFlag.SYNC_BLOCK
        return HdfsDataOutputStream(self._client.append(self.resolve(path), progress, flags))

    @follow_links
    def truncate(self, path: PathLike, length: int) -> bool:
        if length < 0:
            raise errors.IllegalArgument(f"Cannot truncate {path} to a negative length: {length}")
        return self._namenode.truncate(self.resolve(path), length, self._client.client_name)

    @follow_links
    def recover_lease(self, path: PathLike) -> bool:
        return self._namenode.recover_lease(self.resolve(path), self._client.client_name)

    @follow_links
    def is_file_closed(self, path: PathLike) -> bool:
        return self._namenode.is_file_closed(self.resolve(path))

    @follow_links
    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        return FSDataInputStream(
            self._client.open(self.resolve(path)), buffer_size or _READ_BUFFER_BYTES
        )

    def get_path_handle(
        self, status: FileStatus, *, may_change: bool = True, may_move: bool = False
    ) -> PathHandle:
        return make_handle(status, may_change=may_change, may_move=may_move)

    def open_path_handle(
        self, handle: PathHandle, buffer_size: int | None = None
    ) -> FSDataInputStream:
        by_id = f"{_INODES}/{handle.file_id}"
        try:
            check_handle(handle, self.get_file_status(by_id if handle.may_move else handle.path))
            # By its id, so that nothing that takes the path meanwhile is opened instead.
            return self._open_input(by_id, buffer_size)
        except errors.PathNotFound as error:
            raise errors.InvalidPathHandle(f"{handle.path} is gone").about(handle.path) from error

    def list_with_writers(
        self, path: PathLike, after: str = ""
    ) -> Iterator[tuple[FileStatus, bool]]:
        """What is in a directory behind the name `after`, in the order of the bytes of names, and
        whether it is a file that is open for writing.

        >>> with fs.append("/docs/a"):
        ...     [(status.path, is_written) for status, is_written in fs.list_with_writers("/docs")]
        [('/docs/a', True)]
        """

        directory = self.resolve(path)
        return self._listed_after(directory, after)

    @made_once
    def _listed_after(self) -> ListAfter:
        """Lists a directory in the order of names' bytes."""
        namenode = self._namenode

        def list_after(directory: str, after: str) -> Iterator[tuple[FileStatus, bool]]:
            return list_with_writers(namenode, directory, after)

        if namenode.get_server_defaults().listsByUnsignedBytes:
            return list_after
        return HadoopListings(namenode, list_after).behind

    def rename_over(self, src: PathLike, dst: PathLike, known: FileStatus | None) -> None:
        """Rename onto a file that is still as `known` says: its id, its time and its length; onto
        nothing if that is None.

        Raises `NotTheKnownFile` where it is not, `PathExists` where something is instead of nothing
        and before a Hadoop namenode, which cannot compare and has changed nothing, and
        `UnsupportedOperation` behind a router where the path may be in several nameservices, which
        no call looks at in one moment. Links are not followed.

        >>> known = fs.get_file_status("/docs/a")
        >>> fs.write_bytes("/docs/new", b"new")
        3
        >>> fs.rename_over("/docs/new", "/docs/a", known)
        """
        self._namenode.rename_over(self.resolve(src), self.resolve(dst), _known(known))

    def rename_in_turn(
        self,
        renames: Sequence[tuple[PathLike, PathLike]],
        *,
        to_trash: bool = False,
        known: FileStatus | None = None,
    ) -> int:
        """Rename several paths, one after the other, and return how many were renamed: all of them
        in one turn of howdah's namenode, between which nobody sees anything, or fewer if one could
        not be. A Hadoop namenode or a router renames the first one only.

        `to_trash`: the first one as `rename_to_trash` does. `known`: the first one only if its
        source is still this file, by its id, its time and its length; `NotTheKnownFile` where it is
        not. A Hadoop namenode cannot compare, and renames what is there; a router raises
        `UnsupportedOperation` where the source may be in several nameservices. Raises what
        `rename_to_trash` raises, with nothing renamed, and `IllegalArgument` for more than 1001.
        Links are not followed.

        >>> fs.write_bytes("/docs/new", b"new")
        3
        >>> fs.rename_in_turn([("/docs/a", "/docs/old"), ("/docs/new", "/docs/a")])
        2
        """
        resolved = [(self.resolve(src), self.resolve(dst)) for src, dst in renames]
        return self._namenode.rename_in_turn(
            resolved, to_trash=to_trash, known=None if known is None else _known(known)
        )

    def delete_known(self, path: PathLike, known: FileStatus) -> bool:
        """Delete a file that is still as `known` says: its id, its time and its length. False if
        nothing is there.

        Raises `NotTheKnownFile` where it is another one. A namenode of Hadoop cannot compare, and
        deletes what is there. Links are not followed.

        >>> fs.delete_known("/docs/a", fs.get_file_status("/docs/a"))
        True
        """
        return self._namenode.delete_known(self.resolve(path), _known(known))

    def walk(
        self, path: PathLike, on_error: Callable[[errors.HowdahError], object] | None = None
    ) -> Iterator[tuple[str, list[FileStatus], list[FileStatus]]]:
        return self._walks.walk(self.resolve(path), on_error)

    @made_once
    def _walks(self) -> BatchedWalk:
        from howdah.fs.hdfs.walk import BatchedWalk

        return BatchedWalk(self._namenode, self.list_status_iter)

    @follow_links
    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        combined = self._client.checksums().read(
            self.resolve(path),
            length,
            combine_mode or self._client.settings.checksum_combine_mode,
        )
        return None if combined is None else FileChecksum(combined.algorithm, combined.value)

    # --- centralised caching ----------------------------------------------------------

    def add_cache_pool(
        self,
        name: str,
        *,
        owner: str | None = None,
        group: str | None = None,
        mode: int | None = None,
        limit_bytes: int | None = None,
        max_ttl_ms: int | None = None,
        default_replication: int | None = None,
    ) -> None:
        """Make a pool: the caller's, with mode 0o755, and without bounds unless they are given.
        Only for the superuser. Raises InvalidRequest if there is one of that name.

        >>> fs.add_cache_pool("tables", mode=0o750, limit_bytes=1 << 30)
        >>> [pool.name for pool in fs.list_cache_pools() if pool.limit_bytes == 1 << 30]
        ['tables']
        >>> fs.remove_cache_pool("tables")
        """
        self._namenode.add_cache_pool(
            pool_message(name, owner, group, mode, limit_bytes, max_ttl_ms, default_replication)
        )

    def modify_cache_pool(
        self,
        name: str,
        *,
        owner: str | None = None,
        group: str | None = None,
        mode: int | None = None,
        limit_bytes: int | None = None,
        max_ttl_ms: int | None = None,
        default_replication: int | None = None,
    ) -> None:
        """Change what is given of a pool. Only for the superuser. Raises InvalidRequest.

        >>> fs.add_cache_pool("grown")
        >>> fs.modify_cache_pool("grown", default_replication=2)
        >>> [pool.name for pool in fs.list_cache_pools() if pool.default_replication == 2]
        ['grown']
        >>> fs.remove_cache_pool("grown")
        """
        self._namenode.modify_cache_pool(
            pool_message(name, owner, group, mode, limit_bytes, max_ttl_ms, default_replication)
        )

    def remove_cache_pool(self, name: str) -> None:
        """The pool goes with its directives. Only for the superuser. Raises InvalidRequest.

        >>> fs.add_cache_pool("gone")
        >>> fs.remove_cache_pool("gone")
        >>> "gone" in [pool.name for pool in fs.list_cache_pools()]
        False
        """
        self._namenode.remove_cache_pool(name)

    def list_cache_pools(self) -> list[CachePool]:
        """All pools, by name.

        >>> fs.add_cache_pool("mine")
        >>> "mine" in [pool.name for pool in fs.list_cache_pools()]
        True
        >>> fs.remove_cache_pool("mine")
        """
        return [cache_pool(entry) for entry in self._namenode.cache_pools()]

    def add_cache_directive(
        self,
        path: PathLike,
        pool: str,
        *,
        replication: int | None = None,
        ttl_ms: int | None = None,
        force: bool = False,
    ) -> int:
        """Keep a file, or all files right in a directory, in the memory of as many datanodes as
        `replication` says (else the pool), for `ttl_ms` from now (else as long as the pool
        allows). The id of the directive.

        Raises InvalidRequest where it would be more than the pool may hold, unless `force`
        is set, and AccessDenied for those who may not write to the pool.

        >>> fs.add_cache_pool("lookups")
        >>> number = fs.add_cache_directive("/docs/a", "lookups", replication=2)
        >>> [directive.path for directive in fs.list_cache_directives(directive_id=number)]
        ['/docs/a']
        >>> fs.remove_cache_pool("lookups")
        """
        return self._namenode.add_cache_directive(
            directive_message(None, self.resolve(path), pool, replication, ttl_ms), force=force
        )

    def modify_cache_directive(
        self,
        directive_id: int,
        *,
        path: PathLike | None = None,
        pool: str | None = None,
        replication: int | None = None,
        ttl_ms: int | None = None,
        force: bool = False,
    ) -> None:
        """Change what is given of a directive. Raises what `add_cache_directive` does.

        >>> fs.add_cache_pool("hot")
        >>> number = fs.add_cache_directive("/docs/a", "hot")
        >>> fs.modify_cache_directive(number, replication=3, ttl_ms=3_600_000)
        >>> fs.list_cache_directives(directive_id=number)[0].replication
        3
        >>> fs.remove_cache_pool("hot")
        """
        resolved = None if path is None else self.resolve(path)
        self._namenode.modify_cache_directive(
            directive_message(directive_id, resolved, pool, replication, ttl_ms), force=force
        )

    def remove_cache_directive(self, directive_id: int) -> None:
        """What no other directive asks for is not cached any more. Raises InvalidRequest.

        >>> fs.add_cache_pool("brief")
        >>> number = fs.add_cache_directive("/docs/a", "brief")
        >>> fs.remove_cache_directive(number)
        >>> fs.list_cache_directives(pool="brief")
        []
        >>> fs.remove_cache_pool("brief")
        """
        self._namenode.remove_cache_directive(directive_id)

    def list_cache_directives(
        self,
        *,
        path: PathLike | None = None,
        pool: str | None = None,
        directive_id: int | None = None,
    ) -> list[CacheDirective]:
        """Those of pools that the caller may read, by id; with this path, of this pool, or of
        this id only. Raises InvalidRequest if there is none of that id.

        >>> fs.add_cache_pool("listed")
        >>> _ = fs.add_cache_directive("/docs", "listed")
        >>> [directive.path for directive in fs.list_cache_directives(pool="listed")]
        ['/docs']
        >>> fs.remove_cache_pool("listed")
        """
        resolved = None if path is None else self.resolve(path)
        only = directive_message(directive_id, resolved, pool, None, None)
        return [cache_directive(entry) for entry in self._namenode.cache_directives(only)]

    # --- encryption zones -------------------------------------------------------------

    @made_once
    def _zones(self) -> EncryptionZones:
        from howdah.fs.hdfs.encryption import EncryptionZones

        return EncryptionZones(self._namenode)

    def create_encryption_zone(
        self, path: PathLike, key_name: str, *, provision_trash: bool = True
    ) -> None:
        """Make an empty directory an encryption zone: the keys of its files are encrypted by this
        key of the key servers. It gets a directory for its users' trash, as nothing is moved out
        of a zone. Only for the superuser. Raises RemoteError for what cannot be a zone, or a key
        that is not there.

        >>> _ = fs.mkdir("/docs/zone")
        >>> fs.create_encryption_zone("/docs/zone", "key")      # this cluster has no key servers
        Traceback (most recent call last):
            ...
        howdah.errors.RemoteError: ...
        """
        self._zones.create(self.resolve(path), key_name, provision_trash=provision_trash)

    def list_encryption_zones(self) -> Iterator[EncryptionZone]:
        """All zones. Only for the superuser.

        >>> list(fs.list_encryption_zones())      # this cluster has no key servers
        []
        """
        return self._zones.list()

    @follow_links
    def get_encryption_zone(self, path: PathLike) -> EncryptionZone | None:
        """The zone that a path is in; None outside of zones.

        >>> fs.get_encryption_zone("/docs/a") is None
        True
        """
        return self._zones.of(self.resolve(path))

    def provision_encryption_zone_trash(self, path: PathLike) -> None:
        """Make the directory of the trash of a zone, where it is missing. Raises IllegalArgument
        for what is no zone, and PathExists.

        >>> fs.provision_encryption_zone_trash("/docs")           # which is no zone
        Traceback (most recent call last):
            ...
        howdah.errors.IllegalArgument: ...
        """
        self._zones.provision_trash(self.resolve(path))

    def reencrypt_zone(self, path: PathLike, *, cancel: bool = False) -> None:
        """Have the keys of a zone's files encrypted anew by the last version of its key, or leave
        that where it is. The namenode does it by and by (`list_reencryption`); contents stay as
        they are. Only for the superuser. Raises RemoteError for what is no zone, is under way
        already, or is not under way.

        >>> fs.reencrypt_zone("/docs")                 # this cluster has no key servers
        Traceback (most recent call last):
            ...
        howdah.errors.RemoteError: ...
        """
        self._zones.reencrypt(self.resolve(path), cancel=cancel)

    def list_reencryption(self) -> Iterator[ReencryptionStatus]:
        """How far the zones are that were ever to be re-encrypted. Only for the superuser.

        >>> list(fs.list_reencryption())               # this cluster has no key servers
        []
        """
        return self._zones.reencryption_statuses()

    @follow_links
    def get_file_encryption_info(self, path: PathLike) -> FileEncryptionInfo | None:
        """How a file is encrypted; None for what is not. Raises PathNotFound.

        >>> fs.get_file_encryption_info("/docs/a") is None
        True
        """
        return self._zones.info_of(self.resolve(path))

    def trash_root(self, path: PathLike) -> str:
        """The trash of what is in a zone is in the zone.

        >>> fs.trash_root("/docs/a").endswith("/.Trash")
        True
        """
        if self._client.server_defaults().keyProviderUri:
            resolved = self.resolve(path)
            zone = self._zones.of(paths.parent_of(resolved) or resolved)
            if zone is not None:
                return paths.join(zone.path, TRASH_NAME, self.user)
        return super().trash_root(path)

    # --- the filesystem as a whole --------------------------------------------------------

    def statistics(self) -> FsStatistics:
        return FsStatistics(*self._client.counted())

    def set_safe_mode(self, action: str = "get", *, checked: bool = False) -> bool:
        """`enter`, `leave`, `force_exit` or `get`; whether the namenode is in safe mode then.

        `checked` wants the answer of the active namenode, where there are several.

        >>> fs.set_safe_mode("get")              # whether the namenode takes no changes
        False
        """
        name = f"SAFEMODE_{action.upper()}"
        if name not in list(client_namenode_pb2.SafeModeActionProto.keys()):
            raise errors.IllegalArgument(
                f"There is no safe mode action {action!r}, only enter, leave, force_exit and get"
            )
        return self._namenode.set_safe_mode(name, checked=checked)

    def get_key_server_token(self, renewer: str) -> Token | None:
        return self._client.file_keys.get_delegation_token(renewer)

    def _token_service(self) -> str:
        from howdah.fs.hdfs.tokens import rpc_service

        return rpc_service(self._authority, self._conf)

    def msync(self) -> None:
        """See all that others have done before this call, when reads go to observers.

        A client of observers (`ObserverReadProxyProvider`) sees its own changes at once, and
        those of others when its observer has read them, or after this.

        >>> fs.msync()
        >>> fs.exists("/docs/a")                 # whoever made it before
        True
        """
        self._namenode.msync()

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return server_defaults(self._client.server_defaults())

    def datanode_report(self, kind: str = "live") -> list[DatanodeReport]:
        name = kind.upper().replace("-", "_")
        known = list(client_namenode_pb2.DatanodeReportTypeProto.keys())
        if name not in known:
            raise errors.IllegalArgument(
                f"There is no report of {kind!r} datanodes, but: {', '.join(known).lower()}"
            )
        return [datanode_report(proto) for proto in self._namenode.get_datanode_report(name)]

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        own = (
            _PATH_CAPABILITIES | {capabilities.SYMLINKS}
            if self._makes_links
            else _PATH_CAPABILITIES
        )
        return super().path_capabilities(path) | own
