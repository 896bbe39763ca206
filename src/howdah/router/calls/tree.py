"""Calls that make, move and remove names (shell).

A rename stays within a nameservice: files that are in another one would have to be copied. A
mount point is neither removed nor moved, nor is a directory above one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.calls.core import Core, answers_of, is_tolerant, is_unavailable, with_value
from howdah.router.state.table.mount_table import Location, Resolution
from howdah.router.state.table.translation import translate_error


@dataclass(frozen=True, slots=True)
class _Move:
    """A rename: from which destinations to which."""

    method: str
    sources: tuple[Location, ...]
    targets: tuple[Location, ...]
    pairs: list[tuple[Location, Location]]

    @property
    def is_plain(self) -> bool:
        """One namenode sees all of it."""
        return len(self.sources) == len(self.targets) == 1


class TreeCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> Message:
        core = self._core
        resolution = core.resolve(request.src, caller, "mkdirs")
        if resolution.is_all:
            answers = await core.every(resolution, "mkdirs", request, caller, field="src")
            return pb.MkdirsResponseProto(result=all(answer.result for answer in answers))
        place = resolution.locations[0]
        if len(resolution.locations) > 1:
            tolerant = is_tolerant(resolution.entry)
            place = await core.existing(resolution.locations, caller, tolerant=tolerant) or place
        try:
            answer = await core.call_one(place, "mkdirs", request, caller, field="src")
        except errors.HowdahError as error:
            others = [location for location in resolution.locations if location != place]
            if not is_unavailable(error) or not is_tolerant(resolution.entry) or not others:
                raise
            answer, _ = await core.first(others, "mkdirs", request, caller, field="src")
        assert isinstance(answer, Message)
        return answer

    async def delete(self, request: pb.DeleteRequestProto, caller: Caller) -> Message:
        core = self._core
        resolution = core.resolve(request.src, caller, "delete")
        core.check_no_mount(resolution.path)
        if len(resolution.locations) == 1:
            answer = await core.call_one(
                resolution.locations[0], "delete", request, caller, field="src"
            )
            assert isinstance(answer, Message)
            return answer
        reached = await core.reached(resolution, caller)
        if not request.recursive:
            # One that cannot remove a directory which is not empty refuses first: after that the
            # others must not have done it.
            for place, status in reached:
                if status is not None and status.childrenNum > 0:
                    await core.call_one(place, "delete", request, caller, field="src")
        places = [place for place, _ in reached]
        done = await core.call_all(places, "delete", request, caller, field="src")
        is_gone = any(answer.result for answer in answers_of(done, is_tolerant(resolution.entry)))
        if not is_gone and len(places) < len(resolution.locations):
            # It may be in one that cannot be reached.
            await core.reached(resolution, caller, tolerant=False)
        return pb.DeleteResponseProto(result=is_gone)

    async def rename(self, request: pb.RenameRequestProto, caller: Caller) -> Message:
        move = self._move(request, caller, "rename")
        if move.is_plain:
            answer = await self._call_rename(move, move.pairs[0], request, caller)
            assert isinstance(answer, Message)
            return answer
        if await self._elsewhere(move, caller):
            return pb.RenameResponseProto(result=False)
        answers = await self._move_all(move, request, caller)
        return pb.RenameResponseProto(result=any(answer.result for answer in answers))

    async def rename2(self, request: pb.Rename2RequestProto, caller: Caller) -> Message:
        if request.next:
            # Their paths are the router's, perhaps of other namenodes: the client does them itself.
            alone = pb.Rename2RequestProto()
            alone.CopyFrom(request)
            alone.ClearField("next")
            request = alone
        move = self._move(request, caller, "rename2")
        if move.is_plain:
            await self._call_rename(move, move.pairs[0], request, caller)
            return pb.Rename2ResponseProto()
        if request.HasField("replaces"):
            raise errors.UnsupportedOperation(
                f"{request.dst} may be in several nameservices: whether what is there is the file "
                f"that is to be replaced, or nothing, is not known at one moment for all of them"
            )
        if request.HasField("known"):
            raise errors.UnsupportedOperation(
                f"{request.src} may be in several nameservices: whether it is the file that is to "
                f"be renamed is not known at one moment for all of them"
            )
        elsewhere = await self._elsewhere(move, caller)
        if elsewhere and not request.overwriteDest:
            raise errors.PathExists(f"rename destination {request.dst} already exists")
        await self._move_all(move, request, caller)
        for place in elsewhere:
            # What was to be overwritten: it would come up again when the new file goes.
            await self._core.call_one(
                place,
                "delete",
                pb.DeleteRequestProto(recursive=False),
                caller,
                field="src",
                part="overwritten",
            )
        return pb.Rename2ResponseProto()

    def _move(
        self, request: pb.RenameRequestProto | pb.Rename2RequestProto, caller: Caller, method: str
    ) -> _Move:
        """Pair each destination of the source with one of the target in the same nameservice.
        Raises AcrossMountPoints if there is no pair."""
        core = self._core
        resolution = core.resolve(request.src, caller, method)
        core.check_no_mount(resolution.path)
        targets = core.resolve(request.dst, caller, method).locations
        pairs = []
        for place in resolution.locations:
            same = [target for target in targets if target.nameservice == place.nameservice]
            nth = [candidate for candidate in same if candidate.nth == place.nth]
            if same:
                pairs.append((place, (nth or same)[0]))
        if not pairs:
            raise errors.AcrossMountPoints(
                f"Rename of {request.src} to {request.dst} is not allowed, "
                f"{errors.AcrossMountPoints.ROUTERS_WORDS} was found"
            )
        return _Move(method, resolution.locations, targets, pairs)

    async def _elsewhere(self, move: _Move, caller: Caller) -> list[Location]:
        """Return the destinations of the target with a file at its path, to which nothing is moved:
        the namenodes that move do not see it."""
        here = await self._having(move.sources, caller)
        seen = [to for place, to in move.pairs if place in here or not here]
        others = [target for target in move.targets if target not in seen]
        occupied = []
        for place in others:
            status = await self._status(place, caller)
            if status is not None and status.fileType != types_pb2.HdfsFileStatusProto.IS_DIR:
                occupied.append(place)
        return occupied

    async def _move_all(
        self,
        move: _Move,
        request: pb.RenameRequestProto | pb.Rename2RequestProto,
        caller: Caller,
    ) -> list[Any]:
        """Move what each destination has. A directory that is in several is moved in all, and
        only if all can do it."""
        here = await self._having(move.sources, caller)
        movable = dict(move.pairs)
        if any(place not in movable for place in here):
            raise errors.RemoteError(
                f"Rename of {request.src} to {request.dst} is not allowed. The number of remote "
                f"locations for both source and target should be same."
            )
        if not here:
            return [await self._repeated(move, request, caller)]
        return [
            await self._call_rename(move, (source, movable[source]), request, caller)
            for source in here
        ]

    async def _repeated(
        self,
        move: _Move,
        request: pb.RenameRequestProto | pb.Rename2RequestProto,
        caller: Caller,
    ) -> Any:
        """Nothing is there to be moved: it may have been moved by this very call, which the
        client repeats. The namenode that did it remembers."""
        failures: list[errors.HowdahError] = []
        refusal: Any = None
        for pair in move.pairs:
            try:
                answer = await self._call_rename(move, pair, request, caller)
            except errors.HowdahError as error:
                failures.append(error)
                continue
            if not isinstance(answer, pb.RenameResponseProto) or answer.result:
                return answer
            refusal = answer
        if refusal is not None:
            return refusal
        raise failures[0]

    async def _call_rename(
        self,
        move: _Move,
        pair: tuple[Location, Location],
        request: pb.RenameRequestProto | pb.Rename2RequestProto,
        caller: Caller,
    ) -> Any:
        place, to = pair
        moved = with_value(request, "dst", to.path)
        try:
            return await self._core.call_one(place, move.method, moved, caller, field="src")
        except errors.HowdahError as error:
            known = translate_error(error, to, self._core.table)
            if known is error:
                raise
            raise known from error

    async def _having(self, places: Sequence[Location], caller: Caller) -> list[Location]:
        return [place for place in places if await self._status(place, caller) is not None]

    async def _status(
        self, place: Location, caller: Caller
    ) -> types_pb2.HdfsFileStatusProto | None:
        try:
            return await self._core.status(place, caller)
        except errors.PathNotFound:
            return None
        except errors.HowdahError as error:
            raise translate_error(error, place, self._core.table) from error

    async def concat(self, request: pb.ConcatRequestProto, caller: Caller) -> Message:
        target = await self._file(request.trg, caller)
        sources = [await self._file(src, caller) for src in request.srcs]
        for path, place in zip(request.srcs, sources, strict=True):
            if place.nameservice != target.nameservice:
                raise errors.RemoteError(
                    f"Cannot concatenate source file {path} because it is located in a different "
                    f"namespace with nameservice {place.nameservice} from the target file with "
                    f"nameservice {target.nameservice}"
                )
        moved = pb.ConcatRequestProto(trg=target.path, srcs=[source.path for source in sources])
        answer = await self._core.call_one(target, "concat", moved, caller)
        assert isinstance(answer, Message)
        return answer

    async def _file(self, path: str, caller: Caller) -> Location:
        """Return the destination that has a file. Raises PathNotFound."""
        resolution = self._core.resolve(path, caller, "concat")
        if len(resolution.locations) == 1:
            return resolution.locations[0]
        place = await self._core.existing(resolution.locations, caller)
        if place is None:
            raise errors.PathNotFound(f"File does not exist: {path}")
        return place

    async def create_symlink(
        self, request: pb.CreateSymlinkRequestProto, caller: Caller
    ) -> Message:
        """Create a symbolic link; an absolute target is a path of the router, too."""
        core = self._core
        resolution = core.resolve(request.link, caller, "createSymlink")
        place = resolution.locations[0]
        if len(resolution.locations) > 1:
            place = await self._link_place(resolution, caller)
        if request.target.startswith("/"):
            targets = core.resolve(request.target, caller, "getFileInfo").locations
            same = [target for target in targets if target.nameservice == place.nameservice]
            if not same:
                raise errors.UnsupportedOperation(
                    f"a symbolic link at {request.link} cannot lead to {request.target}: "
                    f"they are in different nameservices"
                )
            request = with_value(request, "target", same[0].path)
        answer = await core.call_one(place, "createSymlink", request, caller, field="link")
        assert isinstance(answer, Message)
        return answer

    async def _link_place(self, resolution: Resolution, caller: Caller) -> Location:
        """Return the destination in which something is at the path already, otherwise the one with
        its parent."""
        core, tolerant = self._core, is_tolerant(resolution.entry)
        there = await core.existing(resolution.locations, caller, tolerant=tolerant)
        if there is not None:
            return there
        parent = core.resolve(resolution.path.rpartition("/")[0] or "/", caller, "createSymlink")
        above = await core.existing(parent.locations, caller, tolerant=tolerant)
        same = [
            location
            for location in resolution.locations
            if above is not None and location.nameservice == above.nameservice
        ]
        return (same or resolution.locations)[0]
