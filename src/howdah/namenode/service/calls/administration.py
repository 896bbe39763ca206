"""Calls of administrators about the cluster as a whole (pure).

Hadoop's `DatanodeManager.refreshNodes`, `FSNamesystem.listCorruptFileBlocks` and
`metaSave`: which datanodes may take part, how fast they may move blocks, which blocks
are lost, and a dump of what the namenode knows. All of it is for superusers. Reading and
writing files is the shell's part: `AdministrationFiles` does it while other calls are served.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.namenode.service.calls.metasave import metasave
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.host_lists import Hosts
from howdah.namenode.state.blocks.redundancy import Need
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.inodes import limits, paths
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller

MAX_CORRUPT_FILES: Final = 100
_COOKIE: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_BEFORE_ALL_IDS: Final = -(1 << 63)
SLICE_BLOCKS: Final = 10_000

Done = Callable[[errors.HowdahError | None], None]


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """What files say of datanodes: which may take part, and where they are."""

    hosts: Hosts
    racks: RackMap


class AdministrationFiles(Protocol):
    """What waits for files and name servers, beside the loop."""

    def read_node_files(self, done: Callable[[NodeFiles | errors.HowdahError], None]) -> None:
        """Read the host files and the table of racks anew, and call back on the loop."""

    def read_events(
        self, from_txid: int, done: Callable[[pb.EventsListProto | errors.HowdahError], None]
    ) -> None:
        """What happened from this transaction on, as far as it is durable."""

    def write_log_file(self, name: str, text: str, done: Done) -> None:
        """Write a file into the log directory, and call back on the loop."""


class Administration:
    """The operations; `files` is None where there are no files."""

    def __init__(self, namesystem: Namesystem, files: AdministrationFiles | None = None) -> None:
        self._namesystem = namesystem
        self.files = files

    def check_superuser(self, caller: Caller, action: str) -> None:
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(namesystem.identities.of(caller.user), action)

    def _files(self, action: str) -> AdministrationFiles:
        if self.files is None:
            raise errors.UnsupportedOperation(f"there are no files here: cannot {action}")
        return self.files

    # Datanodes.

    def read_node_files(
        self, caller: Caller, done: Callable[[NodeFiles | errors.HowdahError], None]
    ) -> None:
        """Read them; `apply_hosts` and `DatanodeManager.apply_racks` are what to do with them."""
        self.check_superuser(caller, "refresh the datanodes")
        self._files("refresh the datanodes").read_node_files(done)

    def apply_hosts(self, hosts: Hosts) -> None:
        """From now on these are the lists."""
        self._namesystem.datanode_manager.apply_hosts(hosts)
        self._namesystem.update_safe_mode()

    def set_balancer_bandwidth(self, caller: Caller, bytes_per_second: int) -> None:
        """Each live datanode is told so with its next heartbeat."""
        self.check_superuser(caller, "set the balancer's bandwidth")
        for node in self._namesystem.datanode_manager.datanodes.live():
            node.new_bandwidth = bytes_per_second

    # What happens.

    def read_events(
        self,
        caller: Caller,
        from_txid: int,
        done: Callable[[pb.EventsListProto | errors.HowdahError], None],
    ) -> None:
        """The events of the edits from this transaction on; one answer's worth."""
        self.check_superuser(caller, "watch the namespace")
        self._files("watch the namespace").read_events(from_txid, done)

    def last_txid(self, caller: Caller) -> int:
        self.check_superuser(caller, "watch the namespace")
        return self._namesystem.last_txid

    # Blocks.

    def corrupt_files(
        self, caller: Caller, path: str, cookie: str
    ) -> Generator[None, None, tuple[list[str], str]]:
        """Files below `path` with a block of which no good replica is left, one page of
        them, and the cookie for the next one. In slices: there may be many blocks in
        question."""
        self.check_superuser(caller, "list corrupt files")
        namesystem = self._namesystem
        if namesystem.safe_mode.on and not namesystem.safe_mode.manual:
            raise errors.RemoteError(
                "Cannot run listCorruptFileBlocks because replication queues have not been "
                "initialized."
            )
        top = paths.join(paths.split(path or "/"))
        after = _id_of(cookie) if cookie else _BEFORE_ALL_IDS
        lost: list[int] = []
        yield from namesystem.block_manager.reconstruction.sort()
        for number, block_id in enumerate(
            namesystem.block_manager.blocks.redundancy.queues[Need.MISSING], 1
        ):
            block = namesystem.namespace.blocks.get(block_id)
            if block_id > after and block is not None and not block.is_available:
                lost.append(block_id)
            if number % SLICE_BLOCKS == 0:
                yield
        paths_of_page: list[str] = []
        for block_id in sorted(lost):
            block = namesystem.namespace.blocks.get(block_id)
            if block is None or not namesystem.namespace.is_attached(
                namesystem.namespace.file_of(block)
            ):
                continue
            file_path = namesystem.namespace.file_of(block).path
            if file_path == top or paths.is_under(file_path, top):
                if len(paths_of_page) == MAX_CORRUPT_FILES:
                    break
                paths_of_page.append(file_path)
                after = block_id
        return paths_of_page, str(after) if paths_of_page else cookie or "0"

    def save_meta(self, caller: Caller, name: str, done: Done) -> None:
        """Write what is known of datanodes and blocks to a file of the log directory."""
        self.check_superuser(caller, "save the metadata as text")
        if not name or name in (".", "..") or "/" in name or "\0" in name:
            raise errors.IllegalArgument(f"{name!r} is not the name of a file in the log directory")
        self._files("save the metadata as text").write_log_file(
            name, metasave(self._namesystem), done
        )


def _id_of(cookie: str) -> int:
    """The id of the last block that was listed. Raises IllegalArgument for what is none."""
    block_id = int(cookie) if _COOKIE.fullmatch(cookie) else -1
    if block_id < 0 and limits.wrong_group_id(block_id) is not None:
        raise errors.IllegalArgument(f"{cookie!r} is no cookie of this call")
    return block_id
