"""Calls that look at directories over all their destinations and mount points (shell)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core, answers_of, is_tolerant, is_unavailable, with_value
from howdah.router.calls.paths import translate
from howdah.router.state.namenodes.identity import user_of
from howdah.router.state.table import merging
from howdah.router.state.table.mount_table import (
    Location,
    MountEntry,
    Resolution,
    joined,
    normalised,
)
from howdah.router.state.table.pages import NameOrder, Page, merged, order_seen
from howdah.router.state.table.quotas import Usage
from howdah.router.state.table.records import consumed_by_type, type_quotas_to_proto
from howdah.router.state.table.translation import translate_error
from howdah.router.state.table.virtual_directories import virtual_status

Status = types_pb2.HdfsFileStatusProto
_StatusRequest = pb.GetFileInfoRequestProto | pb.GetFileLinkInfoRequestProto

_BATCH: Final = 1000
"""Entries of one answer for several directories."""
_MOST_PATHS: Final = 10_000


class ListingCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    # -- what is at a path ---------------------------------------------------------------------

    async def get_file_info(self, request: pb.GetFileInfoRequestProto, caller: Caller) -> Message:
        status = await self._status_or_virtual(request, "getFileInfo", caller)
        return pb.GetFileInfoResponseProto(fs=status)

    async def get_file_link_info(
        self, request: pb.GetFileLinkInfoRequestProto, caller: Caller
    ) -> Message:
        status = await self._status_or_virtual(request, "getFileLinkInfo", caller)
        return pb.GetFileLinkInfoResponseProto(fs=status)

    async def _status_or_virtual(
        self, request: _StatusRequest, method: str, caller: Caller
    ) -> Status | None:
        """Return what is at a path; for a directory above mount points a status of our own if no
        namenode has it."""
        core = self._core
        children = core.table.mounts(_normal(request.src))
        status: Status | None = None
        try:
            resolution = core.resolve(request.src, caller, method)
            status = await self._status(resolution, request, method, caller)
        except errors.NoLocation:
            if children is None:
                raise
        except errors.HowdahError as error:
            # A mount point is there, whatever became of its nameservice.
            if children is None or not is_unavailable(error):
                raise
        if status is None and children is not None:
            status = virtual_status(
                core.table, core.owner, _normal(request.src), len(children), b""
            )
        return status

    async def _status(
        self, resolution: Resolution, request: _StatusRequest, method: str, caller: Caller
    ) -> Status | None:
        core = self._core
        if not resolution.is_all:
            answer, location = await core.first(
                resolution.locations,
                method,
                request,
                caller,
                field="src",
                is_found=lambda outcome: bool(outcome.HasField("fs")),
            )
            translate(core, answer, location)
            return answer.fs if answer.HasField("fs") else None
        done = await core.call_all(resolution.locations, method, request, caller, field="src")
        statuses = [
            outcome.fs
            for _, outcome in done
            if not isinstance(outcome, errors.HowdahError) and outcome.HasField("fs")
        ]
        failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
        if not statuses and failures:
            raise failures[0]
        return merging.statuses(statuses)

    async def _mount_point(self, path: str, caller: Caller) -> Status:
        """Return the status of a mount point in a listing: that of its destination if it answers
        soon."""
        core = self._core
        name = path.rpartition("/")[2].encode("utf-8", "surrogateescape")
        children = core.table.mounts(path) or ()
        status = virtual_status(core.table, core.owner, path, len(children), name)
        resolution = core.find(path, caller) if path in core.table.entries else None
        if resolution is None:
            return status
        timeout_s = core.mount_status_timeout_s
        answers = await asyncio.gather(
            *(core.status(location, caller, timeout_s) for location in resolution.locations),
            return_exceptions=True,
        )
        real = merging.statuses([answer for answer in answers if isinstance(answer, Status)])
        if real is not None and real.fileType == Status.IS_DIR:
            status.permission.CopyFrom(real.permission)
            status.owner, status.group = real.owner, real.group
            status.childrenNum = max(real.childrenNum, len(children))
            status.modification_time = real.modification_time
            status.flags = real.flags
        return status

    # -- listings ------------------------------------------------------------------------------

    async def get_listing(self, request: pb.GetListingRequestProto, caller: Caller) -> Message:
        page = await self._page(request, caller)
        if page is None:
            return pb.GetListingResponseProto()
        return pb.GetListingResponseProto(
            dirList=types_pb2.DirectoryListingProto(
                partialListing=[entry for _, entry in page.entries],
                remainingEntries=page.remaining,
            )
        )

    async def _page(
        self, request: pb.GetListingRequestProto, caller: Caller
    ) -> Page[Status] | None:
        """Return a page, or None where nothing is. Raises what destinations fail with, unless there
        is more to show and partial listings are allowed."""
        core = self._core
        path = _normal(request.src)
        children = core.table.mounts(path)
        pages, failures = await self._pages(request, caller)
        grave = [failure for failure in failures if not isinstance(failure, errors.PathNotFound)]
        may_miss = core.partial_listing and (pages or children is not None)
        if grave and not (may_miss and all(is_unavailable(error) for error in grave)):
            raise grave[0]
        if not pages and children is None:
            if failures:
                raise failures[0]
            return None
        mounts = await asyncio.gather(
            *(self._mount_point(joined(path, f"/{name}"), caller) for name in children or ())
        )
        by_name = {mount.path: mount for mount in mounts}
        listed = [page for _, page in pages]
        order = order_seen(listed, by_name, request.startAfter)
        if order is None and pages:
            place, _ = max(pages, key=lambda listing: len(listing[1].entries))
            order = await self._order_at(place, caller)
        return merged(listed, by_name, request.startAfter, order)

    async def _order_at(self, place: Location, caller: Caller) -> NameOrder:
        """Ask a destination how it compares names. Raises what it fails with."""
        nameservices = self._core.nameservices
        answer = await nameservices.call(
            place.nameservice,
            "getServerDefaults",
            pb.GetServerDefaultsRequestProto(),
            pb.GetServerDefaultsResponseProto,
            nameservices.own_identity(user_of(caller)),
        )
        is_unsigned = answer.serverDefaults.listsByUnsignedBytes
        return NameOrder.UNSIGNED if is_unsigned else NameOrder.SIGNED

    async def _pages(
        self, request: pb.GetListingRequestProto, caller: Caller
    ) -> tuple[list[tuple[Location, Page[Status]]], list[errors.HowdahError]]:
        core = self._core
        try:
            resolution = core.resolve(request.src, caller, "getListing")
        except errors.NoLocation as error:
            return [], [error]
        done = await core.call_all(resolution.locations, "getListing", request, caller, field="src")
        pages = []
        failures = []
        for location, answer in done:
            if isinstance(answer, errors.HowdahError):
                failures.append(answer)
            elif answer.HasField("dirList"):
                entries = [(status.path, status) for status in answer.dirList.partialListing]
                pages.append((location, Page(entries, answer.dirList.remainingEntries)))
        return pages, failures

    async def get_batched_listing(
        self, request: pb.GetBatchedListingRequestProto, caller: Caller
    ) -> Message:
        """Directory after directory; the place to go on from is of the router's own making:
        the number of a directory, and the last name that was listed of it."""
        if len(request.paths) > _MOST_PATHS:
            raise errors.IllegalArgument(
                f"{len(request.paths)} directories; at most {_MOST_PATHS} are listed at once"
            )
        index, start_after = _batch_place(request.startAfter)
        answer = pb.GetBatchedListingResponseProto(hasMore=False, startAfter=b"")
        room = _BATCH
        while index < len(request.paths) and room > 0:
            one = pb.GetListingRequestProto(
                src=request.paths[index],
                startAfter=start_after,
                needLocation=request.needLocation,
            )
            part = answer.listings.add(parentIdx=index)
            try:
                page = await self._page(one, caller)
                if page is None:
                    raise errors.PathNotFound(f"File {one.src} does not exist.")
            except errors.StandbyError:
                raise
            except errors.HowdahError as error:
                part.exception.className = error.remote_class
                part.exception.message = error.message
                page = Page(())
            part.partialListing.extend(entry for _, entry in page.entries)
            room -= max(len(page.entries), 1)
            if page.remaining and page.entries:
                start_after = page.entries[-1][0]
            else:
                index, start_after = index + 1, b""
        answer.hasMore = index < len(request.paths)
        if answer.hasMore:
            answer.startAfter = b"%d:" % index + start_after
        return answer

    # -- usage ---------------------------------------------------------------------------------

    async def get_content_summary(
        self, request: pb.GetContentSummaryRequestProto, caller: Caller
    ) -> Message:
        answers = await self._everywhere("getContentSummary", request, caller)
        return pb.GetContentSummaryResponseProto(
            summary=merging.content_summaries([answer.summary for answer in answers])
        )

    async def get_quota_usage(
        self, request: pb.GetQuotaUsageRequestProto, caller: Caller
    ) -> Message:
        answers = await self._everywhere("getQuotaUsage", request, caller)
        usage = merging.quota_usages([answer.usage for answer in answers])
        entry = self._core.table.entries.get(_normal(request.path))
        if entry is not None and entry.quota.is_set:
            usage.quota = entry.quota.names % (1 << 64)
            usage.spaceQuota = entry.quota.space_bytes % (1 << 64)
            used = Usage(by_type=consumed_by_type(usage))
            by_type = type_quotas_to_proto(entry.quota, used)
            usage.ClearField("typeQuotaInfos")
            if by_type is not None:
                usage.typeQuotaInfos.CopyFrom(by_type)
        return pb.GetQuotaUsageResponseProto(usage=usage)

    async def set_quota(self, request: pb.SetQuotaRequestProto, caller: Caller) -> Message:
        core = self._core
        if not core.quotas_enabled:
            raise errors.RemoteError("The quota system is disabled in Router.")
        if _normal(request.path) in core.table.entries:
            raise errors.AccessDenied(
                f"Permission denied: {caller.user} is not allowed to change quota of {request.path}"
            )
        resolution = core.resolve(request.path, caller, "setQuota")
        if len(resolution.locations) > 1:
            resolution = replace(resolution, locations=await core.holding(resolution, caller))
        answers = await core.every(resolution, "setQuota", request, caller, field="path")
        assert isinstance(answers[0], Message)
        return answers[0]

    async def _everywhere(
        self,
        method: str,
        request: pb.GetContentSummaryRequestProto | pb.GetQuotaUsageRequestProto,
        caller: Caller,
    ) -> list[Any]:
        """Return what all destinations of a path and of the mount points below it answer."""
        core = self._core
        path = _normal(request.path)
        locations: list[Location] = []
        failure: errors.NoLocation | None = None
        entries: list[MountEntry | None] = []
        try:
            resolution = core.resolve(path, caller, method)
            locations += resolution.locations
            entries.append(resolution.entry)
        except errors.NoLocation as error:
            failure = error
        for entry in core.table.below(path):
            below = core.find(entry.source, caller)
            if below is not None:
                locations += below.locations
                entries.append(entry)
        # Several may be of one nameservice, and each is a call of its own there.
        outermost = _outermost(locations)
        locations = [replace(location, nth=number) for number, location in enumerate(outermost)]
        if not locations:
            raise failure or errors.NoLocation(f"Cannot find locations for {path}")
        done = await core.call_all(locations, method, request, caller, field="path")
        answers = [outcome for _, outcome in done if not isinstance(outcome, errors.HowdahError)]
        failures = [outcome for _, outcome in done if isinstance(outcome, errors.HowdahError)]
        grave = [failure for failure in failures if not isinstance(failure, errors.PathNotFound)]
        if grave and not all(is_unavailable(e) and is_tolerant(entries[0]) for e in grave):
            raise grave[0]
        if not answers:
            raise (grave or failures)[0]
        return answers

    async def measure(self, entry: MountEntry) -> Usage:
        """What the destinations of an entry use, asked by the router for itself."""
        total = Usage()
        for destination in entry.destinations:
            place = Location(
                destination.nameservice, destination.path, destination.path, entry.source
            )
            try:
                answer = await self._core.nameservices.call(
                    destination.nameservice,
                    "getQuotaUsage",
                    pb.GetQuotaUsageRequestProto(path=destination.path),
                    pb.GetQuotaUsageResponseProto,
                    self._core.nameservices.own_identity(),
                )
            except errors.PathNotFound:
                continue
            except errors.HowdahError as error:
                raise translate_error(error, place, self._core.table) from error
            total += Usage(
                answer.usage.fileAndDirectoryCount,
                answer.usage.spaceConsumed,
                consumed_by_type(answer.usage),
            )
        return total

    # -- files that are open -------------------------------------------------------------------

    async def list_open_files(
        self, request: pb.ListOpenFilesRequestProto, caller: Caller
    ) -> Message:
        """List open files in the order of their ids; ids of several namenodes may be the same, and
        then both files are in the same page."""
        core = self._core
        resolution = core.resolve(request.path or "/", caller, "listOpenFiles")
        answers: list[tuple[Location, pb.ListOpenFilesResponseProto]] = []
        done = await core.call_all(
            resolution.locations, "listOpenFiles", request, caller, field="path"
        )
        answers_of(done, tolerant=False)
        for location, answer in done:
            if not isinstance(answer, errors.HowdahError):
                answers.append((location, answer))
        ends = [page.entries[-1].id for _, page in answers if page.hasMore and page.entries]
        end = min(ends, default=None)
        merged_answer = pb.ListOpenFilesResponseProto(hasMore=bool(ends))
        merged_answer.types.extend(answers[0][1].types)
        entries = []
        for location, page in answers:
            for entry in page.entries:
                if end is None or entry.id <= end:
                    entries.append(
                        with_value(
                            entry,
                            "path",
                            core.table.source_of(location.nameservice, entry.path) or entry.path,
                        )
                    )
        merged_answer.entries.extend(sorted(entries, key=lambda entry: entry.id))
        return merged_answer


def _normal(path: str) -> str:
    return normalised(path) if path.startswith("/") else path


def _outermost(locations: Sequence[Location]) -> list[Location]:
    """Without those that lie below another one, whose sums have them already."""
    kept: list[Location] = []
    for location in locations:
        inside = any(
            other is not location
            and other.nameservice == location.nameservice
            and (
                (
                    other.path != location.path
                    and location.path.startswith(other.path.rstrip("/") + "/")
                )
                or (other.path == location.path and other in kept)
            )
            for other in locations
        )
        if not inside:
            kept.append(location)
    return kept


def _batch_place(token: bytes) -> tuple[int, bytes]:
    if not token:
        return 0, b""
    number, colon, name = token.partition(b":")
    if not colon or not number.isdigit() or len(number) > 9:
        raise errors.IllegalArgument("the place to go on listing from is none of this router's")
    return int(number), name
