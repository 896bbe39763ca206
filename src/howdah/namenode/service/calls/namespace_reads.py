"""Calls that read the tree (pure). The only edit here sets an access time.

Hadoop's `FSDirStatAndListingOp`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import StorageKind
from howdah.namenode.service.calls.permissions import Access, Identity
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks import topology
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.blocks.reconstruction import LEAVING_LAST
from howdah.namenode.state.inodes import paths, storage_policies
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Block, BlockState, Directory, File, INode, Symlink
from howdah.namenode.state.tree import coding_policies, quotas, reserved
from howdah.namenode.state.tree.encryption_zones import Zone, is_in_zone, zone_of
from howdah.namenode.state.tree.snapshot_views import (
    DotSnapshot,
    SnapshotDirectory,
    SnapshotFile,
    dead_entries,
)
from howdah.namenode.state.tree.usage import stored_bytes
from howdah.protocol.rpc.call import Caller

SLICE_INODES = 1000
"""A millisecond, in which others wait."""
SLICE_OPEN_FILES = 250
"""The same."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a directory, in order; `remaining` entries come after it.

    Files in it may be given by their ids. `policy_above` is the directory's storage policy, `zone`
    the encryption zone that it is in.
    """

    entries: list[INode | int]
    names: list[str]
    remaining: int
    policy_above: int = 0
    zone: Zone | None = None
    has_plain_directories: bool = False
    """That nothing is to be told of its directories but what they have themselves: they inherit no
    erasure coding policy, and are in no encryption zone."""


@dataclass(frozen=True, slots=True)
class Located:
    """A block, where in the file it begins, and its places, nearest first."""

    block: Block
    offset_bytes: int
    places: list[Storage]
    is_corrupt: bool
    cached_on: Iterable[object] = ()
    """Datanodes that have the block in memory."""
    indices: Sequence[int] = ()
    """Of a block group: which internal block each place has."""


@dataclass(frozen=True, slots=True)
class Locations:
    """What `getBlockLocations` says; `length_bytes` is without a block being written."""

    file: File
    length_bytes: int
    blocks: list[Located]
    last: Located | None
    is_final: bool = False
    """Whatever happens to the last block, the length stays."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that is being written, by which client, and where that is."""

    inode_id: int
    path: str
    writer: str
    writer_machine: str


@dataclass(slots=True)
class Summary:
    """Counts of a subtree."""

    length_bytes: int = 0
    files: int = 0
    links: int = 0
    directories: int = 0
    consumed_bytes: int = 0
    by_kind_bytes: dict[StorageKind, int] = field(default_factory=dict)
    """What files with a storage policy take of each type of storage."""

    def add_kinds(self, policy_id: int, replication: int, length_bytes: int) -> None:
        """Count a file whose effective policy this is; 0: it has none, and counts for none."""
        policy = storage_policies.POLICIES.get(policy_id)
        for kind in policy.preferred_types(replication) if policy is not None else ():
            if kind in quotas.COUNTED_KINDS:
                self.by_kind_bytes[kind] = self.by_kind_bytes.get(kind, 0) + length_bytes


class Queries:
    """Operations that look."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._blocks = namesystem.block_manager.blocks
        self._datanode_manager = namesystem.datanode_manager
        self._datanodes = namesystem.datanode_manager.datanodes

    def file_info(self, caller: Caller, path: str, *, follows: bool = True) -> INode | None:
        try:
            _, resolved = self._namesystem.resolver.resolve_checked(caller, path, follows=follows)
        except errors.PathThroughFile:
            # Here alone the superuser is told that nothing is there, as Hadoop has it.
            if self._namesystem.identities.of(caller.user).is_superuser:
                return None
            raise
        if isinstance(resolved.inode, DotSnapshot) or (
            resolved.inode is None and reserved.is_dot_snapshot_of_root(resolved.components)
        ):
            return reserved.dot_snapshot_directory()
        if resolved.inode is None and reserved.is_reserved(resolved.components):
            return reserved.reserved_directory()
        return resolved.inode

    def block_size(self, caller: Caller, path: str) -> int:
        """The block size of a file, in bytes."""
        _, resolved = self._namesystem.resolver.resolve_checked(caller, path, follows=False)
        resolved.require()
        return resolved.require_file().block_size_bytes

    def named(self, caller: Caller, path: str) -> INode:
        """What is there of a path. Raises what any read of the path raises, where nothing is asked
        of it."""
        return self._namesystem.resolver.resolve_checked(caller, path)[1].last_existing

    def is_closed(self, caller: Caller, path: str) -> bool:
        _, resolved = self._namesystem.resolver.resolve_checked(caller, path)
        return not resolved.require_file().under_construction

    def check_access(self, caller: Caller, path: str, access: Access) -> None:
        who, resolved = self._namesystem.resolver.resolve_checked(caller, path)
        if resolved.inode is None:
            raise errors.PathNotFound(f"Path not found: {resolved.path}")
        self._namesystem.permissions.check(who, resolved.inode, access)

    def check_readable(self, caller: Caller, path: str) -> None:
        """Raises AccessDenied for who is not told the bytes of the file; PathNotFound."""
        who, resolved = self._namesystem.resolver.resolve_checked(caller, path)
        self._namesystem.permissions.check_readable(who, resolved.require_file())

    def link_target(self, caller: Caller, path: str) -> str:
        """What the link says; of a path that goes through one, where that leads."""
        try:
            inode = self.file_info(caller, path, follows=False)
        except errors.UnresolvedPath as error:
            return error.message
        if inode is None:
            raise errors.PathNotFound(f"File does not exist: {path}")
        if not isinstance(inode, Symlink):
            raise errors.RemoteError(f"Path {path} is not a symbolic link")
        return inode.target

    def listing(self, caller: Caller, path: str, start_after: str) -> Listing | None:
        """Up to `dfs.ls.limit` entries behind `start_after`; None if there is no such path.

        `start_after` may be the path of an inode by its id, whose name counts then.
        """
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path)
        inode = resolved.inode
        if inode is None and reserved.is_reserved(resolved.components):
            entries: list[INode | int] = []
            entries += reserved.reserved_entries(namesystem.permissions.supergroup, 0)
            return Listing(entries, [".inodes", "raw"], 0)
        if inode is None and reserved.is_dot_snapshot_of_root(resolved.components):
            return Listing([], [], 0)
        if inode is None:
            if resolved.components[-1] == paths.DOT_SNAPSHOT and resolved.parent is None:
                above = paths.parent_of(resolved.path)
                raise errors.PathNotFound(f"Directory does not exist: {above}")
            if resolved.components[-1] == paths.DOT_SNAPSHOT:
                assert resolved.parent is not None, "it was just looked at"
                raise errors.SnapshotError(
                    f"Directory is not a snapshottable directory: {resolved.parent.path}"
                )
            return None
        if not isinstance(inode, Directory):
            return Listing([inode], [""], 0)
        namesystem.permissions.check(who, inode, Access.READ | Access.EXECUTE)
        if start_after.startswith(paths.RESERVED + "/"):
            start_after = self._name_of(start_after)
        page, remaining = inode.names_after(start_after, namesystem.settings.listing_limit)
        entries = inode.pick(page)
        policy = storage_policies.effective_id(inode)
        namespace = namesystem.namespace
        zone = zone_of(inode) if namespace.zones and not paths.is_raw(path) else None
        is_plain = coding_policies.of(inode, namespace.coding_policies) is None
        if namespace.zones and is_in_zone(inode):
            is_plain = False  # By the raw path as well, which shows no keys.
        return Listing(entries, page, remaining, policy, zone, is_plain)

    def _name_of(self, reserved: str) -> str:
        try:
            components = self._namesystem.resolver.resolve(reserved).components
        except errors.PathNotFound as error:
            raise errors.RemoteError(
                f"Can't find startAfter {reserved}",
                java_class="org.apache.hadoop.fs.DirectoryListingStartAfterNotFoundException",
            ) from error
        return components[-1] if components else ""

    def block_locations(
        self, caller: Caller, path: str, offset_bytes: int, length_bytes: int
    ) -> Locations:
        """Blocks that cover the range, each with its replicas nearest to the caller first."""
        namesystem = self._namesystem
        if offset_bytes < 0 or length_bytes < 0:
            raise errors.IllegalArgument(
                f"Negative offset or length is not supported. File: {path}"
            )
        who, resolved = namesystem.resolver.resolve_checked(caller, path)
        file = resolved.require_file()
        namesystem.permissions.check_readable(who, file)
        if isinstance(file, SnapshotFile):
            then = self._locations_then(file, offset_bytes, length_bytes, caller.machine)
            self._count_reads(then)
            return then
        self._touch(resolved.path, file)
        found_blocks = self._locations(file, offset_bytes, length_bytes, caller.machine)
        if not all(located.places for located in found_blocks.blocks):
            # Not lost, as far as one can say: their datanodes are still to report.
            if not namesystem.role.writable:
                raise errors.ObserverRetryOnActive(f"Zero blocklocations for {path}")
            namesystem.safe_mode.check(f"Zero blocklocations for {path}")
        self._count_reads(found_blocks)
        return found_blocks

    def _count_reads(self, locations: Locations) -> None:
        namesystem = self._namesystem
        if namesystem.settings.cache_adaptive and namesystem.role.writable:
            namesystem.caching.read(located.block.block_id for located in locations.blocks)

    def all_locations(self, file: File, client_ip: str) -> Locations:
        """Of the whole file, for a listing: that does not count as reading it."""
        if isinstance(file, SnapshotFile):
            return self._locations_then(file, 0, file.length_bytes, client_ip)
        return self._locations(file, 0, file.length_bytes, client_ip)

    def _locations(
        self, file: File, offset_bytes: int, length_bytes: int, client_ip: str
    ) -> Locations:
        last = file.last_block
        total = file.length_bytes
        # Of a block that is cut the length is known: nobody has to ask its datanodes,
        # whose replicas may be longer still.
        if last is not None and not last.is_readable_to_the_end:
            total -= last.length_bytes
        end = offset_bytes + length_bytes
        located = []
        position = 0
        for block in file.blocks:
            if position >= end:
                break
            if position + block.length_bytes > offset_bytes:
                located.append(self._locate(block, position, client_ip))
            position += block.length_bytes
        last_located = None
        if last is not None and located and located[-1].block == last:
            last_located = located[-1]
        elif last is not None:
            start = total - last.length_bytes if last.is_readable_to_the_end else total
            last_located = self._locate(last, start, client_ip)
        return Locations(file, total, located, last_located)

    def _locations_then(
        self, file: SnapshotFile, offset_bytes: int, length_bytes: int, client_ip: str
    ) -> Locations:
        """Of a file in a snapshot: its last block may be longer by now."""
        end = min(offset_bytes + length_bytes, file.length_bytes)
        located = []
        last = None
        position = 0
        for block in file.blocks:
            if position >= file.length_bytes:
                break
            last = self._locate(block, position, client_ip)
            if position < end and position + block.length_bytes > offset_bytes:
                located.append(last)
            position += block.length_bytes
        return Locations(file, file.length_bytes, located, last, is_final=True)

    def _touch(self, path: str, file: File) -> None:
        """Access times are kept to a precision, not for every read, and not for paths
        that have become so long that the log may not be able to name them."""
        namesystem = self._namesystem
        precision = namesystem.settings.atime_precision_ms
        now_ms = namesystem.clock.wall_ms()
        if len(path) > paths.MAX_PATH_CHARACTERS or not namesystem.role.writable:
            return
        if precision and not namesystem.safe_mode.on and now_ms > file.atime_ms + precision:
            namesystem.commit(edits.TimesOp(path, -1, now_ms))

    def _locate_group(self, group: Group, offset_bytes: int, client_ip: str) -> Located:
        """The same of a block group: each internal block at the nearest of its holders, by their
        indices, since programs take the first places for those of data. Behind them come those of
        nodes that may be slow, or are about to leave."""
        held: list[tuple[Storage, int]] = []
        for part in group.parts:
            places = _in_reach(part.replicas)
            if not places and group.state is not BlockState.COMPLETE:
                places = [s for s in self._blocks.holders(part) if s.node.alive]
            held += [(storage, part.index) for storage in self._by_rank(places, client_ip)[:1]]
        indices: dict[Storage, list[int]] = {}
        for storage, index in held:
            indices.setdefault(storage, []).append(index)
        places = sorted(indices, key=self._reserve())
        is_corrupt = len(held) < group.data_blocks and bool(group.corrupt)
        return Located(
            group,
            offset_bytes,
            [storage for storage in places for _ in indices[storage]],
            is_corrupt,
            indices=[index for storage in places for index in indices[storage]],
        )

    def _locate(self, block: Block, offset_bytes: int, client_ip: str) -> Located:
        if isinstance(block, Group):
            return self._locate_group(block, offset_bytes, client_ip)
        places = block.replicas
        if self._blocks.redundancy.out_of_service:
            places = _in_reach(places)
        if block.state is not BlockState.COMPLETE:
            # Where its pipeline is; also replicas under a newer stamp that no edit has named yet.
            held = {storage.node for storage in places}
            others = self._blocks.holders(block)
            places += [s for s in others if s.node not in held and s.node.alive]
        is_corrupt = not places and bool(block.corrupt) and not block.replicas
        if is_corrupt:
            places = list(block.corrupt)
        return Located(
            block,
            offset_bytes,
            self.nearest_first(places, client_ip),
            is_corrupt,
            self._namesystem.caching.cached_on(block.block_id),
        )

    def nearest_first(self, places: list[Storage], client_ip: str) -> list[Storage]:
        """Sorted by distance from the client, stale nodes last, equals shuffled (FS-089). Behind
        them all come nodes that are about to leave the service, and those that have left."""
        if len(places) < 2:
            return places
        # Of two storages of one node one will do.
        by_node = {storage.node: storage for storage in places}
        return self._by_rank(list(by_node.values()), client_ip)

    def _by_rank(self, places: list[Storage], client_ip: str) -> list[Storage]:
        """All of these storages in that order."""
        if len(places) < 2:
            return places
        client = self._datanodes.by_ip(client_ip)
        name = client.identity.uuid if client is not None else client_ip
        location = (
            client.location
            if client is not None
            else self._datanode_manager.racks.client_location(client_ip)
        )
        reserve = self._reserve()

        def rank(storage: Storage) -> tuple[int, bool, int]:
            node = storage.node
            far = topology.distance(location, name, node.location, node.identity.uuid)
            return *reserve(storage), far

        shuffled = list(places)
        self._namesystem.dice.shuffle(shuffled)
        return sorted(shuffled, key=rank)

    def _reserve(self) -> Callable[[Storage], tuple[int, bool]]:
        """What puts storages behind others: that their nodes are about to leave, or may be slow."""
        namesystem = self._namesystem
        now_ms = namesystem.clock.monotonic_ms()
        slow: Collection[Datanode] = ()
        if namesystem.settings.avoid_slow_for_reading:
            slow = self._datanode_manager.slow_peers.slow(now_ms)

        def reserve(storage: Storage) -> tuple[int, bool]:
            node = storage.node
            is_last = node in slow or self._datanodes.is_stale(node, now_ms)
            return LEAVING_LAST[node.admin_state], is_last

        return reserve

    def content_summary(
        self, caller: Caller, path: str, words: str = "File does not exist: {}"
    ) -> Generator[None, None, tuple[Summary, Summary]]:
        """Counts of a subtree, in slices that let others in between: of what is there, and
        of what only snapshots have of it."""
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path, follows=False)
        live, kept = Summary(), Summary()
        dead: list[INode | int] = []
        yield from self._sum_up(live, [resolved.require(words)], dead, who)
        yield from self._sum_up(kept, dead, dead, None)
        return live, kept

    def _sum_up(
        self,
        summary: Summary,
        stack: list[INode | int],
        dead: list[INode | int],
        who: Identity | None,
    ) -> Generator[None, None, None]:
        """Count what is on the stack and below; what only snapshots have of it goes to
        `dead`. `who`, if told, has to be allowed to look into the directories."""
        namespace = self._namesystem.namespace
        files, snapshots = namespace.inodes.files, namespace.snapshots
        measuring = namespace.measuring
        seen = 0
        while stack:
            entry = stack.pop()
            seen += 1
            if seen % SLICE_INODES == 0:
                yield
            if isinstance(entry, int):
                measure = None if entry in snapshots.versions else files.measure(entry)
                if measure is not None:
                    summary.files += 1
                    summary.length_bytes += measure[1]
                    summary.consumed_bytes += measure[0] * measure[1]
                    continue
                file = files.get(entry)
                if file is None:
                    continue  # It was deleted meanwhile.
                entry = file
            inode = entry
            if isinstance(inode, Directory):
                if who is not None:
                    self._namesystem.permissions.check(who, inode, Access.READ | Access.EXECUTE)
                summary.directories += 1
                stack.extend(self._countable(inode))
                if snapshots.dead_in and not isinstance(inode, SnapshotDirectory | DotSnapshot):
                    dead.extend(dead_entries(namespace, inode))
            elif isinstance(inode, SnapshotFile):
                summary.files += 1
                summary.length_bytes += inode.length_bytes
                if inode.coding_policy_id:
                    summary.consumed_bytes += sum(map(stored_bytes, inode.blocks))
                else:
                    summary.consumed_bytes += inode.length_bytes * inode.replication
            elif isinstance(inode, File):
                summary.files += 1
                summary.length_bytes += inode.length_bytes
                # A block that is being written takes a whole one, as for quotas.
                replication = measuring.replication(inode)
                summary.consumed_bytes += measuring.file_bytes(inode) * replication
                policy_id = storage_policies.effective_id(inode)
                if policy_id and not inode.coding_policy_id:
                    summary.add_kinds(policy_id, replication, inode.length_bytes)
            else:
                summary.links += 1

    def _countable(self, directory: Directory) -> list[INode | int]:
        """The entries of a directory. Files for which a storage policy counts are files, not
        ids: each takes of certain types of storage."""
        contents = directory.contents()
        if not storage_policies.effective_id(directory):
            return contents
        files = self._namesystem.namespace.inodes.files
        return [files[entry] if isinstance(entry, int) else entry for entry in contents]

    def check_below(self, caller: Caller, path: str) -> Generator[None, None, None]:
        """Raises AccessDenied unless the caller may look into all directories of a subtree; in
        slices."""
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path, follows=False)
        stack = [resolved.require("File/Directory does not exist: {}")]
        seen = 0
        while stack and not namesystem.permissions.is_exempt(who):
            inode = stack.pop()
            if isinstance(inode, Directory):
                namesystem.permissions.check(who, inode, Access.READ | Access.EXECUTE)
                entries = inode.contents()
                stack += [entry for entry in entries if isinstance(entry, Directory)]
                seen += 1 + len(entries)
                if seen >= SLICE_INODES:
                    seen = 0
                    yield

    def quota(self, path: str) -> Quota | None:
        """The bounds of a path, if it is a directory that has any."""
        inode = self._namesystem.resolver.resolve(path).inode
        return inode.quota if isinstance(inode, Directory) else None

    def open_files(
        self, caller: Caller, after_id: int, path: str, *, blocking: bool = False
    ) -> Generator[None, None, tuple[list[OpenFile], bool]]:
        """One page of the files that are being written under `path`, by inode id, and
        whether there are more; with `blocking` only those that keep a datanode from being
        decommissioned. In slices: maybe none of all that are written is under the path. Only for
        the superuser."""
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), "list open files"
        )
        top = paths.join(paths.split(path or "/"))
        files: list[OpenFile] = []
        held = namesystem.leases.held()
        for seen, inode_id in enumerate(held[bisect_right(held, after_id) :], 1):
            if seen % SLICE_OPEN_FILES == 0:
                yield
            inode = namesystem.namespace.inodes.get(inode_id)
            if not isinstance(inode, File) or not inode.under_construction:
                continue  # It was closed or deleted meanwhile.
            if not namesystem.namespace.is_attached(inode):
                continue
            if blocking and not any(
                map(self._datanode_manager.membership.is_blocking, inode.block_ids)
            ):
                continue
            file_path = inode.path
            if file_path != top and not paths.is_under(file_path, top):
                continue
            if len(files) == namesystem.settings.open_files_limit:
                return files, True
            files.append(OpenFile(inode_id, file_path, inode.writer or "", inode.writer_machine))
        return files, False

    def datanodes(self, kind: str) -> list[Datanode]:
        """Nodes by state: `all`, `live`, `dead`, `decommissioning`, `entering_maintenance` or
        `in_maintenance`. Those that may not take part any more are not among them."""
        is_meant = _KINDS.get(kind)
        if is_meant is None:
            return []
        return [
            n
            for n in self._datanodes
            if is_meant(n) and self._datanode_manager.hosts.allows(n.identity)
        ]


_KINDS: Final[dict[str, Callable[[Datanode], bool]]] = {
    "all": lambda node: True,
    "live": lambda node: node.alive,
    "dead": lambda node: not node.alive,
    "decommissioning": lambda node: node.admin_state is AdminState.DECOMMISSION_INPROGRESS,
    "entering_maintenance": lambda node: node.admin_state is AdminState.ENTERING_MAINTENANCE,
    "in_maintenance": lambda node: node.admin_state is AdminState.IN_MAINTENANCE,
}


def _in_reach(places: list[Storage]) -> list[Storage]:
    """Without those that are dead in maintenance; with those that are in maintenance and alive
    only where there is no other."""
    alive = [storage for storage in places if storage.node.alive]
    steady = [s for s in alive if s.node.admin_state is not AdminState.IN_MAINTENANCE]
    return steady or alive
