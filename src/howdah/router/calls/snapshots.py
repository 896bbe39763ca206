"""Snapshots of directories that are in several destinations (shell). Hadoop: RouterSnapshot.

A snapshot covers the whole directory or does not exist: every destination that has the directory
must answer, also those of a fault-tolerant mount point. The snapshot has the same name in all of
them. If one destination refuses a change, the router undoes it in the others. If one does not
answer, it may have made the change: the router undoes nothing there, since a snapshot of that name
may be somebody else's, and the error names the nameservice. Reports and lists cover all
destinations. A report by pages continues from an inode id of one namenode, which another namenode
may have given to another inode. So with several destinations a client has to request the whole
report, as it does of servers without pages.
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
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core, is_unavailable, not_repeated
from howdah.router.calls.paths import translate
from howdah.router.state.table.mount_table import Location, Resolution

log = logging.getLogger(__name__)

_ROOT = "snapshotRoot"


class SnapshotCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    # -- changes -------------------------------------------------------------------------------

    async def create_snapshot(
        self, request: pb.CreateSnapshotRequestProto, caller: Caller
    ) -> Message:
        """Create a snapshot; without a name it gets the one that the first destination gives."""
        resolution = await self._resolve(request.snapshotRoot, "createSnapshot", caller)
        answers: list[pb.CreateSnapshotResponseProto] = []

        def undo(location: Location) -> Message:
            return pb.DeleteSnapshotRequestProto(
                snapshotRoot=location.path, snapshotName=request.snapshotName
            )

        async def make(location: Location) -> None:
            answer = await self._core.call_one(
                location, "createSnapshot", request, caller, field=_ROOT
            )
            request.snapshotName = answer.snapshotPath.rpartition("/")[2]
            answers.append(answer)

        await self._in_turn(resolution, make, "deleteSnapshot", undo, caller)
        translate(self._core, answers[0], resolution.locations[0])
        return answers[0]

    async def rename_snapshot(
        self, request: pb.RenameSnapshotRequestProto, caller: Caller
    ) -> Message:
        resolution = await self._resolve(request.snapshotRoot, "renameSnapshot", caller)

        def undo(location: Location) -> Message:
            return pb.RenameSnapshotRequestProto(
                snapshotRoot=location.path,
                snapshotOldName=request.snapshotNewName,
                snapshotNewName=request.snapshotOldName,
            )

        async def make(location: Location) -> None:
            await self._core.call_one(location, "renameSnapshot", request, caller, field=_ROOT)

        await self._in_turn(resolution, make, "renameSnapshot", undo, caller)
        return pb.RenameSnapshotResponseProto()

    async def _in_turn(
        self,
        resolution: Resolution,
        make: Callable[[Location], Any],
        undoing: str,
        undo: Callable[[Location], Message],
        caller: Caller,
    ) -> None:
        """Change each destination in turn. If one refuses, undo the change in those before it."""
        changed: list[Location] = []
        try:
            for location in resolution.locations:
                await make(location)
                changed.append(location)
        except errors.HowdahError as refusal:
            outcome = "the change is undone in the other destinations"
            for location in changed:
                try:
                    await self._core.call_one(
                        location, undoing, undo(location), caller, part="undo"
                    )
                except errors.HowdahError as error:
                    outcome = f"the change in nameservice {location.nameservice} cannot be undone"
                    log.warning(
                        "a snapshot of %s in nameservice %s stays changed, though another "
                        "destination refused the change: %s",
                        location.path,
                        location.nameservice,
                        error,
                    )
            if changed and is_unavailable(refusal):
                location = resolution.locations[len(changed)]
                outcome += (
                    f"; nameservice {location.nameservice} did not answer, and may have changed "
                    f"the snapshots of {location.path}: look there"
                )
                log.warning("%s; %s", refusal.message, outcome)
            failure = not_repeated(refusal, outcome) if changed else refusal
            if failure is refusal:
                raise
            raise failure from refusal

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

    # -- reports and lists --------------------------------------------------------------------

    async def get_snapshot_diff_report(
        self, request: pb.GetSnapshotDiffReportRequestProto, caller: Caller
    ) -> Message:
        """Merge the reports of all destinations; an entry that several have counts once."""
        resolution, answers = await self._in_all("getSnapshotDiffReport", request, caller)
        whole: pb.GetSnapshotDiffReportResponseProto = answers[0]
        entries = {
            (entry.modificationLabel, entry.fullpath, entry.targetPath): entry
            for answer in answers
            for entry in answer.diffReport.diffReportEntries
        }
        del whole.diffReport.diffReportEntries[:]
        whole.diffReport.diffReportEntries.extend(entries.values())
        translate(self._core, whole, resolution.locations[0])
        return whole

    async def get_snapshot_diff_report_listing(
        self, request: pb.GetSnapshotDiffReportListingRequestProto, caller: Caller
    ) -> Message:
        method = "getSnapshotDiffReportListing"
        resolution = await self._resolve(request.snapshotRoot, method, caller)
        if len(resolution.locations) > 1:
            raise errors.RpcNoSuchMethod(
                f"{method} of {request.snapshotRoot}: it is in several destinations, whose "
                f"differences a router tells as a whole (getSnapshotDiffReport)"
            )
        answer = await self._core.call_one(
            resolution.locations[0], method, request, caller, field=_ROOT
        )
        assert isinstance(answer, Message)
        return answer

    async def get_snapshot_listing(
        self, request: pb.GetSnapshotListingRequestProto, caller: Caller
    ) -> Message:
        resolution, answers = await self._in_all("getSnapshotListing", request, caller)
        if len(answers) == 1:
            translate(self._core, answers[0], resolution.locations[0])
            return cast(Message, answers[0])
        by_path: dict[bytes, types_pb2.SnapshotStatusProto] = {}
        for location, answer in zip(resolution.locations, answers, strict=True):
            translate(self._core, answer, location)
            for snapshot in answer.snapshotList.snapshotListing:
                by_path.setdefault(snapshot.dirStatus.path, snapshot)
        whole = pb.GetSnapshotListingResponseProto()
        whole.snapshotList.snapshotListing.extend(by_path[path] for path in sorted(by_path))
        return whole

    # -- destinations -------------------------------------------------------------------------

    async def _resolve(self, path: str, method: str, caller: Caller) -> Resolution:
        """Return the destinations that have a directory. Raises the error of one that fails."""
        resolution = self._core.resolve(path, caller, method)
        if len(resolution.locations) == 1:
            return resolution
        return replace(
            resolution, locations=await self._core.holding(resolution, caller, tolerant=False)
        )

    async def _in_all(
        self, method: str, request: Any, caller: Caller
    ) -> tuple[Resolution, list[Any]]:
        resolution = await self._resolve(request.snapshotRoot, method, caller)
        outcomes = await self._core.call_all(
            resolution.locations, method, request, caller, field=_ROOT
        )
        return resolution, [_answer(outcome) for _, outcome in outcomes]


def _answer(outcome: Any) -> Any:
    if isinstance(outcome, errors.HowdahError):
        raise outcome
    return outcome
