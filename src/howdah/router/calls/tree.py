"""Calls that make, move and remove names (shell).

A rename stays within a nameservice: files that are in another one would have to be copied. A
mount point is neither removed nor moved, nor is a directory above one.
"""

from __future__ import annotations

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.calls.core import Core, answers_of, is_tolerant, is_unavailable, with_value
from howdah.router.table.mount_table import Location, Resolution
from howdah.rpc.service import Caller


class TreeCalls:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def mkdirs(self, request: pb.MkdirsRequestProto, caller: Caller) -> Message:
        core = self._core
        found = core.resolve(request.src, caller, "mkdirs")
        if found.is_all:
            answers = await core.every(found, "mkdirs", request, caller, field="src")
            return pb.MkdirsResponseProto(result=all(each.result for each in answers))
        place = found.locations[0]
        if len(found.locations) > 1:
            place = await core.existing(found.locations, caller) or place
        try:
            answer = await core.ask(place, "mkdirs", request, caller, field="src")
        except errors.HowdahError as error:
            others = [each for each in found.locations if each != place]
            if not is_unavailable(error) or not is_tolerant(found.entry) or not others:
                raise
            answer, _ = await core.first(others, "mkdirs", request, caller, field="src")
        assert isinstance(answer, Message)
        return answer

    async def delete(self, request: pb.DeleteRequestProto, caller: Caller) -> Message:
        core = self._core
        found = core.resolve(request.src, caller, "delete")
        core.check_no_mount(found.path)
        if len(found.locations) == 1:
            answer = await core.ask(found.locations[0], "delete", request, caller, field="src")
            assert isinstance(answer, Message)
            return answer
        done = await core.each(found.locations, "delete", request, caller, field="src")
        answers = answers_of(done, is_tolerant(found.entry))
        return pb.DeleteResponseProto(result=any(each.result for each in answers))

    async def rename(self, request: pb.RenameRequestProto, caller: Caller) -> Message:
        pairs, found = self._pairs(request.src, request.dst, caller, "rename")
        results = []
        for _, outcome in await self._move(pairs, found, "rename", request, caller):
            if isinstance(outcome, pb.RenameResponseProto):
                results.append(outcome.result)
        return pb.RenameResponseProto(result=any(results))

    async def rename2(self, request: pb.Rename2RequestProto, caller: Caller) -> Message:
        pairs, found = self._pairs(request.src, request.dst, caller, "rename2")
        await self._move(pairs, found, "rename2", request, caller)
        return pb.Rename2ResponseProto()

    def _pairs(
        self, source: str, target: str, caller: Caller, method: str
    ) -> tuple[list[tuple[Location, str]], Resolution]:
        """Each destination of the source with a destination of the target in the same
        nameservice. Raises RemoteError if there is none."""
        core = self._core
        found = core.resolve(source, caller, method)
        core.check_no_mount(found.path)
        targets = core.resolve(target, caller, method)
        pairs = []
        for place in found.locations:
            same = [t for t in targets.locations if t.nameservice == place.nameservice]
            nth = [t for t in same if t.nth == place.nth]
            if same:
                pairs.append((place, (nth or same)[0].path))
        if not pairs:
            raise errors.RemoteError(
                f"Rename of {source} to {target} is not allowed, no eligible destination in the "
                f"same namespace was found"
            )
        return pairs, found

    async def _move(
        self,
        pairs: list[tuple[Location, str]],
        found: Resolution,
        method: str,
        request: pb.RenameRequestProto | pb.Rename2RequestProto,
        caller: Caller,
    ) -> list[tuple[Location, Message | errors.HowdahError]]:
        """Move what each destination has. A directory that is in several is moved in all, and
        only if all can do it."""
        core = self._core
        if len(pairs) == 1 and len(found.locations) == 1:
            place, to = pairs[0]
            moved = with_value(request, "dst", to)
            return [(place, await core.ask(place, method, moved, caller, field="src"))]
        here = [place for place in found.locations if await self._has(place, caller)]
        movable = {place: to for place, to in pairs}
        if any(place not in movable for place in here):
            raise errors.RemoteError(
                f"Rename of {request.src} to {request.dst} is not allowed. The number of remote "
                f"locations for both source and target should be same."
            )
        done: list[tuple[Location, Message | errors.HowdahError]] = []
        for place in here or [pairs[0][0]]:
            moved = with_value(request, "dst", movable[place])
            answer = await core.ask(place, method, moved, caller, field="src")
            done.append((place, answer))
        return done

    async def _has(self, place: Location, caller: Caller) -> bool:
        try:
            return await self._core.status(place, caller) is not None
        except errors.PathNotFound:
            return False

    async def concat(self, request: pb.ConcatRequestProto, caller: Caller) -> Message:
        target = await self._file(request.trg, caller)
        sources = [await self._file(each, caller) for each in request.srcs]
        for path, place in zip(request.srcs, sources, strict=True):
            if place.nameservice != target.nameservice:
                raise errors.RemoteError(
                    f"Cannot concatenate source file {path} because it is located in a different "
                    f"namespace with nameservice {place.nameservice} from the target file with "
                    f"nameservice {target.nameservice}"
                )
        moved = pb.ConcatRequestProto(trg=target.path, srcs=[each.path for each in sources])
        answer = await self._core.ask(target, "concat", moved, caller)
        assert isinstance(answer, Message)
        return answer

    async def _file(self, path: str, caller: Caller) -> Location:
        """The destination that has a file. Raises PathNotFound."""
        found = self._core.resolve(path, caller, "concat")
        if len(found.locations) == 1:
            return found.locations[0]
        place = await self._core.existing(found.locations, caller)
        if place is None:
            raise errors.PathNotFound(f"File does not exist: {path}")
        return place

    async def create_symlink(
        self, request: pb.CreateSymlinkRequestProto, caller: Caller
    ) -> Message:
        """The target is a path of the router, too, if it is absolute."""
        core = self._core
        found = core.resolve(request.link, caller, "createSymlink")
        place = found.locations[0]
        if len(found.locations) > 1:
            parent = core.resolve(found.path.rpartition("/")[0] or "/", caller, "createSymlink")
            above = await core.existing(parent.locations, caller)
            same = [
                each
                for each in found.locations
                if above is not None and each.nameservice == above.nameservice
            ]
            place = (same or [place])[0]
        if request.target.startswith("/"):
            targets = core.resolve(request.target, caller, "getFileInfo").locations
            same = [each for each in targets if each.nameservice == place.nameservice]
            if not same:
                raise errors.UnsupportedOperation(
                    f"a symbolic link at {request.link} cannot lead to {request.target}: "
                    f"they are in different nameservices"
                )
            request = with_value(request, "target", same[0].path)
        answer = await core.ask(place, "createSymlink", request, caller, field="link")
        assert isinstance(answer, Message)
        return answer
