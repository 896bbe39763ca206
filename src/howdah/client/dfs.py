"""`DFSClient`: one user's connection to one HDFS, from which streams are opened.

Holds what the streams of a client share: the namenode proxy, the client name under
which leases are held, the lease renewer, the namenode's defaults. Owns no event
loop and no thread but the lease renewer, and that only while a file is being
written, and a moment longer. In a forked child it starts over with a name and a
renewer of its own.
"""

from __future__ import annotations

import atexit
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.client.lease import LeaseRenewer
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.providers import namenode_calls
from howdah.client.namenodes.target import target_of
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.create_flags import check_append, check_create
from howdah.client.statistics import Count, Tally
from howdah.config import Configuration
from howdah.options import CreateFlag
from howdah.proto import types_pb2
from howdah.runtime.fork_safety import PerProcess, made_once
from howdah.runtime.tracing import spans
from howdah.runtime.tracing.span import NOTHING, Span
from howdah.security.identity import user_of

# The data path is imported by the first call that needs it: `dfs -ls` never does,
# and it is half of what it would import.
if TYPE_CHECKING:
    from howdah.client.data_transfer_security import ConnectsData
    from howdah.client.encryption.file_keys import FileKeys
    from howdah.client.peer_cache import PeerCache
    from howdah.client.reading.checksum import FileChecksumReader
    from howdah.client.reading.hedged import HedgedReads
    from howdah.client.reading.input import DFSInputStream
    from howdah.client.reading.readers import ReaderFactory
    from howdah.client.reading.replica_check import ReplicaChecker
    from howdah.client.shortcircuit.cache import ShortCircuitCache
    from howdah.client.writing.output_stream import OpenFile, OutputStream
    from howdah.protocol.data_transfer.checksum import ChecksumSpec
    from howdah.protocol.encryption_zones.messages import EncryptedKey
    from howdah.protocol.striping.policies import Policy

_ALL_CLIENTS: weakref.WeakSet[DFSClient] = weakref.WeakSet()


_MEMORY_POLICY_ID = 15
"""LAZY_PERSIST: HdfsConstants.MEMORY_STORAGE_POLICY_ID in Hadoop."""


def _is_lazy_persist(status: types_pb2.HdfsFileStatusProto) -> bool:
    """By the policy that the namenode gave the file, whether from a flag or from a directory."""
    return status.storagePolicy == _MEMORY_POLICY_ID


def _policy_of(status: types_pb2.HdfsFileStatusProto) -> Policy | None:
    """The erasure coding policy that the namenode gave a file."""
    if not status.HasField("ecPolicy"):
        return None
    from howdah.protocol.striping.messages import policy_from_proto

    return policy_from_proto(status.ecPolicy)


def _key_of(status: types_pb2.HdfsFileStatusProto) -> EncryptedKey | None:
    """The key of a file in an encryption zone."""
    if not status.HasField("fileEncryptionInfo"):
        return None
    from howdah.protocol.encryption_zones.messages import encrypted_key_of

    return encrypted_key_of(status.fileEncryptionInfo)


_NEW_FILE: Final = (CreateFlag.CREATE, CreateFlag.CREATE | CreateFlag.OVERWRITE)
"""What is asked for beside a caller's flags, by whether a file may be there."""


class _Identity:
    """Holds what belongs to one process: the name that holds leases, and who renews them."""

    def __init__(self, namenode: NamenodeProxy, settings: ClientSettings) -> None:
        self.client_name = f"howdah_{uuid.uuid4().hex[:12]}_{os.getpid()}"
        self.leases = LeaseRenewer(
            lambda: namenode.renew_lease(self.client_name, self.namespaces()),
            settings.lease_renewal_s,
            hard_limit_s=settings.lease_hard_limit_s,
            lost=self._lost_lease,
        )
        # Reentrant, for the garbage collector may close a forgotten stream on a thread that
        # holds it.
        self.lock = threading.RLock()
        self.open_files: set[OutputStream] = set()

    def namespaces(self) -> list[str]:
        """Return where the open files are, as a router said; none if it did not of one of them, for
        then the leases of all are renewed. Hadoop: DFSClient.getNamespaces."""
        with self.lock:
            namespaces = {open_file.namespace for open_file in self.open_files}
        return [] if "" in namespaces else sorted(namespaces)

    def _lost_lease(self, why: str) -> None:
        with self.lock:
            files = list(self.open_files)
        for file in files:
            file.abort(why)


class DFSClient:
    """Opens files of one namespace. Thread-safe and fork-safe."""

    def __init__(
        self,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        conf: Configuration | None = None,
    ) -> None:
        self.namenode = namenode
        self.settings = settings
        self._conf = conf or Configuration()
        self.tally = Tally()
        self._identity = PerProcess(lambda: _Identity(namenode, settings))
        self._defaults: types_pb2.FsServerDefaultsProto | None = None
        self._closed = False
        self._given_replicas: ShortCircuitCache | None = None
        self._nearest: str | None = None
        _ALL_CLIENTS.add(self)

    @classmethod
    def at(cls, authority: str, conf: Configuration, user: str | None = None) -> DFSClient:
        """A client of the namespace at `host:port`, or of a nameservice; nothing is sent yet."""
        spans.join(conf)
        settings = ClientSettings.from_configuration(conf)
        target = target_of(authority, conf)
        user = user_of(conf, user)
        return cls(NamenodeProxy(namenode_calls(target, conf, settings, user)), settings, conf)

    @made_once
    def _peers(self) -> PeerCache:
        from howdah.client.peer_cache import PeerCache

        return PeerCache(self.settings.kept_connections, self.settings.keep_connections_s)

    @made_once
    def _connect_data(self) -> ConnectsData:
        from howdah.client.data_transfer_security import data_connections_of

        return data_connections_of(self.namenode, self.settings.data_cipher_suites)

    @made_once
    def file_keys(self) -> FileKeys:
        """The keys of files in encryption zones."""
        from howdah.client.encryption.file_keys import FileKeys

        # Without the client itself, which would keep itself alive by this.
        return FileKeys(self._conf, self.namenode)

    def ask_keys_as(self, caller: Callable[[], str]) -> None:
        """Ask key servers as the user that `caller` returns: who has a token for namenodes alone
        proves nothing there. For a client that has opened nothing yet."""
        self.file_keys.caller = caller

    @property
    def client_name(self) -> str:
        """The name under which this process holds leases."""
        return self._identity.get().client_name

    def namespaces(self) -> list[str]:
        """The nameservices behind a router in which files are open for writing."""
        return self._identity.get().namespaces()

    def server_defaults(self) -> types_pb2.FsServerDefaultsProto:
        """The namenode's defaults, asked for once."""
        if self._defaults is None:
            self._defaults = self.namenode.get_server_defaults()
        return self._defaults

    def default_block_size(self) -> int:
        return self.settings.block_size or self.server_defaults().blockSize

    def default_replication(self) -> int:
        return self.settings.replication or self.server_defaults().replication

    @made_once
    def checksum_spec(self) -> ChecksumSpec:
        """How the blocks of new files are summed."""
        from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType

        own = self.settings
        kind = own.checksum_type
        return ChecksumSpec(
            ChecksumType[kind] if kind else ChecksumType(int(self.server_defaults().checksumType)),
            own.bytes_per_checksum or self.server_defaults().bytesPerChecksum,
        )

    # --- streams --------------------------------------------------------------------

    def create(
        self,
        path: str,
        *,
        masked: int,
        unmasked: int,
        overwrite: bool,
        create_parent: bool,
        replication: int | None,
        block_size: int | None,
        progress: Callable[[], None] | None = None,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
        ec_policy: str | None = None,
    ) -> OutputStream:
        """Make a file and open it for writing. `ec_policy` is the erasure coding policy to have in
        place of the directory's."""
        span = spans.begin("howdah.create", {"howdah.path": path})
        try:
            with span.current():
                file = self._create(
                    path,
                    masked,
                    unmasked,
                    overwrite=overwrite,
                    create_parent=create_parent,
                    replication=replication,
                    block_size=block_size,
                    flags=flags,
                    favored_nodes=favored_nodes,
                    ec_policy=ec_policy,
                )
            return self._opened(file, progress, span)
        except BaseException as error:
            span.end(error)
            raise

    def _create(
        self,
        path: str,
        masked: int,
        unmasked: int,
        *,
        overwrite: bool,
        create_parent: bool,
        replication: int | None,
        block_size: int | None,
        flags: CreateFlag,
        favored_nodes: Sequence[str],
        ec_policy: str | None,
    ) -> OpenFile:
        from howdah.client.writing.output_stream import OpenFile

        check_create(path, flags, ec_policy)
        checksum = self.checksum_spec
        size = self.default_block_size() if block_size is None else block_size
        if size <= 0 or size % checksum.bytes_per_checksum:
            raise errors.IllegalArgument(
                f"Cannot create {path}: a block size of {size} bytes is not a multiple of the "
                f"{checksum.bytes_per_checksum} bytes that one checksum covers "
                f"(dfs.bytes-per-checksum)"
            )
        status = self.namenode.create(
            path,
            self.client_name,
            masked=masked,
            unmasked=unmasked,
            flags=_NEW_FILE[overwrite] if not flags.value else flags | _NEW_FILE[overwrite],
            create_parent=create_parent,
            replication=self.default_replication() if replication is None else replication,
            block_size=size,
            ec_policy=ec_policy,
        )
        return OpenFile(
            path,
            status.fileId,
            size,
            checksum,
            replication=status.block_replication or 1,
            flags=flags,
            favored_nodes=tuple(favored_nodes),
            lazy_persist=_is_lazy_persist(status),
            namespace=status.namespace,
            policy=_policy_of(status),
            key=_key_of(status),
        )

    def append(
        self,
        path: str,
        progress: Callable[[], None] | None = None,
        flags: CreateFlag = CreateFlag.NONE,
    ) -> OutputStream:
        """Open a closed file for writing at its end; with NEW_BLOCK in a block of its own.

        Raises `RecoveryInProgress` where the writer before is gone and its lease has run
        out: the namenode is recovering the file then, and the append can be tried again
        in a while.
        """
        span = spans.begin("howdah.append", {"howdah.path": path})
        try:
            with span.current():
                file = self._append(path, flags)
            return self._opened(file, progress, span)
        except BaseException as error:
            span.end(error)
            raise

    def _append(self, path: str, flags: CreateFlag) -> OpenFile:
        from howdah.client.writing.output_stream import OpenFile

        check_append(path, flags)
        checksum = self.checksum_spec
        block, status = self.namenode.append(path, self.client_name, flags)
        if status is None:
            status = self.namenode.get_file_info(path)
        if status is None:
            raise errors.PathNotFound(f"File does not exist: {path}").about(path)
        length = status.length
        if block is not None and block.offset + block.length_bytes > length:
            length = block.offset + block.length_bytes
        in_new_block = bool(flags & CreateFlag.NEW_BLOCK)
        return OpenFile(
            path,
            status.fileId,
            status.blocksize,
            checksum,
            length=length,
            room=None if in_new_block else block,
            previous=block.block if in_new_block and block is not None else None,
            replication=status.block_replication or 1,
            flags=flags,
            lazy_persist=_is_lazy_persist(status),
            namespace=status.namespace,
            policy=_policy_of(status),
            key=_key_of(status),
        )

    def _opened(
        self, file: OpenFile, progress: Callable[[], None] | None, span: Span = NOTHING
    ) -> OutputStream:
        from howdah.client.writing.output import DFSOutputStream

        identity = self._identity.get()

        def ended(stream: OutputStream) -> None:
            self._forget(identity, stream)

        shared = (
            self.namenode,
            self.settings,
            identity.client_name,
            ended,
            progress,
            span,
        )
        stream: OutputStream
        if file.key is not None:
            stream = self._encrypting(file, file.key, *shared)
        elif file.policy is None:
            try:
                stream = DFSOutputStream(file, *shared, connect=self._connect_data)
            except errors.IllegalArgument:
                self._leave_as_it_is(file)
                raise
        else:
            stream = self._striped(file, file.policy, *shared)
        with identity.lock:
            identity.open_files.add(stream)
        identity.leases.add(stream)
        return stream

    def _striped(
        self,
        file: OpenFile,
        policy: Policy,
        namenode: NamenodeProxy,
        *shared: Any,
    ) -> OutputStream:
        from howdah.client.writing.striped_output import DFSStripedOutputStream

        try:
            return DFSStripedOutputStream(
                file, policy, namenode, *shared, connect=self._connect_data
            )
        except (errors.UnsupportedOperation, errors.IllegalArgument):
            self._leave_as_it_is(file)
            raise

    def _encrypting(self, file: OpenFile, key: EncryptedKey, *shared: Any) -> OutputStream:
        from howdah.client.encryption.output import (
            EncryptingOutputStream,
            EncryptingStripedOutputStream,
        )

        stream: EncryptingOutputStream | EncryptingStripedOutputStream
        try:
            cipher = self.file_keys.cipher_of(file.path, key)
            if file.policy is None:
                stream = EncryptingOutputStream(file, *shared, connect=self._connect_data)
            else:
                stream = EncryptingStripedOutputStream(
                    file, file.policy, *shared, connect=self._connect_data
                )
        except errors.HowdahError:
            self._leave_as_it_is(file)
            raise
        stream.begin(cipher)
        return stream

    def _leave_as_it_is(self, file: OpenFile) -> None:
        """It was made or opened already, and no stream writes it: it is closed, for others to
        write."""
        last = file.previous if file.room is None else file.room.block
        self.namenode.complete(file.path, self.client_name, last, file.file_id)

    def _forget(self, identity: _Identity, stream: OutputStream) -> None:
        with identity.lock:
            if stream in identity.open_files:
                identity.open_files.remove(stream)
                self.tally.add(Count.BYTES_WRITTEN, stream.bytes_written)
        identity.leases.remove(stream)

    def counted(self) -> list[int]:
        """The totals of `tally`, in the order of `Count`, with what was written to files that
        are still open."""
        identity = self._identity.get()
        with identity.lock:
            totals = list(self.tally.totals())
            totals[Count.BYTES_WRITTEN] += sum(
                open_file.bytes_written for open_file in identity.open_files
            )
        return totals

    def open(self, path: str) -> DFSInputStream:
        """Open a file for reading; brings the locations of its first blocks."""
        span = spans.begin("howdah.open", {"howdah.path": path})
        try:
            return self._open_input(path, span)
        except BaseException as error:
            span.end(error)
            raise

    @made_once
    def _open_input(self) -> Callable[[str, Span], DFSInputStream]:
        """Opens a file; made with the first one, for who only writes need not load what reads."""
        from howdah.client.reading.file_replicas import ReadContext
        from howdah.client.reading.input import DFSInputStream
        from howdah.client.reading.locations import FileLocations
        from howdah.client.thread_pool import Workers
        from howdah.protocol.data_transfer.op_requests import CachingHints

        # Without the client itself, which would keep itself alive by this.
        namenode, settings, identity = self.namenode, self.settings, self._identity
        hints = CachingHints(settings.drop_behind_reads, settings.readahead_bytes)
        shared = (
            self._reader_factories,
            self.hedged_reads,
            self.tally,
            self._nearest,
            hints,
            Workers(settings.striped_read_threads, "howdah-striped-read"),
        )
        context = PerProcess(
            lambda: ReadContext(namenode, settings, identity.get().client_name, *shared)
        )

        file_keys = self.file_keys

        def open_input(path: str, span: Span) -> DFSInputStream:
            locations = FileLocations(path, namenode, settings, span)
            if locations.key is None:
                return DFSInputStream(locations, context.get(), span)
            from howdah.client.encryption.input import DecryptingInputStream

            cipher = file_keys.cipher_of(path, locations.key)
            return DecryptingInputStream(locations, context.get(), cipher, span)

        return open_input

    def read_from(self, replicas: ShortCircuitCache, nearest: str) -> None:
        """Read what this leads to from its files, as whoever shares it; the caller closes it.
        Of several datanodes the `nearest` is asked first, by its uuid. For a client that has
        opened nothing yet."""
        self._given_replicas, self._nearest = replicas, nearest

    @made_once
    def _reader_factories(self) -> tuple[ReaderFactory, ...]:
        """The ways to a replica, the best one first."""
        from howdah.client.reading.block_reader import DatanodeReaders

        own = self.settings
        through_datanode = DatanodeReaders(
            self._peers,
            use_hostname=own.use_datanode_hostname,
            timeout_s=own.socket_timeout_s,
            connect=self._connect_data,
        )
        caches = [] if self._given_replicas is None else [self._given_replicas]
        if own.short_circuit.socket_path:
            caches.append(self._local_replicas)
        if not caches:
            return (through_datanode,)
        from howdah.client.shortcircuit.reader import ShortCircuitReaders

        local = (ShortCircuitReaders(cache, through_datanode) for cache in caches)
        return (*local, through_datanode)

    @made_once
    def _local_replicas(self) -> ShortCircuitCache:
        from howdah.client.shortcircuit.cache import ShortCircuitCache

        own = self.settings
        return ShortCircuitCache(own.short_circuit, lambda: self.client_name, own.socket_timeout_s)

    @made_once
    def hedged_reads(self) -> HedgedReads | None:
        """What makes positioned reads hedged, and counts them; None where they are off."""
        from howdah.client.reading.hedged import HedgedReads

        own = self.settings
        if not own.hedged_read_threads:
            return None
        return HedgedReads(own.hedged_read_threads, own.hedged_read_threshold_s)

    def replica_checker(self) -> ReplicaChecker:
        """Reader of replicas one by one, always from their datanodes; for one thread."""
        from howdah.client.reading.replica_check import ReplicaChecker

        return ReplicaChecker(self.namenode, self._reader_factories[-1], self.client_name)

    def checksums(self) -> FileChecksumReader:
        """Reader of whole files' checksums."""
        from howdah.client.reading.checksum import FileChecksumReader

        return FileChecksumReader(self.namenode, self.settings, self._connect_data)

    def close(self) -> None:
        """Close files that are still being written, then connections.

        The first error of a file is raised when all are dealt with.
        """
        if self._closed:
            return
        self._closed = True
        identity = self._identity.get()
        with identity.lock:
            files = list(identity.open_files)
        first: Exception | None = None
        for file in files:
            try:
                file.close()
            except (errors.HowdahError, OSError) as error:
                first = first or error
        identity.leases.rest()
        if "_peers" in self.__dict__:
            self._peers.close()
        if "file_keys" in self.__dict__:
            self.file_keys.close()
        if "_local_replicas" in self.__dict__:
            self._local_replicas.close()
        self.namenode.close()
        if first is not None:
            raise first


def _close_open_files() -> None:
    """Complete files that the program forgot, while the threads for it still run."""
    first: Exception | None = None
    for client in list(_ALL_CLIENTS):
        try:
            client.close()
        except (errors.HowdahError, OSError) as error:
            first = first or error
    if first is not None:
        raise first


# Closing may need a thread, which can't be started any more when atexit's turn comes;
# threading has hooks of its own for that, which concurrent.futures rests on as well.
getattr(threading, "_register_atexit", atexit.register)(_close_open_files)
