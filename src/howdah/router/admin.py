"""RouterAdminProtocol: the mount table, safe mode and nameservices, for administrators (shell).

The superuser, who runs the router or is in the superuser's group, may do everything. Others
may change a mount point that they may write, by its owner, group and mode, and add one below
such a mount point; they see those that they may read. Hadoop: RouterAdminServer,
RouterPermissionChecker, MountTableStoreImpl.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2
from howdah.proto import router_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Answer, Deferred, Service, snake_case
from howdah.router.calls.core import Core
from howdah.router.state.deferred import settle
from howdah.router.state.namenodes.identity import user_of
from howdah.router.state.table.mount_table import (
    QUOTA_NOT_SET,
    MountEntry,
    Quota,
    is_at_or_below,
    normalised,
)
from howdah.router.state.table.quotas import Usage
from howdah.router.state.table.records import entry_from_proto, entry_to_proto, to_uint64
from howdah.router.store.worker import StoreWorker

log = logging.getLogger(__name__)

PROTOCOL: Final = "org.apache.hadoop.hdfs.protocolPB.RouterAdminProtocol"
DESCRIPTOR: Final = pb.DESCRIPTOR.services_by_name["RouterAdminProtocolService"]
_READ, _WRITE = 4, 2


_KEEP_QUOTA: Final = (1 << 63) - 1
"""HdfsConstants.QUOTA_DONT_SET: of a request that is about a storage type."""


class RouterAdmin:
    """Answers the calls of administrators; what blocks runs on threads."""

    def __init__(
        self,
        core: Core,
        store: StoreWorker,
        reload: Callable[[], Awaitable[None]],
        *,
        permissions: bool,
        groups: Callable[[str], Sequence[str]],
        reload_proxy_users: Callable[[], Awaitable[None]],
    ) -> None:
        """`groups` are those of a user, and may block. `reload` reads the state store again,
        `reload_proxy_users` who may act for whom.
        Without `permissions` anybody may do all."""
        self._core = core
        self._store = store
        self._reload = reload
        self._permissions = permissions
        self._groups_of = groups
        self._reload_proxy_users = reload_proxy_users
        self._tasks: set[asyncio.Task[None]] = set()

    def service(self) -> Service:
        handlers = {}
        for method in DESCRIPTOR.methods:
            name = snake_case(method.name)
            handlers[name] = self._beginning(method.name, getattr(self, f"_{name}"))
        return Service(PROTOCOL, 1, DESCRIPTOR, SimpleNamespace(**handlers))

    def _beginning(
        self, method: str, work: Callable[[Any, Caller], Coroutine[Any, Any, Message]]
    ) -> Callable[[Any, Caller], Answer]:
        def begin(request: Message, caller: Caller) -> Answer:
            answer = Deferred()
            work_in_store = _in_store(method, work(request, caller))
            task = asyncio.create_task(settle(method, work_in_store, answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return answer

        return begin

    # -- who may -----------------------------------------------------------------------------

    async def _check_superuser(self, caller: Caller) -> None:
        if self._permissions and not await self._is_superuser(caller):
            raise errors.AccessDenied(f"{caller.user} is not a super user")

    async def _is_superuser(self, caller: Caller) -> bool:
        core = self._core
        return caller.user == core.superuser or core.supergroup in await self._groups(caller)

    async def _groups(self, caller: Caller) -> Sequence[str]:
        return await asyncio.to_thread(self._groups_of, caller.user)

    async def _may(self, caller: Caller, entry: MountEntry, bits: int) -> bool:
        if not self._permissions or await self._is_superuser(caller):
            return True
        shift = 0
        if caller.user == entry.owner:
            shift = 6
        elif entry.group in await self._groups(caller):
            shift = 3
        return (entry.mode >> shift) & bits == bits

    async def _check_may(self, caller: Caller, entry: MountEntry) -> None:
        if not await self._may(caller, entry, _WRITE):
            raise errors.AccessDenied(
                f"Permission denied while accessing mount table {entry.source}: "
                f"user {caller.user} does not have WRITE permissions."
            )

    async def _check_may_add(self, caller: Caller, source: str) -> None:
        """Others than the superuser add below a mount point that they may change."""
        above = source.rpartition("/")[0] or "/"
        parent = self._core.table.entry_of(above) if source != "/" else None
        if parent is None:
            raise errors.AccessDenied(
                f"Permission denied while accessing mount table {source}: "
                f"user {caller.user} does not have WRITE permissions."
            )
        await self._check_may(caller, parent)

    def _check_open(self) -> None:
        if self._core.safe_mode.store:
            raise errors.StandbyError("Mount table state store is not available.")

    # -- mount table -------------------------------------------------------------------------

    async def _add_mount_table_entry(
        self, request: pb.AddMountTableEntryRequestProto, caller: Caller
    ) -> Message:
        failed = await self._add([request.entry], caller)
        return pb.AddMountTableEntryResponseProto(status=not failed)

    async def _add_mount_table_entries(
        self, request: pb.AddMountTableEntriesRequestProto, caller: Caller
    ) -> Message:
        failed = await self._add(request.entry, caller)
        return pb.AddMountTableEntriesResponseProto(status=not failed, failedEntriesKeys=failed)

    async def _add(self, records: Iterable[pb.MountTableRecordProto], caller: Caller) -> list[str]:
        """The sources of those that there were before."""
        self._check_open()
        # Who may is what the store says, and not what this router knew. For others than the
        # superuser it depends on the entries above, which may have been added just before.
        await self._reload()
        is_superuser = not self._permissions or await self._is_superuser(caller)
        failed: list[str] = []
        is_known = True
        try:
            for record in records:
                entry = self._entry(record, caller)
                if not is_superuser:
                    if not is_known:
                        await self._reload()
                        is_known = True
                    await self._check_may_add(caller, entry.source)
                if not await self._add_one(entry, caller):
                    failed.append(record.srcPath)
                    continue
                is_known = False
                await self._set_quotas(None, entry, caller)
        finally:
            if not is_known:
                await self._reload()
        return failed

    async def _add_one(self, entry: MountEntry, caller: Caller) -> bool:
        now_ms = int(time.time() * 1000)
        stamped = replace(entry, created_ms=now_ms, modified_ms=now_ms)
        done = await self._store.run(lambda store: store.add_mount(stamped))
        if done:
            log.info("%s added the mount point %s", caller.user, entry)
        return done

    async def _update_mount_table_entry(
        self, request: pb.UpdateMountTableEntryRequestProto, caller: Caller
    ) -> Message:
        self._check_open()
        entry = self._entry(request.entry, caller)
        await self._reload()
        known = self._core.table.entries.get(entry.source)
        if known is None:
            return pb.UpdateMountTableEntryResponseProto(status=False)
        await self._check_may(caller, known)
        now_ms = int(time.time() * 1000)
        entry = replace(entry, created_ms=known.created_ms, modified_ms=now_ms)
        done = await self._store.run(lambda store: store.update_mount(entry))
        if done:
            log.info("%s changed the mount point %s to %s", caller.user, known, entry)
            await self._reload()
            await self._set_quotas(known, entry, caller)
        return pb.UpdateMountTableEntryResponseProto(status=done)

    def _entry(self, record: pb.MountTableRecordProto, caller: Caller) -> MountEntry:
        """Raises IllegalArgument for what cannot be an entry here."""
        entry = entry_from_proto(record)
        known = self._core.nameservices.members
        unknown = {destination.nameservice for destination in entry.destinations} - known.keys()
        if unknown:
            raise errors.IllegalArgument(
                f"Invalid entry, {', '.join(sorted(unknown))} is none of the nameservices of "
                f"this router ({', '.join(known)})"
            )
        core = self._core
        return replace(
            entry, owner=entry.owner or caller.user, group=entry.group or core.supergroup
        )

    async def _set_quotas(
        self, before: MountEntry | None, entry: MountEntry, caller: Caller
    ) -> None:
        """The destinations get the quota, too, as from who asked for it: whoever owns a mount point
        is no superuser of its nameservices. One that does not get it is told in the log: the
        router goes by the sum."""
        had = before is not None and before.quota.is_set
        if not self._core.quotas_enabled or (not entry.quota.is_set and not had):
            return
        if before is not None and before.quota == entry.quota:
            return
        nameservices = self._core.nameservices
        for destination in entry.destinations:
            for request in _quota_requests(destination.path, before, entry):
                try:
                    await nameservices.call(
                        destination.nameservice,
                        "setQuota",
                        request,
                        client_namenode_pb2.SetQuotaResponseProto,
                        nameservices.own_identity(user_of(caller)),
                    )
                except errors.HowdahError as error:
                    log.warning(
                        "the quota of %s is not set at %s: %s", entry.source, destination, error
                    )
        self._core.usage.setdefault(entry.source, Usage())

    async def _remove_mount_table_entry(
        self, request: pb.RemoveMountTableEntryRequestProto, caller: Caller
    ) -> Message:
        self._check_open()
        await self._reload()
        entry = self._core.table.entries.get(request.srcPath)
        if entry is None:
            return pb.RemoveMountTableEntryResponseProto(status=False)
        await self._check_may(caller, entry)
        done = await self._store.run(lambda store: store.remove_mount(entry.source))
        if done:
            log.info("%s removed the mount point %s", caller.user, entry)
            await self._reload()
        return pb.RemoveMountTableEntryResponseProto(status=done)

    async def _get_mount_table_entries(
        self, request: pb.GetMountTableEntriesRequestProto, caller: Caller
    ) -> Message:
        """Those at a path and below it."""
        self._check_open()
        await self._reload()
        core = self._core
        entries = []
        for source, entry in core.table.entries.items():
            if not is_at_or_below(source, request.srcPath or "/"):
                continue
            if await self._may(caller, entry, _READ):
                used = core.usage.get(source, Usage())
                entries.append(entry_to_proto(entry, used))
        return pb.GetMountTableEntriesResponseProto(
            entries=entries, timestamp=int(time.time() * 1000)
        )

    async def _get_destination(
        self, request: pb.GetDestinationRequestProto, caller: Caller
    ) -> Message:
        """Return the nameservices that have the path; if none has it, the one in which a new file
        would be made."""
        core = self._core
        path = normalised(request.srcPath) if request.srcPath.startswith("/") else request.srcPath
        resolution = core.find(path, caller)
        if resolution is None:
            raise errors.NoLocation(f"Cannot find locations for {path}")
        names = []
        for location in resolution.locations:
            try:
                if await core.status(location, caller) is not None:
                    names.append(location.nameservice)
            except errors.HowdahError as error:
                log.warning("%s at %s: %s", path, location.nameservice, error)
        if not names:
            names = [resolution.locations[0].nameservice]
        return pb.GetDestinationResponseProto(destinations=list(dict.fromkeys(names)))

    async def _refresh_mount_table_entries(
        self, request: pb.RefreshMountTableEntriesRequestProto, caller: Caller
    ) -> Message:
        await self._reload()
        return pb.RefreshMountTableEntriesResponseProto(result=True)

    async def _refresh_super_user_groups_configuration(
        self, request: Message, caller: Caller
    ) -> Message:
        """Raises InvalidConfiguration for what is no rule; then the rules stay as they were."""
        await self._check_superuser(caller)
        await self._reload_proxy_users()
        return pb.RefreshSuperUserGroupsConfigurationResponseProto(status=True)

    # -- safe mode ---------------------------------------------------------------------------

    async def _enter_safe_mode(self, request: Message, caller: Caller) -> Message:
        await self._check_superuser(caller)
        self._core.safe_mode.manual = True
        log.warning("%s turned safe mode on: nothing can be changed by this router", caller.user)
        return pb.EnterSafeModeResponseProto(status=True)

    async def _leave_safe_mode(self, request: Message, caller: Caller) -> Message:
        await self._check_superuser(caller)
        self._core.safe_mode.manual = self._core.safe_mode.store = False
        log.warning("%s turned safe mode off", caller.user)
        return pb.LeaveSafeModeResponseProto(status=True)

    async def _get_safe_mode(self, request: Message, caller: Caller) -> Message:
        return pb.GetSafeModeResponseProto(isInSafeMode=self._core.safe_mode.is_on)

    # -- nameservices ------------------------------------------------------------------------

    async def _disable_nameservice(
        self, request: pb.DisableNameserviceRequestProto, caller: Caller
    ) -> Message:
        await self._check_superuser(caller)
        name = request.nameServiceId
        if name not in self._core.nameservices.members:
            log.error("Cannot disable %s, it does not exist", name)
            return pb.DisableNameserviceResponseProto(status=False)
        await self._store.run(lambda store: store.disable(name))
        await self._reload()
        log.warning("%s disabled nameservice %s", caller.user, name)
        return pb.DisableNameserviceResponseProto(status=True)

    async def _enable_nameservice(
        self, request: pb.EnableNameserviceRequestProto, caller: Caller
    ) -> Message:
        await self._check_superuser(caller)
        name = request.nameServiceId
        done = await self._store.run(lambda store: store.enable(name))
        await self._reload()
        if done:
            log.warning("%s enabled nameservice %s", caller.user, request.nameServiceId)
        return pb.EnableNameserviceResponseProto(status=done)

    async def _get_disabled_nameservices(self, request: Message, caller: Caller) -> Message:
        await self._reload()
        return pb.GetDisabledNameservicesResponseProto(
            nameServiceIds=sorted(self._core.nameservices.disabled)
        )


async def _in_store(method: str, work: Coroutine[Any, Any, Message]) -> Message:
    try:
        return await work
    except errors.HowdahError:
        raise
    except OSError as error:
        raise errors.RemoteError(f"{method}: the state store failed: {error}") from error


def _quota_requests(
    path: str, before: MountEntry | None, entry: MountEntry
) -> Iterator[client_namenode_pb2.SetQuotaRequestProto]:
    """What makes the quota of a destination that of its entry; of types those that differ."""
    quota, had = entry.quota, Quota() if before is None else before.quota
    if (quota.names, quota.space_bytes) != (had.names, had.space_bytes) or not quota.by_type:
        yield client_namenode_pb2.SetQuotaRequestProto(
            path=path,
            namespaceQuota=to_uint64(quota.names),
            storagespaceQuota=to_uint64(quota.space_bytes),
        )
    limits, old = dict(quota.by_type), dict(had.by_type)
    for storage_type in sorted(limits.keys() | old.keys()):
        limit = limits.get(storage_type, QUOTA_NOT_SET)
        if limit != old.get(storage_type, QUOTA_NOT_SET):
            yield client_namenode_pb2.SetQuotaRequestProto(
                path=path,
                namespaceQuota=_KEEP_QUOTA,
                storagespaceQuota=to_uint64(limit),
                storageType=storage_type.name,
            )
