"""A second namenode that follows the first one: by its edits, and by datanodes' reports.

It has its own namespace, block map and retry cache, and takes nothing over but

* each edit, encoded and decoded as a journal would have it
* what datanodes say, who report to both
* what no edit says, and an active namenode tells its own block map: which storages a
  pipeline consists of (`allocated`, `new_pipeline`), and what the primary of a recovery
  says of the others' replicas

After each edit both must have the same namespace, the same block map with all that it
remembers, the same orders to delete replicas, and must know the same calls.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record, encode_record
from howdah.namenode.service.calls.retry_cache import REBUILT
from howdah.namenode.service.namesystem import REAP_AT_ONCE, Namesystem
from howdah.namenode.state.blocks.block_map import BlockMap
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.inodes.inodes import Block
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred
from howdah.testing.fingerprint import fingerprint
from howdah.testing.in_memory import InMemoryNamenode, replayed

REPORTS: Final = frozenset(
    {
        "registerDatanode",
        "sendHeartbeat",
        "blockReport",
        "blockReceivedAndDeleted",
        "reportBadBlocks",
    }
)


class Follower:
    """`namenode` is followed from now on; no datanode has reported any replica to it yet."""

    def __init__(self, namenode: InMemoryNamenode) -> None:
        self.active = namenode
        self.standby = InMemoryNamenode(
            namenode.settings,
            racks=namenode.racks,
            groups=namenode.groups,
            namespace=replayed(namenode.edits()),
            clock=namenode.clock,
        )
        self.txid = len(namenode.log)
        self._in_edit = self._in_report = False
        self._apply = namenode.namesystem.namespace.apply
        self._call = namenode.call
        for node in namenode.nodes:
            self.standby.join(node.uuid, ip=node.ip, volumes=len(node.replicas))
        # Both are plain objects: what goes in is seen by standing in between.
        setattr(namenode.namesystem.namespace, "apply", self._applied)  # noqa: B010
        setattr(namenode, "call", self._called)  # noqa: B010
        for name in ("allocated", "new_pipeline", "reported"):
            self._mirror(name)

    def check(self) -> None:
        """Raises AssertionError where the two differ when both have done what is due."""
        self._free_as_much()
        self._compare()

    def _compare(self) -> None:
        active, standby = self.active.namesystem, self.standby.namesystem
        assert fingerprint(standby.namespace) == fingerprint(active.namespace)
        there, here = facts(active), facts(standby)
        for what, expected in there.items():
            assert here[what] == expected, f"{what} after transaction {self.txid}"
        # The active one also knows the answers of calls that changed nothing.
        assert standby.retry_cache._answers.keys() <= active.retry_cache._answers.keys()

    def _applied(self, edit: edits.Edit) -> None:
        self._free_as_much()
        self._in_edit = True
        try:
            self._apply(edit)
        finally:
            self._in_edit = False
        self.txid += 1
        logged = decode_record(encode_record(self.txid, edit)).edit
        self.standby.namesystem.namespace.apply(logged)
        if isinstance(logged, edits.RetryableEdit) and logged.has_call:
            caller = Caller("", logged.rpc_client_id, logged.rpc_call_id, 0, "")
            assert self.standby.namesystem.retry_cache.find(caller) is REBUILT
        self._compare()

    def _free_as_much(self) -> None:
        """The active one has freed so much after its last edit."""
        self.standby.namesystem.namespace.reap(REAP_AT_ONCE)

    def _called(self, method: str, request: Message, **how: Any) -> Message | Deferred:
        if method not in REPORTS:
            return self._call(method, request, **how)
        self._free_as_much()
        self.standby.call(method, request, **how)
        self._in_report = True
        try:
            return self._call(method, request, **how)
        finally:
            self._in_report = False

    def _mirror(self, name: str) -> None:
        there, here = (
            self.active.namesystem.block_manager.blocks,
            self.standby.namesystem.block_manager.blocks,
        )
        run = getattr(there, name)

        def mirrored(*told: Any) -> None:
            run(*told)
            if not self._in_edit and not self._in_report:
                getattr(BlockMap, name)(here, *(self._its_own(part) for part in told))

        setattr(there, name, mirrored)

    def _its_own(self, part: Any) -> Any:
        """The same as the standby knows it."""
        namesystem = self.standby.namesystem
        if isinstance(part, Block):
            return namesystem.namespace.blocks[part.block_id]
        if isinstance(part, Storage):
            node = namesystem.datanode_manager.datanodes.get(part.node.identity.uuid)
            assert node is not None
            return node.storages[part.storage_id]
        if type(part) is tuple:
            return tuple(self._its_own(storage) for storage in part)
        return part


def facts(namesystem: Namesystem) -> dict[str, Any]:
    """All that a block map remembers, with what datanodes are to delete, as plain values.

    Blocks that are being recovered are left out of what needs work: only an active namenode
    recovers blocks, and no edit says so.
    """
    found = namesystem.block_manager.blocks
    needs = found.redundancy
    blocks = namesystem.namespace.blocks
    return {
        "blocks": {block_id: _block(namesystem, blocks[block_id]) for block_id in sorted(blocks)},
        "safe": found.safe_count,
        "changed": needs.changed - needs.left_open,
        "queues": [set(queue) - needs.left_open for queue in needs.queues],
        "corrupt": set(needs.corrupt),
        "open": _by_storage(found._open_reports),
        "future": _by_storage(found.postponed._by_block),
        "pipelines": set(found._known_pipelines),
        "awaited": {
            block_id: {node.identity.uuid for node in nodes}
            for block_id, nodes in found._awaited.items()
        },
        "nodes": {
            node.identity.uuid: _node(node) for node in namesystem.datanode_manager.datanodes
        },
    }


def _by_storage(reports: dict[int, dict[Storage, Any]]) -> dict[int, dict[str, Any]]:
    return {
        block_id: {storage.storage_id: told for storage, told in by_storage.items()}
        for block_id, by_storage in reports.items()
        if by_storage
    }


def _block(namesystem: Namesystem, block: Block) -> tuple[Any, ...]:
    return (
        block.state.name,
        block.length_bytes,
        block.generation_stamp,
        block.truncating,
        namesystem.namespace.measuring.wanted_replication(block),
        sorted(storage.storage_id for storage in block.replicas),
        sorted(storage.storage_id for storage in block.expected),
        sorted(
            (
                s.storage_id,
                s.corrupt[block.block_id].generation_stamp,
                s.corrupt[block.block_id].found_by_reader,
            )
            for s in block.corrupt
        ),
    )


def _node(node: Datanode) -> tuple[Any, ...]:
    invalidated = {
        block_id: (i.storage.storage_id, i.generation_stamp, i.is_excess, i.is_queued, i.is_sent)
        for block_id, i in node.invalidated.items()
    }
    held = {
        storage.storage_id: (sorted(storage.block_ids), storage.reported)
        for storage in node.storages.values()
    }
    return invalidated, len(node.orphaned), set(node.maybe_invalidated), held
