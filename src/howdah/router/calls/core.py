"""What the calls of a router share (shell): resolving, checking, asking destinations.

Destinations are asked one after the other until one knows the path, or all at once. An error
of a namenode comes back with its class, and with the router's paths. Where a path is nowhere
found, and a destination could not be asked, that is the error: the path may be there.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.state.methods import ANSWERS, QUOTA_COUNTS, is_write
from howdah.router.state.namenodes.identity import identity_of, user_of
from howdah.router.state.table import quotas
from howdah.router.state.table.hosts import Hosts
from howdah.router.state.table.mount_table import (
    Location,
    MountEntry,
    MountTable,
    Resolution,
    is_at_or_below,
    normalised,
)
from howdah.router.state.table.ordering import Surroundings, ordered
from howdah.router.state.table.translation import translate_error
from howdah.router.state.table.virtual_directories import Owner

M = TypeVar("M", bound=Message)

_UNAVAILABLE: Final = (errors.NoNamenodes, errors.Unreachable, errors.CallTimeout)
RESERVED: Final = "/.reserved"
OVER_TRASH: Final = frozenset(
    {
        "getFileInfo",
        "getFileLinkInfo",
        "getListing",
        "getContentSummary",
        "getQuotaUsage",
        "delete",
    }
)
"""Methods that see all of a user's trash, whichever nameservices it is in."""


@dataclass(slots=True)
class SafeMode:
    """Why the router refuses to change anything."""

    manual: bool = False
    store: bool = False
    """The state store could not be read for too long."""

    @property
    def is_on(self) -> bool:
        return self.manual or self.store


@dataclass(slots=True)
class Core:
    """The state of a router, which `state_store` and heartbeats keep up to date."""

    nameservices: Nameservices
    name: str
    superuser: str
    supergroup: str
    table: MountTable = field(default_factory=MountTable)
    usage: dict[str, quotas.Usage] = field(default_factory=dict)
    """What the destinations of entries with a quota use, by source."""
    safe_mode: SafeMode = field(default_factory=SafeMode)
    quotas_enabled: bool = False
    partial_listing: bool = True
    mount_status_timeout_s: float = 1.0
    default_nameservice: str = ""
    near: Callable[[str], Sequence[frozenset[str]]] = Hosts().near
    """Nameservices near the address of a caller, the nearest group first."""

    @property
    def owner(self) -> Owner:
        """Whose the directories above mount points are."""
        return Owner(self.superuser, self.supergroup)

    # -- where ---------------------------------------------------------------------------------

    def resolve(self, path: str, caller: Caller, method: str) -> Resolution:
        """Return where a path is, the first destination first; disabled nameservices are left out.

        Raises NoLocation, AccessDenied of what is read-only, QuotaExceeded.
        """
        resolution = self.find(path, caller)
        if method in OVER_TRASH:
            resolution = self._with_trash(path, resolution)
        if resolution is None:
            raise errors.NoLocation(
                f"Cannot find locations for {path} in the mount table of this router"
            )
        entry = resolution.entry
        if entry is not None and is_write(method):
            if entry.read_only:
                self.nameservices.figures.read_only += 1
                raise errors.AccessDenied(f"{path} is in a read only mount point")
            if self.quotas_enabled and method in QUOTA_COUNTS:
                self._check_quotas(resolution.path)
        return resolution

    def find(self, path: str, caller: Caller) -> Resolution | None:
        if is_at_or_below(normalised(path), RESERVED):
            raise errors.UnsupportedOperation(
                f"{path}: paths below {RESERVED} belong to one namenode; a router has none"
            )
        resolution = self.table.resolve(path)
        if resolution is None:
            return None
        enabled = tuple(
            location
            for location in resolution.locations
            if location.nameservice not in self.nameservices.disabled
        )
        if not enabled:
            return None
        if len(enabled) == 1:
            return (
                resolution
                if enabled == resolution.locations
                else replace(resolution, locations=enabled)
            )
        around = Surroundings(
            random.random(),
            self.near(caller.address),
            self.nameservices.available_bytes,
        )
        resolution = Resolution(resolution.path, resolution.entry, enabled)
        return Resolution(resolution.path, resolution.entry, ordered(resolution, around))

    def _with_trash(self, path: str, resolution: Resolution | None) -> Resolution | None:
        """Add the other nameservices that may have something at a trash path."""
        known = resolution or Resolution(normalised(path), None, ())
        others = tuple(
            trash_of_other
            for trash_of_other in self.table.trash_of_others(known)
            if trash_of_other.nameservice not in self.nameservices.disabled
        )
        return replace(known, locations=(*known.locations, *others)) if others else resolution

    def _check_quotas(self, path: str) -> None:
        for source, usage in self.usage.items():
            entry = self.table.entries.get(source)
            if entry is not None and (path == source or path.startswith(source.rstrip("/") + "/")):
                quotas.check(entry, usage)

    def check_no_mount(self, path: str) -> None:
        """Raises AccessDenied for a mount point, and for a directory with some below."""
        if path in self.table.entries:
            raise errors.AccessDenied(
                f"The operation is not allowed because the path: {path} is a mount point"
            )
        below = self.table.mounts(path)
        if below:
            raise errors.AccessDenied(
                f"The operation is not allowed because there are mount points: "
                f"{','.join(below)} under the path: {path}"
            )

    def check_writes(self, method: str) -> None:
        """Raises StandbyError in safe mode: another router may serve the call."""
        if self.safe_mode.is_on and is_write(method):
            self.nameservices.figures.safe_mode += 1
            raise errors.StandbyError(
                f"Router {self.name} is in safe mode and cannot handle WRITE requests"
            )

    # -- asking --------------------------------------------------------------------------------

    async def call_one(
        self,
        location: Location,
        method: str,
        request: Message,
        caller: Caller,
        *,
        field: str = "",
        part: str = "",
    ) -> Any:
        """The answer of one destination, with its path in a field of the request."""
        if field:
            request = with_value(request, field, location.path)
        if location.nth:
            part = f"{part}#{location.nth}"
        try:
            return await self.nameservices.call(
                location.nameservice,
                method,
                request,
                ANSWERS[method],
                identity_of(caller, part),
                seen=self.nameservices.required_txid(location.nameservice, method, caller),
            )
        except errors.HowdahError as error:
            known = translate_error(error, location, self.table)
            if known is error:
                raise
            raise known from error

    async def first(
        self,
        locations: Sequence[Location],
        method: str,
        request: Message,
        caller: Caller,
        *,
        field: str,
        is_found: Callable[[Any], bool] | None = None,
    ) -> tuple[Any, Location]:
        """The answer of the first destination that has one.

        If none has: what the first answered, or else an error, of those that could not be
        asked before those that do not know the path.
        """
        failures: list[errors.HowdahError] = []
        answered: tuple[Any, Location] | None = None
        for location in locations:
            try:
                answer = await self.call_one(location, method, request, caller, field=field)
            except errors.HowdahError as error:
                if len(locations) == 1:
                    raise
                failures.append(error)
                continue
            if is_found is None or is_found(answer):
                return answer, location
            answered = answered or (answer, location)
        unavailable = [failure for failure in failures if isinstance(failure, _UNAVAILABLE)]
        if unavailable:
            raise unavailable[0]
        if answered is not None:
            return answered
        raise worst(failures)

    async def call_all(
        self,
        locations: Sequence[Location],
        method: str,
        request: Message,
        caller: Caller,
        *,
        field: str = "",
    ) -> list[tuple[Location, Any | errors.HowdahError]]:
        """Return what every destination answers, or the error that it fails with."""

        async def one(location: Location) -> Any | errors.HowdahError:
            try:
                return await self.call_one(location, method, request, caller, field=field)
            except errors.HowdahError as error:
                return error

        outcomes = await asyncio.gather(*(one(location) for location in locations))
        return list(zip(locations, outcomes, strict=True))

    async def every(
        self,
        resolution: Resolution,
        method: str,
        request: Message,
        caller: Caller,
        *,
        field: str,
    ) -> list[Any]:
        """The answers of all destinations that know the path; at least one.

        Raises the first error of those that could not do it. A fault-tolerant mount point does
        without nameservices that cannot be reached.
        """
        done = await self.call_all(resolution.locations, method, request, caller, field=field)
        return answers_of(done, is_tolerant(resolution.entry))

    async def status(
        self, location: Location, caller: Caller, timeout_s: float | None = None
    ) -> types_pb2.HdfsFileStatusProto | None:
        """What is at a destination, asked by the router for itself."""
        answer = await self.nameservices.call(
            location.nameservice,
            "getFileInfo",
            pb.GetFileInfoRequestProto(src=location.path),
            pb.GetFileInfoResponseProto,
            self.nameservices.own_identity(user_of(caller)),
            timeout_s=timeout_s,
        )
        return answer.fs if answer.HasField("fs") else None

    async def statuses(
        self, locations: Sequence[Location], caller: Caller
    ) -> list[tuple[Location, types_pb2.HdfsFileStatusProto | errors.HowdahError | None]]:
        """Return the status at each destination, None where nothing is, or the error if it cannot
        be asked."""

        async def one(
            location: Location,
        ) -> types_pb2.HdfsFileStatusProto | errors.HowdahError | None:
            try:
                return await self.status(location, caller)
            except errors.PathNotFound:
                return None
            except errors.HowdahError as error:
                return translate_error(error, location, self.table)

        outcomes = await asyncio.gather(*(one(location) for location in locations))
        return list(zip(locations, outcomes, strict=True))

    async def existing(
        self,
        locations: Sequence[Location],
        caller: Caller,
        *,
        file_id: int = 0,
        tolerant: bool = False,
    ) -> Location | None:
        """Return the first destination in which something is at the path (with this id, if one is
        given); None if all of them say that nothing is.

        Where nothing is found and a destination could not say, its failure is raised: the path
        may be there. With `tolerant` those that cannot be reached do not count, if others answer.
        """
        statuses = await self.statuses(locations, caller)
        failures = []
        for location, status in statuses:
            if isinstance(status, errors.HowdahError):
                failures.append(status)
            elif status is not None and file_id in (0, status.fileId):
                return location
        grave = [failure for failure in failures if not (tolerant and is_unavailable(failure))]
        if grave or len(failures) == len(locations):
            raise (grave or failures)[0]
        return None

    async def reached(
        self, resolution: Resolution, caller: Caller, *, tolerant: bool | None = None
    ) -> list[tuple[Location, types_pb2.HdfsFileStatusProto | None]]:
        """Return the destinations that answer, and what is there: before a change in all of them.

        Raises the failure of one that does not, so that the others are not changed alone. A
        fault-tolerant mount point does without those that cannot be reached.
        """
        if tolerant is None:
            tolerant = is_tolerant(resolution.entry)
        outcomes = await self.statuses(resolution.locations, caller)
        failures = [outcome for _, outcome in outcomes if isinstance(outcome, errors.HowdahError)]
        grave = [failure for failure in failures if not (tolerant and is_unavailable(failure))]
        if grave or len(failures) == len(outcomes):
            raise (grave or failures)[0]
        return [
            (at, outcome) for at, outcome in outcomes if not isinstance(outcome, errors.HowdahError)
        ]

    async def holding(
        self, resolution: Resolution, caller: Caller, *, tolerant: bool | None = None
    ) -> tuple[Location, ...]:
        """Return the destinations that have the path, of those that `reached` gives; all of these
        where none has it, since they know what to say."""
        reached = await self.reached(resolution, caller, tolerant=tolerant)
        places = tuple(at for at, status in reached if status is not None)
        if not places and len(reached) < len(resolution.locations):
            # It may be in one that cannot be reached.
            await self.reached(resolution, caller, tolerant=False)
        return places or tuple(at for at, _ in reached)


def with_value(request: M, field: str, value: Any) -> M:
    """A copy with another value in a field."""
    copy = type(request)()
    copy.CopyFrom(request)
    setattr(copy, field, value)
    return copy


def is_tolerant(entry: MountEntry | None) -> bool:
    return entry is not None and entry.fault_tolerant


def not_repeated(refusal: errors.HowdahError, outcome: str) -> errors.HowdahError:
    """The refusal of a call whose first parts were undone: none after which a client sends the same
    call again. The retry cache of a namenode that was changed back would answer that all is done.

    `outcome` says what happened to those parts.
    """
    if isinstance(refusal, (*_UNAVAILABLE, errors.StandbyError, errors.RetriableError)):
        return errors.RemoteError(f"{refusal.message}; {outcome}")
    return refusal


def is_unavailable(error: object) -> bool:
    """The nameservice cannot be reached; nobody said what is there."""
    return isinstance(error, _UNAVAILABLE)


def worst(failures: Sequence[errors.HowdahError]) -> errors.HowdahError:
    """The first that says more than that the path is not there."""
    others = [failure for failure in failures if not isinstance(failure, errors.PathNotFound)]
    return (others or list(failures))[0]


def answers_of(
    done: Sequence[tuple[Location, Any | errors.HowdahError]], tolerant: bool
) -> list[Any]:
    """Return the answers of destinations that know the path. Raises what the others failed with."""
    answers = [outcome for _, outcome in done if not isinstance(outcome, errors.HowdahError)]
    failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
    grave = [
        failure
        for failure in failures
        if not isinstance(failure, errors.PathNotFound)
        and not (tolerant and is_unavailable(failure))
    ]
    if grave:
        raise grave[0]
    if not answers:
        raise worst(failures)
    return answers
