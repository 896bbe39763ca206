"""Snapshots of directories that are in several destinations (shell). Hadoop: RouterSnapshot.

A snapshot is of the whole directory, or it is none: every destination that has the directory must
answer, also those of a fault-tolerant mount point. It has one name in all of them. What one
destination refuses is undone in the others. Of one that does not answer nobody knows whether it
made the change: nothing is undone there, as a snapshot of that name may be somebody else's, and the
error names the nameservice. Differences and lists are those of all destinations. Differences by
pages go by ids of one namenode, which another one gives as well: where there are
several destinations a client has to ask for the whole report, as it does with servers that have
no pages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.router.calls.core import Core, is_unavailable, not_repeated
from howdah.router.calls.paths import translate
from howdah.router.table.mount_table import Location, Resolution
from howdah.rpc.service import Caller

log = logging.getLogger(__name__)

_ROOT = "snapshotRoot"


class SnapshotCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    # -- changes -------------------------------------------------------------------------------

    async def create_snapshot(
        self, request: pb.CreateSnapshotRequestProto, caller: Caller
    ) -> Message:
        """Under the name that the first destination gives, where the caller gives none."""
        found = await self._places(request.snapshotRoot, "createSnapshot", caller)
        answers: list[pb.CreateSnapshotResponseProto] = []

        def undo(place: Location) -> Message:
            return pb.DeleteSnapshotRequestProto(
                snapshotRoot=place.path, snapshotName=request.snapshotName
            )

        async def make(place: Location) -> None:
            answer = await self._core.ask(place, "createSnapshot", request, caller, field=_ROOT)
            request.snapshotName = answer.snapshotPath.rpartition("/")[2]
            answers.append(answer)

        await self._in_turn(found, make, "deleteSnapshot", undo, caller)
        translate(self._core, answers[0], found.locations[0])
        return answers[0]

    async def rename_snapshot(
        self, request: pb.RenameSnapshotRequestProto, caller: Caller
    ) -> Message:
        found = await self._places(request.snapshotRoot, "renameSnapshot", caller)

        def undo(place: Location) -> Message:
            return pb.RenameSnapshotRequestProto(
                snapshotRoot=place.path,
                snapshotOldName=request.snapshotNewName,
                snapshotNewName=request.snapshotOldName,
            )

        async def make(place: Location) -> None:
            await self._core.ask(place, "renameSnapshot", request, caller, field=_ROOT)

        await self._in_turn(found, make, "renameSnapshot", undo, caller)
        return pb.RenameSnapshotResponseProto()

    async def _in_turn(
        self,
        found: Resolution,
        make: Callable[[Location], Any],
        undoing: str,
        undo: Callable[[Location], Message],
        caller: Caller,
    ) -> None:
        """Change each destination. Where one refuses, those before it are changed back."""
        made: list[Location] = []
        try:
            for place in found.locations:
                await make(place)
                made.append(place)
        except errors.HowdahError as refusal:
            became = "what other destinations had done is undone"
            for place in made:
                try:
                    await self._core.ask(place, undoing, undo(place), caller, part="undo")
                except errors.HowdahError as error:
                    became = f"what nameservice {place.nameservice} has done cannot be undone"
                    log.warning(
                        "a snapshot of %s in nameservice %s stays changed, though another "
                        "destination refused the change: %s",
                        place.path,
                        place.nameservice,
                        error,
                    )
            if made and is_unavailable(refusal):
                place = found.locations[len(made)]
                became += (
                    f"; nameservice {place.nameservice} did not answer, and may have changed the "
                    f"snapshots of {place.path}: look there"
                )
                log.warning("%s; %s", refusal.message, became)
            told = not_repeated(refusal, became) if made else refusal
            if told is refusal:
                raise
            raise told from refusal

    async def delete_snapshot(
        self, request: pb.DeleteSnapshotRequestProto, caller: Caller
    ) -> Message:
        await self._in_all("deleteSnapshot", request, caller)
        return pb.DeleteSnapshotResponseProto()

    async def allow_snapshot(
        self, request: pb.AllowSnapshotRequestProto, caller: Caller
    ) -> Message:
        await self._in_all("allowSnapshot", request, caller)
        return pb.AllowSnapshotResponseProto()

    async def disallow_snapshot(
        self, request: pb.DisallowSnapshotRequestProto, caller: Caller
    ) -> Message:
        await self._in_all("disallowSnapshot", request, caller)
        return pb.DisallowSnapshotResponseProto()

    # -- questions -----------------------------------------------------------------------------

    async def get_snapshot_diff_report(
        self, request: pb.GetSnapshotDiffReportRequestProto, caller: Caller
    ) -> Message:
        """What differs in any destination: a directory that is in all of them once."""
        found, answers = await self._in_all("getSnapshotDiffReport", request, caller)
        whole: pb.GetSnapshotDiffReportResponseProto = answers[0]
        entries = {
            (each.modificationLabel, each.fullpath, each.targetPath): each
            for answer in answers
            for each in answer.diffReport.diffReportEntries
        }
        del whole.diffReport.diffReportEntries[:]
        whole.diffReport.diffReportEntries.extend(entries.values())
        translate(self._core, whole, found.locations[0])
        return whole

    async def get_snapshot_diff_report_listing(
        self, request: pb.GetSnapshotDiffReportListingRequestProto, caller: Caller
    ) -> Message:
        method = "getSnapshotDiffReportListing"
        found = await self._places(request.snapshotRoot, method, caller)
        if len(found.locations) > 1:
            raise errors.RpcNoSuchMethod(
                f"{method} of {request.snapshotRoot}: it is in several destinations, whose "
                f"differences a router tells as a whole (getSnapshotDiffReport)"
            )
        answer = await self._core.ask(found.locations[0], method, request, caller, field=_ROOT)
        assert isinstance(answer, Message)
        return answer

    async def get_snapshot_listing(
        self, request: pb.GetSnapshotListingRequestProto, caller: Caller
    ) -> Message:
        found, answers = await self._in_all("getSnapshotListing", request, caller)
        if len(answers) == 1:
            translate(self._core, answers[0], found.locations[0])
            return cast(Message, answers[0])
        named: dict[bytes, types_pb2.SnapshotStatusProto] = {}
        for place, answer in zip(found.locations, answers, strict=True):
            translate(self._core, answer, place)
            for each in answer.snapshotList.snapshotListing:
                named.setdefault(each.dirStatus.path, each)
        whole = pb.GetSnapshotListingResponseProto()
        whole.snapshotList.snapshotListing.extend(named[name] for name in sorted(named))
        return whole

    # -- where ---------------------------------------------------------------------------------

    async def _places(self, path: str, method: str, caller: Caller) -> Resolution:
        """The destinations that have a directory. Raises the failure of one that cannot say."""
        found = self._core.resolve(path, caller, method)
        if len(found.locations) == 1:
            return found
        return replace(found, locations=await self._core.holding(found, caller, tolerant=False))

    async def _in_all(
        self, method: str, request: Any, caller: Caller
    ) -> tuple[Resolution, list[Any]]:
        found = await self._places(request.snapshotRoot, method, caller)
        done = await self._core.each(found.locations, method, request, caller, field=_ROOT)
        return found, [_answer(each) for _, each in done]


def _answer(outcome: Any) -> Any:
    if isinstance(outcome, errors.HowdahError):
        raise outcome
    return outcome
