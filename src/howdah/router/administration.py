"""What `howdah routeradmin` asks of a router: RouterAdminProtocol, from its client's side (shell).

Hadoop: RouterClient, MountTableManager, RouterStateManager, NameserviceManager.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace

from howdah.config import Configuration, keys
from howdah.config.value_types import Address
from howdah.proto import refresh_pb2
from howdah.proto import router_pb2 as pb
from howdah.router.admin import PROTOCOL
from howdah.router.state.refreshing import CALL_QUEUE, GENERIC
from howdah.router.state.table.mount_table import MountEntry
from howdah.router.state.table.quotas import Usage
from howdah.router.state.table.records import (
    consumed_by_type,
    entry_from_proto,
    entry_to_proto,
    from_lines,
    from_uint64,
)
from howdah.router.store.factory import store_at, store_place
from howdah.router.store.state_store import DISABLED, MOUNT_TABLE
from howdah.rpc.client import RpcClient
from howdah.runtime.users.groups import groups_from
from howdah.security.identity import user_of


class Administration:
    """Calls one router's admin port. Every method raises what the router raises, and
    Unreachable."""

    def __init__(self, conf: Configuration) -> None:
        self.address = conf.get(keys.DFS_FEDERATION_ROUTER_ADMIN_ADDRESS)
        self._rpc = RpcClient(self.address, PROTOCOL, user=user_of(conf))
        self.user = self._rpc.user
        self._groups = groups_from(conf)

    @property
    def location(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    @property
    def group(self) -> str:
        """The first group of who asks."""
        return self._groups.primary(self.user)

    def close(self) -> None:
        self._rpc.close()

    # -- mount table -----------------------------------------------------------------------

    def entries(self, path: str) -> list[tuple[MountEntry, Usage]]:
        """Those at a path and below it that the caller may read, and what they use."""
        answer = self._rpc.call(
            "getMountTableEntries",
            pb.GetMountTableEntriesRequestProto(srcPath=path),
            pb.GetMountTableEntriesResponseProto,
        )
        return [
            (
                entry_from_proto(entry),
                Usage(
                    from_uint64(entry.quota.fileAndDirectoryCount),
                    from_uint64(entry.quota.spaceConsumed),
                    consumed_by_type(entry.quota),
                ),
            )
            for entry in answer.entries
        ]

    def entry(self, path: str) -> MountEntry | None:
        return next((entry for entry, _ in self.entries(path) if entry.source == path), None)

    def add(self, entry: MountEntry) -> bool:
        # Hadoop's routers refuse an entry without its times, and keep those that it has.
        now_ms = int(time.time() * 1000)
        entry = replace(entry, created_ms=now_ms, modified_ms=now_ms)
        request = pb.AddMountTableEntryRequestProto(entry=entry_to_proto(entry))
        answer = self._rpc.call("addMountTableEntry", request, pb.AddMountTableEntryResponseProto)
        return answer.status

    def add_all(self, entries: list[MountEntry]) -> list[str]:
        """The sources of those that could not be added."""
        now_ms = int(time.time() * 1000)
        request = pb.AddMountTableEntriesRequestProto(
            entry=[
                entry_to_proto(replace(entry, created_ms=now_ms, modified_ms=now_ms))
                for entry in entries
            ]
        )
        answer = self._rpc.call(
            "addMountTableEntries", request, pb.AddMountTableEntriesResponseProto
        )
        return [] if answer.status else list(answer.failedEntriesKeys)

    def update(self, entry: MountEntry) -> bool:
        entry = replace(entry, modified_ms=int(time.time() * 1000))
        request = pb.UpdateMountTableEntryRequestProto(entry=entry_to_proto(entry))
        answer = self._rpc.call(
            "updateMountTableEntry", request, pb.UpdateMountTableEntryResponseProto
        )
        return answer.status

    def remove(self, source: str) -> bool:
        request = pb.RemoveMountTableEntryRequestProto(srcPath=source)
        answer = self._rpc.call(
            "removeMountTableEntry", request, pb.RemoveMountTableEntryResponseProto
        )
        return answer.status

    def destinations(self, path: str) -> list[str]:
        """The nameservices in which a path is."""
        request = pb.GetDestinationRequestProto(srcPath=path)
        answer = self._rpc.call("getDestination", request, pb.GetDestinationResponseProto)
        return list(answer.destinations)

    def refresh(self) -> bool:
        answer = self._rpc.call(
            "refreshMountTableEntries",
            pb.RefreshMountTableEntriesRequestProto(),
            pb.RefreshMountTableEntriesResponseProto,
        )
        return answer.result

    # -- what is read anew -------------------------------------------------------------------

    def refresh_super_user_groups(self) -> bool:
        return self._rpc.call(
            "refreshSuperUserGroupsConfiguration",
            pb.RefreshSuperUserGroupsConfigurationRequestProto(),
            pb.RefreshSuperUserGroupsConfigurationResponseProto,
        ).status

    def refresh_call_queue(self) -> None:
        with contextlib.closing(RpcClient(self.address, CALL_QUEUE, user=self.user)) as rpc:
            request = refresh_pb2.RefreshCallQueueRequestProto()
            rpc.call("refreshCallQueue", request, refresh_pb2.RefreshCallQueueResponseProto)

    # -- safe mode and nameservices --------------------------------------------------------

    def enter_safe_mode(self) -> bool:
        request = pb.EnterSafeModeRequestProto()
        return self._rpc.call("enterSafeMode", request, pb.EnterSafeModeResponseProto).status

    def leave_safe_mode(self) -> bool:
        request = pb.LeaveSafeModeRequestProto()
        return self._rpc.call("leaveSafeMode", request, pb.LeaveSafeModeResponseProto).status

    def is_in_safe_mode(self) -> bool:
        request = pb.GetSafeModeRequestProto()
        return self._rpc.call("getSafeMode", request, pb.GetSafeModeResponseProto).isInSafeMode

    def disable(self, nameservice: str) -> bool:
        request = pb.DisableNameserviceRequestProto(nameServiceId=nameservice)
        answer = self._rpc.call("disableNameservice", request, pb.DisableNameserviceResponseProto)
        return answer.status

    def enable(self, nameservice: str) -> bool:
        request = pb.EnableNameserviceRequestProto(nameServiceId=nameservice)
        return self._rpc.call(
            "enableNameservice", request, pb.EnableNameserviceResponseProto
        ).status

    def disabled(self) -> list[str]:
        request = pb.GetDisabledNameservicesRequestProto()
        answer = self._rpc.call(
            "getDisabledNameservices", request, pb.GetDisabledNameservicesResponseProto
        )
        return list(answer.nameServiceIds)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What one handler on a server says of a generic refresh."""

    sender: str | None
    message: str | None
    code: int

    def __str__(self) -> str:
        sender = "" if self.sender is None else f"{self.sender}: "
        return f"{sender}{self.message or ''} (exit {self.code})"


def generic_refresh(
    address: Address, identifier: str, arguments: list[str], user: str
) -> list[Refreshed]:
    """Have whatever is registered under a name on any server of Hadoop's read its settings
    anew. Raises what the server raises, and Unreachable."""
    with contextlib.closing(RpcClient(address, GENERIC, user=user)) as rpc:
        request = refresh_pb2.GenericRefreshRequestProto(identifier=identifier, args=arguments)
        kind = refresh_pb2.GenericRefreshResponseCollectionProto
        return [
            Refreshed(
                response.senderName if response.HasField("senderName") else None,
                response.userMessage if response.HasField("userMessage") else None,
                response.exitStatus,
            )
            for response in rpc.call("refresh", request, kind).responses
        ]


def dumped_store(conf: Configuration) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every kind of record of the state store, with the key and the text of each record.

    The store is read as it is, without a router. Raises InvalidConfiguration, OSError,
    IllegalArgument.
    """
    mounts, disabled = [], []
    with contextlib.closing(store_at(store_place(conf))) as store:
        for _, data in store.records.read(MOUNT_TABLE):
            mount = from_lines(data, pb.MountTableRecordProto)
            mounts.append((mount.srcPath, str(mount)))
        for _, data in store.records.read(DISABLED):
            record = from_lines(data, pb.DisabledNameserviceRecordProto)
            disabled.append((record.nameServiceId, str(record)))
    return [(DISABLED, disabled), (MOUNT_TABLE, mounts)]
