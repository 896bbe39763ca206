"""Where the blocks of a file are, from the tables and the datanodes to bytes (pure).

`GetBlockLocationsResponseProto` (fields and numbers: hdfs.proto and ClientNamenodeProtocol.proto of
Hadoop), as the handler of `getBlockLocations` would write it: nearest first, those that were not
heard of lately last, equals in any order. A datanode is described as bytes from heartbeat to
heartbeat (`messages.shown_datanode`). `block_locations_here` is the twin of the kernel's function.

Left to the handler are files that are written, blocks that are not complete, lack replicas, are
corrupt somewhere or cached, have more than three replicas or two on one node, and datanodes that
are leaving.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final, NamedTuple

from howdah.namenode.service.protocols.fast_path.file_status import Tables, find, path_of
from howdah.namenode.service.protocols.fast_path.located_block import located_block
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.inodes.block_table import (
    LENGTH,
    REPLICAS,
    STAMP,
    STORAGE_BITS,
    BlockState,
)
from howdah.namenode.state.inodes.block_table import WIDTH as BLOCK_WIDTH
from howdah.namenode.state.inodes.file_table import ATIME, BLOCK, TRAITS, WIDTH, Traits
from howdah.namenode.state.inodes.row_page import Page
from howdah.namenode.state.inodes.row_table import MASK, SHIFT
from howdah.namenode.state.tree.path_cache import Way
from howdah.native.loader import kernel
from howdah.protocol.varint import decode_varint, encode_field, encode_varint

_COMPLETE: Final = BlockState.COMPLETE << 1 | 1
_STORAGE_MASK: Final = (1 << STORAGE_BITS) - 1
_MAX_LOCATED: Final = 64

Found = bytes | Datanode | str | None
"""The answer; or what has to be supplied before it can be given: a datanode that is to be described
anew, or a rack to which the distance is to be measured. None where the handler has to look."""


class View(NamedTuple):
    """What one caller sees of the datanodes now."""

    pool_id: str
    storages: list[Storage]
    extras: Container[int]
    """The blocks of which there is more to tell than their replicas."""
    cached: Container[int]
    location: str
    """Where the caller is, and its name there."""
    name: str
    far: dict[str, int]
    """Distances from there to other racks."""
    now_ms: int
    stale_ms: int
    normal: AdminState
    dice: int
    """32 random bits."""
    touched_before_ms: int
    """Of a file that was read last before this the access time is to be set."""


_LONG_BYTES: Final = 9
"""A number that is not negative has no more, of 64 bits."""


class Lacking(Exception):
    """What has to be supplied; None where the handler has to look."""

    def __init__(self, what: Datanode | str | None) -> None:
        self.what = what


def _range_of(request: bytes, at: int) -> tuple[int, int] | None:
    """Offset and end of what is asked for, in fields 2 and 3, which follow the path."""
    numbers = []
    for tag in (0x10, 0x18):
        if at >= len(request) or request[at] != tag:
            return None
        at += 1
        found = decode_varint(request[: at + _LONG_BYTES], at)
        if found is None:
            return None  # Cut off, or below zero.
        number, at = found
        numbers.append(number)
    return (numbers[0], sum(numbers)) if at == len(request) else None


def _may_read(traits: Traits, user: str, groups: Sequence[str]) -> bool:
    if user == traits.owner:
        return bool(traits.mode & 0o400)
    return bool(traits.mode & (0o040 if traits.group in groups else 0o004))


def block_locations_here(
    request: bytes,
    ways: Mapping[str, Way],
    user: str,
    groups: Sequence[str],
    is_exempt: bool,
    tables: Tables,
    view: View,
) -> Found:
    """The answer to `getBlockLocations`, or what is lacking for it."""
    path, end = path_of(request) or ("", 0)
    asked = _range_of(request, end) if path else None
    if asked is None:
        return None
    inode_id = find(path, ways, user, groups, is_exempt, tables)
    if not isinstance(inode_id, int):
        return None
    page = tables[0].get(inode_id >> SHIFT)
    if not inode_id or page is None:
        return None
    at = (inode_id & MASK) * WIDTH
    if not page[at + TRAITS] & 1 or page[at + ATIME] < view.touched_before_ms:
        return None
    if not (is_exempt or _may_read(tables[1][page[at + TRAITS] >> 1], user, groups)):
        return None
    only = page[at + BLOCK]
    block_ids: Sequence[int] = (only,) if only > 0 else tables[3].get(inode_id, ())
    if only and not block_ids:
        return None
    try:
        return encode_field(b"\x0a", Locating(view, tables[4]).located(block_ids, *asked))
    except Lacking as lacking:
        return lacking.what


class Locating:
    """An answer in the making, of one file or of several. `places` counts what was told of blocks
    in ranges."""

    def __init__(self, view: View, pages: Mapping[int, Page]) -> None:
        self._view = view
        self._pages = pages
        self._dice = view.dice
        self.places = 0
        self._count = 0
        """Of the block looked at last."""

    def located(self, block_ids: Sequence[int], offset: int, end: int) -> bytes:
        """LocatedBlocksProto of a file: the blocks in the range, and its last one. Raises
        Lacking."""
        length = 0
        parts: list[bytes] = []
        last, begin = b"", 0
        for block_id in block_ids:
            page = self._pages.get(block_id >> SHIFT)
            at = (block_id & MASK) * BLOCK_WIDTH
            if page is None or page[at + LENGTH] < 0 or page[at + STAMP] & 7 != _COMPLETE:
                raise Lacking(None)
            begin, length = length, length + page[at + LENGTH]
            last = b""
            if begin < end and length > offset:
                if len(parts) == _MAX_LOCATED:
                    raise Lacking(None)
                last = self._block(block_id, page, at, begin)
                self.places += self._count
                parts.append(encode_field(b"\x12", last))
        parts.append(b"\x18\x00")  # Nobody writes it.
        if block_ids:
            last = last or self._block(block_id, page, at, begin)
            parts.append(encode_field(b"\x22", last))
        complete = b"\x28\x01" if block_ids else b"\x28\x00"
        return b"\x08" + encode_varint(length) + b"".join(parts) + complete

    def _block(self, block_id: int, page: Page | None, at: int, offset: int) -> bytes:
        """LocatedBlockProto of a block."""
        assert page is not None, "its row was just read"
        view = self._view
        packed = page[at + REPLICAS]
        if packed <= 0 or block_id in view.extras or block_id in view.cached:
            raise Lacking(None)
        places = []
        while packed:
            storage = view.storages[(packed & _STORAGE_MASK) - 1]
            places.append((*self._encoded_datanode(storage.node), storage))
            packed >>= STORAGE_BITS
        if len({storage.node for _, _, storage in places}) < len(places):
            raise Lacking(None)
        for count in range(len(places), 1, -1):
            self._dice = (self._dice * 6364136223846793005 + 1442695040888963407) & ((1 << 64) - 1)
            other = (self._dice >> 33) % count
            places[count - 1], places[other] = places[other], places[count - 1]
        places.sort(key=lambda place: place[0])
        self._count = len(places)
        return located_block(
            view.pool_id,
            block_id,
            page[at + STAMP] >> 3,
            page[at + LENGTH],
            offset,
            [(info, storage) for _, info, storage in places],
        )

    def _encoded_datanode(self, node: Datanode) -> tuple[tuple[bool, int], bytes]:
        """How far the node is from the caller, and how it is described."""
        view, shown = self._view, node.shown
        now = (
            node.last_heartbeat_ms,
            node.registrations,
            node.location,
            node.identity,
            node.admin_state,
            node.upgrade_domain,
        )
        if shown is None or now != shown[0]:
            raise Lacking(node)
        if node.admin_state is not view.normal:
            raise Lacking(None)
        far: int | None
        if node.location == view.location:
            far = 0 if node.identity.uuid == view.name else 2
        else:
            far = view.far.get(node.location)
            if far is None:
                raise Lacking(node.location)
        return (view.now_ms - node.last_heartbeat_ms > view.stale_ms, far), shown[2]


block_locations: Final[Callable[..., Found]] = getattr(
    kernel(), "block_locations", block_locations_here
)
