"""What the kernel packs of frequent edits: their values in the order of their records (pure).

`codec` has the table of records, and gets the values of any edit by the names of its fields. A
compiled namenode reads fields by their places, which is a fifth of that, if their class is known:
so there is a function for each class of `frequent`. Tests hold them against the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from howdah.formats.edits import field_codecs, frequent
from howdah.formats.edits.base import AclEntry, Edit, EditBlock, XAttr


def _blocks(blocks: tuple[EditBlock, ...]) -> object:
    return field_codecs.pack_blocks(blocks) if blocks else blocks


def _acl(acl: tuple[AclEntry, ...]) -> object:
    return field_codecs.pack_acl(acl) if acl else acl


def _xattrs(xattrs: tuple[XAttr, ...]) -> object:
    return field_codecs.pack_xattrs(xattrs) if xattrs else xattrs


def _add(edit: frequent.AddOp) -> list[object]:
    permission = edit.permission
    return [
        edit.inode_id,
        edit.path,
        edit.replication,
        edit.mtime_ms,
        edit.atime_ms,
        edit.block_size_bytes,
        _blocks(edit.blocks),
        permission.owner,
        permission.group,
        permission.mode,
        _acl(edit.acl),
        _xattrs(edit.xattrs),
        edit.client_name,
        edit.client_machine,
        edit.overwrite,
        edit.storage_policy_id,
        edit.erasure_coding_policy_id,
        edit.rpc_client_id,
        edit.rpc_call_id,
    ]


def _close(edit: frequent.CloseOp) -> list[object]:
    permission = edit.permission
    return [
        edit.inode_id,
        edit.path,
        edit.replication,
        edit.mtime_ms,
        edit.atime_ms,
        edit.block_size_bytes,
        _blocks(edit.blocks),
        permission.owner,
        permission.group,
        permission.mode,
    ]


def _add_block(edit: frequent.AddBlockOp) -> list[object]:
    before, last = edit.penultimate_block, edit.last_block
    packed = field_codecs.pack_compact((last,) if before is None else (before, last))
    return [edit.path, packed, edit.rpc_client_id, edit.rpc_call_id]


def _update_blocks(edit: frequent.UpdateBlocksOp) -> list[object]:
    return [edit.path, field_codecs.pack_compact(edit.blocks), edit.rpc_client_id, edit.rpc_call_id]


def _mkdir(edit: frequent.MkdirOp) -> list[object]:
    permission = edit.permission
    return [
        edit.inode_id,
        edit.path,
        edit.timestamp_ms,
        permission.owner,
        permission.group,
        permission.mode,
        _acl(edit.acl),
        _xattrs(edit.xattrs),
    ]


def _rename_old(edit: frequent.RenameOldOp) -> list[object]:
    return [edit.src, edit.dst, edit.timestamp_ms, edit.rpc_client_id, edit.rpc_call_id]


def _rename(edit: frequent.RenameOp) -> list[object]:
    options = field_codecs.pack_rename_options(edit.options)
    return [edit.src, edit.dst, edit.timestamp_ms, options, edit.rpc_client_id, edit.rpc_call_id]


def _delete(edit: frequent.DeleteOp) -> list[object]:
    return [edit.path, edit.timestamp_ms, edit.rpc_client_id, edit.rpc_call_id]


def _times(edit: frequent.TimesOp) -> list[object]:
    return [edit.path, edit.mtime_ms, edit.atime_ms]


def _genstamp(edit: frequent.SetGenstampV2Op) -> list[object]:
    return [edit.generation_stamp]


def _block_id(edit: frequent.AllocateBlockIdOp) -> list[object]:
    return [edit.block_id]


VALUES: Final[dict[type[Edit], Callable[[Any], list[object]]]] = {
    frequent.AddOp: _add,
    frequent.CloseOp: _close,
    frequent.AddBlockOp: _add_block,
    frequent.UpdateBlocksOp: _update_blocks,
    frequent.MkdirOp: _mkdir,
    frequent.RenameOldOp: _rename_old,
    frequent.RenameOp: _rename,
    frequent.DeleteOp: _delete,
    frequent.TimesOp: _times,
    frequent.SetGenstampV2Op: _genstamp,
    frequent.AllocateBlockIdOp: _block_id,
}
"""What gives the values of a class of edits. It raises what packing raises where one does not
fit."""
