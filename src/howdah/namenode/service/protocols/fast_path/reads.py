"""The reads of ClientProtocol that are answered by their bytes (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from howdah.namenode.service.calls.namespace_reads import Listing
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.fast_path import file_status, listing, locations
from howdah.namenode.state.blocks import topology
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.inodes.directory import Directory
from howdah.protocol.rpc.fast_path import Quick

_MOST_LACKING: Final = 400
"""Of one answer: more than the datanodes and racks that it can name."""
_MAX_CALLERS: Final = 1000
"""Places from which callers ask, whose distances are kept."""
_LONG_AGO_MS: Final = -(1 << 63)


class FastReads:
    """Of one namenode. `methods` has them by their names."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._redundancy = namesystem.block_manager.blocks.redundancy
        self._datanode_manager = namesystem.datanode_manager
        self._datanodes = namesystem.datanode_manager.datanodes
        self._role = namesystem.role
        self._tables = file_status.TablesNow(namesystem)
        self._far: dict[tuple[str, str], dict[str, int]] = {}
        self.file_info_by = file_status.file_info
        self.block_locations_by = locations.block_locations
        self.list_entries_by = listing.list_entries
        """The kernel's, or its twin."""
        self.methods: Final[Mapping[str, Quick]] = {
            "getFileInfo": self.file_info,
            "getBlockLocations": self.block_locations,
        }

    def file_info(self, request: bytes, user: str, address: str) -> bytes | None:
        """As `QueryMethods.get_file_info`."""
        namesystem = self._namesystem
        who = namesystem.identities.of(user)
        return self.file_info_by(
            request,
            namesystem.namespace.known_ways(),
            user,
            who.groups,
            namesystem.permissions.is_exempt(who),
            self._tables.now(),
        )

    def block_locations(self, request: bytes, user: str, address: str) -> bytes | None:
        """As `QueryMethods.get_block_locations`."""
        namesystem = self._namesystem
        settings = namesystem.settings
        is_plain = self._role.writable and not (
            namesystem.block_tokens is not None or settings.cache_adaptive
        )
        if not is_plain or not self._tells_plainly(address):
            return None
        who = namesystem.identities.of(user)
        arguments = (
            request,
            namesystem.namespace.known_ways(),
            user,
            who.groups,
            namesystem.permissions.is_exempt(who),
            self._tables.now(),
            self._view(address),
        )
        for _ in range(_MOST_LACKING):
            found = self.block_locations_by(*arguments)
            if found is None or isinstance(found, bytes):
                return found
            self._supply(found, arguments[-1])
        return None

    def list_entries(
        self, page: Listing, at: int, address: str | None, places_left: int
    ) -> tuple[bytes, int, int]:
        """Entries of a page that are plain, from the place `at` on and as many as follow each
        other: their bytes, the place of the next entry, and how many places of blocks may still be
        told. `address` is that of the caller, None where nobody asks for blocks."""
        if page.zone is not None or not (address is None or self._tells_plainly(address)):
            return b"", at, places_left
        arguments = (
            Directory if page.has_plain_directories else None,
            page.policy_above,
            self._tables.now(),
            None if address is None else self._view(address),
        )
        parts: list[bytes] = []
        for _ in range(_MOST_LACKING):
            some, at, places_left, lacking = self.list_entries_by(
                page.names, page.entries, at, *arguments, places_left
            )
            parts.append(some)
            if lacking is None:
                break
            assert arguments[-1] is not None, "datanodes are lacking where they are asked for"
            self._supply(lacking, arguments[-1])
        return b"".join(parts), at, places_left

    def _tells_plainly(self, address: str) -> bool:
        """Whether places of blocks depend on nothing but the caller's place and their datanodes."""
        settings = self._namesystem.settings
        return bool(address) and not (
            settings.avoid_slow_for_reading or self._redundancy.out_of_service
        )

    def _view(self, address: str) -> locations.View:
        namesystem = self._namesystem
        blocks = namesystem.namespace.inodes.files.blocks
        client = self._datanodes.by_ip(address)
        if client is None:
            name, location = address, self._datanode_manager.racks.client_location(address)
        else:
            name, location = client.identity.uuid, client.location
        far = self._far.get((location, name))
        if far is None:
            if len(self._far) >= _MAX_CALLERS:
                self._far.clear()
            far = self._far[location, name] = {}
        precision_ms = namesystem.settings.atime_precision_ms
        keeps_times = precision_ms and not namesystem.safe_mode.on
        return locations.View(
            namesystem.settings.block_pool_id,
            blocks.storages,
            blocks.extras,
            namesystem.caching.planner.cached_blocks,
            location,
            name,
            far,
            namesystem.clock.monotonic_ms(),
            self._datanodes.stale_ms,
            AdminState.NORMAL,
            namesystem.dice.getrandbits(32),
            namesystem.clock.wall_ms() - precision_ms if keeps_times else _LONG_AGO_MS,
        )

    @staticmethod
    def _supply(lacking: Datanode | str, view: locations.View) -> None:
        if isinstance(lacking, str):
            view.far[lacking] = topology.distance(view.location, view.name, lacking, "")
        else:
            encoders.describe(lacking)
