"""A file is opened for writing: `create`, and `append` to an existing one (pure).

Hadoop's `FSDirWriteFileOp.startFile` and `FSDirAppendOp`; step 1 in
docs/how-it-works/write.md. Both give the client the file's lease (FS-005). If another
client writes the file, the call is refused; if that client has been silent beyond the
soft limit, `lease_recovery` recovers the file first.
"""

from __future__ import annotations

from collections.abc import Sequence

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.attributes.coding import CodingCalls
from howdah.namenode.service.attributes.owner_mode_times import check_replication
from howdah.namenode.service.attributes.policies import policy_named
from howdah.namenode.service.calls.encryption_zones import ZoneCalls
from howdah.namenode.service.calls.namespace_changes import check_names, require_parent
from howdah.namenode.service.calls.new_inodes import ensure_parent, initial_acl
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.namenode.state.inodes import paths, storage_policies
from howdah.namenode.state.inodes.file_blocks import MAX_BLOCK_SIZE_BYTES
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import (
    MODE_MASK,
    Block,
    BlockState,
    Directory,
    File,
    INode,
)
from howdah.namenode.state.inodes.storage_policies import UNSPECIFIED
from howdah.namenode.state.tree.leases import check_client_name
from howdah.namenode.state.tree.namespace import GROUP_REPLICATION
from howdah.protocol.rpc.call import Caller
from howdah.protocol.striping.policies import Policy


class Opening:
    """Operations that make a client a file's writer."""

    def __init__(self, namesystem: Namesystem, leases: LeaseRecovery) -> None:
        self._namesystem = namesystem
        self._leases = leases
        self._coding = CodingCalls(namesystem)
        self._zones = ZoneCalls(namesystem)

    def create(
        self,
        caller: Caller,
        path: str,
        *,
        mode: int,
        client_name: str,
        create: bool,
        overwrite: bool,
        create_parent: bool,
        replication: int,
        block_size_bytes: int,
        unmasked: int | None = None,
        storage_policy: str = "",
        lazy_persist: bool = False,
        coding_policy: str = "",
        should_replicate: bool = False,
        knows_zones: bool = False,
    ) -> File:
        """A new, empty file under construction by `client_name`.

        It takes the place of an old one with `overwrite`, and has to without `create`.
        `lazy_persist` (CreateFlag.LAZY_PERSIST) means that policy. `unmasked` is the mode before
        the client's umask, if it says so. `coding_policy` names an erasure coding policy, where
        the directory's is not to count; with `should_replicate` there is none. A client that
        `knows_zones` encrypts what it writes in one. Raises KeyAwaited where no key lies ready for
        it.
        """
        namesystem = self._namesystem
        paths.check_length("create", path)
        check_client_name(client_name)
        _check_file_name(path)
        namesystem.safe_mode.check(f"Cannot create file{path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path, creates=True)
        coding = self._coding.for_new_file(
            _nearest(resolved.trail), coding_policy, replicated=should_replicate
        )
        if coding is not None:
            replication = GROUP_REPLICATION
            _check_cell(coding, block_size_bytes)
        self._check_sizes(caller, path, replication, block_size_bytes)
        policy_id = policy_named(storage_policy).policy_id if storage_policy else UNSPECIFIED
        if lazy_persist:
            policy_id = storage_policies.LAZY_PERSIST.policy_id
        namesystem.permissions.check_ancestor(who, resolved.trail, Access.WRITE)
        old = resolved.inode
        if isinstance(old, Directory):
            raise errors.PathExists(f"{resolved.path} already exists as a directory")
        if old is not None and overwrite:
            namesystem.permissions.check(who, old, Access.WRITE)
        if old is not None and not overwrite:
            if isinstance(old, File):
                self._leases.require_free(old, client_name, caller, "CREATE_FILE")
            raise errors.PathExists(f"{resolved.path} for client {caller.machine} already exists")
        if old is not None and not isinstance(old, File):
            raise errors.PathExists(f"{resolved.path} exists and is no file")
        if old is None and not create:
            raise errors.PathNotFound(
                f"Can't overwrite non-existent {resolved.path} for client {caller.machine}"
            )
        if not create_parent:
            require_parent(resolved)
        namesystem.limits.check_objects()
        check_names(namesystem, resolved)
        namesystem.limits.check_quota_of_new_names(resolved)
        attributes = self._zones.attributes_for_new_file(
            _nearest(resolved.trail), is_raw=paths.is_raw(path), knows_zones=knows_zones
        )
        now_ms = namesystem.clock.wall_ms()
        parent = ensure_parent(namesystem, who, resolved, None, now_ms)
        if old is None:
            namesystem.limits.check_directory_items(parent)
        if not policy_id and storage_policies.of(parent).fixed:
            policy_id = storage_policies.effective_id(parent)
        mode, acl = initial_acl(
            namesystem.settings, parent, mode & MODE_MASK, unmasked, is_directory=False
        )
        inode_id = namesystem.namespace.next_inode_id
        namesystem.commit(
            edits.AddOp(
                inode_id,
                resolved.path,
                replication,
                now_ms,
                now_ms,
                block_size_bytes,
                edits.Permission(who.user, parent.group, mode),
                client_name,
                caller.machine,
                overwrite=overwrite,
                storage_policy_id=policy_id,
                acl=acl,
                xattrs=attributes,
                erasure_coding_policy_id=0 if coding is None else coding.policy_id,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        namesystem.leases.renew(client_name, namesystem.clock.monotonic_ms())
        return namesystem.namespace.inodes.files[inode_id]

    def _check_sizes(
        self, caller: Caller, path: str, replication: int, block_size_bytes: int
    ) -> None:
        settings = self._namesystem.settings
        check_replication(self._namesystem, path, replication, caller.machine)
        if block_size_bytes < settings.min_block_size_bytes:
            raise errors.RemoteError(
                f"Specified block size {block_size_bytes} is less than configured minimum value "
                f"dfs.namenode.fs-limits.min-block-size={settings.min_block_size_bytes}"
            )
        if block_size_bytes > MAX_BLOCK_SIZE_BYTES:
            raise errors.IllegalArgument(
                f"Specified block size {block_size_bytes} of {path} is more than "
                f"{MAX_BLOCK_SIZE_BYTES}, the most that an image keeps"
            )

    def append(
        self, caller: Caller, path: str, *, client_name: str, new_block: bool
    ) -> tuple[File, Block | None]:
        """Reopen a complete file. Returns the last block if the client goes on with it:
        it is open again then, or, with `new_block`, the one that a new one is to follow.
        None behind a full block; the client then asks for the next one.
        """
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot append to file{path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        if isinstance(resolved.inode, Directory):
            raise errors.PathExists(
                f"Cannot append to directory {resolved.path}; already exists as a directory."
            )
        if resolved.inode is None:
            raise errors.PathNotFound(
                f"Failed to append to non-existent file {resolved.path} for client {caller.machine}"
            )
        file = resolved.require_file()
        namesystem.permissions.check(who, file, Access.WRITE)
        check_client_name(client_name)
        if storage_policies.is_lazy_persist(file):
            raise errors.UnsupportedOperation(f"Cannot append to lazy persist file {resolved.path}")
        self._leases.require_free(file, client_name, caller, "APPEND_FILE")
        last = file.last_block
        if isinstance(last, Group):
            if not new_block:
                raise errors.UnsupportedOperation(
                    "Append on EC file without new block is not supported. Use NEW_BLOCK create "
                    "flag while appending file."
                )
            is_enough = last.replica_count >= last.data_blocks
        else:
            alive = sum(s.node.alive for s in last.replicas) if last is not None else 0
            is_enough = alive >= namesystem.settings.min_replication
        if last is not None and not is_enough:
            raise errors.RemoteError(
                f"append: lastBlock={last.name} of src={resolved.path} is not sufficiently "
                "replicated yet."
            )
        pinned = last is not None and namesystem.namespace.snapshots.pins(file, last.block_id)
        if last is not None and not new_block and not pinned:
            more = file.block_size_bytes - last.length_bytes
            namesystem.limits.check_quota(
                file.parent, namesystem.namespace.measuring.of_bytes(file, more)
            )
        namesystem.commit(
            edits.AppendOp(
                resolved.path,
                client_name,
                caller.machine,
                new_block or pinned,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        namesystem.leases.renew(client_name, namesystem.clock.monotonic_ms())
        if last is None or last.state is not BlockState.UNDER_CONSTRUCTION:
            return file, last if new_block else None
        return file, last


def _nearest(trail: Sequence[INode | None]) -> INode | None:
    """The last inode of a path that is there, but for the file itself."""
    there = [inode for inode in trail[:-1] if inode is not None]
    return there[-1] if there else None


def _check_cell(policy: Policy, block_size_bytes: int) -> None:
    if block_size_bytes < policy.cell_bytes:
        schema = policy.schema
        raise errors.RemoteError(
            f"Specified block size ({block_size_bytes}) is less than the cell size "
            f"({policy.cell_bytes}) of the erasure coding policy (ErasureCodingPolicy="
            f"[Name={policy.name}, Schema=[ECSchema=[Codec={schema.codec}, "
            f"numDataUnits={schema.data_units}, numParityUnits={schema.parity_units}]], "
            f"CellSize={policy.cell_bytes}, Id={policy.policy_id}])."
        )


def _check_file_name(path: str) -> None:
    """Below `/.reserved` a file is created by its directory's id, or as `raw`."""
    is_elsewhere = path.startswith(paths.RESERVED + "/") and not path.startswith(
        (paths.RESERVED_RAW, paths.RESERVED_INODES)
    )
    if path == paths.RESERVED or is_elsewhere:
        raise errors.InvalidPath(f"Invalid path name {path}")
    paths.check_creatable(path, "")
