"""Every call that a router serves, with destinations that are there and away (pure but for a loop).

Nameservices stand behind the router that answer everything. What the path of a call stands for is
in the second destination of its mount point, unless the call makes it. For each scene it is noted
which destinations carried the call out, and whether the caller got an answer. `table` is the part
of docs/how-it-works/router.md that is made of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.router.state.methods import DESCRIPTOR, REFUSED
from howdah.router.state.namenodes.identity import Identity
from howdah.router.state.table import cache_ids
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from tests.support.routing.in_memory import InMemoryNameservices, InMemoryRouter

M = TypeVar("M", bound=Message)

NAMES: Final = ("first", "second", "third")
NUMBERS: Final = {name: str(number) for number, name in enumerate(NAMES, 1)}
HOME: Final = "second"
"""The nameservice that has what a call is about."""
THERE: Final = "/m/there"
NEW: Final = "/m/new"
MAKES: Final = {"create": "src", "mkdirs": "src", "createSymlink": "link"}
_PATHS: Final = frozenset(
    ("src", "path", "filename", "trg", "srcs", "paths", "link", "snapshotRoot", "zone")
)
_PASSED_ON: Final = {"getBatchedListing": "getListing"}
"""Calls that nameservices hear of as another one."""
_MAY_BE_EMPTY: Final = frozenset(("getFileInfo", "getFileLinkInfo", "getListing"))
"""They answer that nothing is there by an empty message."""


@dataclass(frozen=True, slots=True)
class Scene:
    """How many destinations a mount point has, and which of them is away."""

    title: str
    count: int
    away: str = ""
    fault_tolerant: bool = False


SCENES: Final = (
    Scene("one, away", 1, HOME),
    Scene("two", 2),
    Scene("two, the first away", 2, "first"),
    Scene("two, the second away", 2, HOME),
    Scene("three", 3),
    Scene("three, the third away", 3, "third"),
    Scene("three, the second away", 3, HOME),
    Scene("fault-tolerant, the first away", 2, "first", fault_tolerant=True),
    Scene("fault-tolerant, the second away", 2, HOME, fault_tolerant=True),
)


class _Obliging(InMemoryNameservices):
    """Nameservices that do what they are asked, where the path is there."""

    method = ""
    done: list[str]

    async def call(
        self,
        nameservice: str,
        method: str,
        request: Message,
        kind: type[M],
        identity: Identity,
        *,
        timeout_s: float | None = None,
        seen: int | None = None,
    ) -> M:
        if nameservice in self.down:
            raise errors.NoNamenodes(f"No namenodes available under nameservice {nameservice}")
        paths = _PATHS - ({"filename"} if method == "metaSave" else set())
        named = [getattr(request, name) for name in paths if _has(request, name)]
        is_there = nameservice == HOME or not any("there" in str(each) for each in named)
        is_new = any("new" in str(each) for each in named) and method not in MAKES.values()
        if not is_there and method == "delete":
            return kind(result=False)
        if not is_there and method not in _MAY_BE_EMPTY:
            raise errors.PathNotFound(f"not in {nameservice}: {named}")
        answer = _filled(kind)
        if isinstance(answer, pb.AddCacheDirectiveResponseProto):
            answer.id = 1
        elif isinstance(answer, pb.DeleteResponseProto):
            answer.result = True
        if method in _MAY_BE_EMPTY and (not is_there or (is_new and method == "getFileInfo")):
            answer = kind()
        if method == self.method and (is_there or method not in _MAY_BE_EMPTY):
            self.done.append(nameservice)
        return answer


def _has(message: Message, name: str) -> bool:
    return name in message.DESCRIPTOR.fields_by_name


def _filled(kind: type[M]) -> M:
    """A message with all that it must have, and each message within it that it may have."""
    message: Any = kind()
    for field in message.DESCRIPTOR.fields:
        _fill(message, field, 0)
    made: M = message
    return made


def _fill(message: Any, field: FieldDescriptor, depth: int) -> None:
    if field.is_repeated or not (field.is_required or depth == 0):
        return
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        inner = getattr(message, field.name)
        inner.SetInParent()
        for each in inner.DESCRIPTOR.fields:
            _fill(inner, each, depth + 1)
    elif field.is_required:
        setattr(message, field.name, getattr(message, field.name))


def _request(method: str) -> Message:
    """A request about `THERE`, or one that makes `NEW`."""
    request: Any = GetMessageClass(DESCRIPTOR.methods_by_name[method].input_type)()
    makes = MAKES.get(method)
    for field in request.DESCRIPTOR.fields:
        _fill(request, field, 1)
        if field.name in _PATHS and field.name != makes:
            known = getattr(request, field.name)
            if field.is_repeated:
                known.append(THERE)
            elif field.type == FieldDescriptor.TYPE_STRING:
                setattr(request, field.name, THERE)
    if makes:
        setattr(request, makes, NEW)
    block = types_pb2.ExtendedBlockProto(poolId=f"BP-{HOME}", blockId=1, generationStamp=1)
    match method:
        case "rename" | "rename2":
            request.dst = NEW
        case "createSymlink":
            request.target = "elsewhere"
        case "addBlock":
            request.previous.CopyFrom(block)
        case "abandonBlock":
            request.b.CopyFrom(block)
        case "getAdditionalDatanode":
            request.blk.CopyFrom(block)
        case "complete":
            request.last.CopyFrom(block)
        case "updateBlockForPipeline":
            request.block.CopyFrom(block)
        case "updatePipeline":
            request.oldBlock.CopyFrom(block)
        case "reportBadBlocks":
            bad = request.blocks.add(offset=0, corrupt=True)
            bad.b.CopyFrom(block)
            bad.blockToken.SetInParent()
            for name in ("identifier", "password", "kind", "service"):
                setattr(bad.blockToken, name, getattr(bad.blockToken, name))
        case "addCacheDirective":
            request.info.path, request.info.pool = THERE, "pool"
        case "modifyCacheDirective":
            request.info.id, request.info.path = cache_ids.routers_id(HOME, 1), THERE
        case "removeCacheDirective":
            request.id = cache_ids.routers_id(HOME, 1)
        case "createSnapshot":
            request.snapshotName = "s"
    made: Message = request
    return made


def _outcome(method: str, scene: Scene) -> str:
    """The numbers of the destinations that carried a call out, and what the caller was told."""
    names = NAMES[: scene.count] if scene.count > 1 else (HOME,)
    destinations = tuple(Destination(name, f"/{name}") for name in names)
    entry = MountEntry(
        "/m", destinations, Order.LEADER_FOLLOWER, fault_tolerant=scene.fault_tolerant
    )
    nameservices = _Obliging(dict.fromkeys(names))
    nameservices.method, nameservices.done = _PASSED_ON.get(method, method), []
    nameservices.down = {scene.away} - {""}
    router = InMemoryRouter([entry], names, nameservices=nameservices)
    told = ""
    try:
        answer = router.call(method, _request(method))
        for each in getattr(answer, "listings", ()):
            if each.HasField("exception"):
                raise errors.from_java(each.exception.className, each.exception.message)
    except errors.NoNamenodes:
        told = "refused"
    except errors.HowdahError as error:
        told = type(error).__name__
    done = " ".join(sorted({NUMBERS[each] for each in nameservices.done}))
    return ", ".join(part for part in (done, told) if part) or "answers"


SERVED: Final = tuple(each.name for each in DESCRIPTOR.methods if each.name not in REFUSED)
"""The calls that a router serves."""


@cache
def outcomes_of(method: str) -> tuple[str, ...]:
    """What becomes of a call in each scene."""
    return tuple(_outcome(method, scene) for scene in SCENES)


def table() -> str:
    """Calls of which the same becomes in one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for method in SERVED:
        rows.setdefault(outcomes_of(method), []).append(method)
    lines = [
        f"| calls | {' | '.join(scene.title for scene in SCENES)} |",
        f"|---{'|---' * len(SCENES)}|",
    ]
    for outcomes, methods in sorted(rows.items(), key=lambda row: -len(row[1])):
        called = ", ".join(f"`{each}`" for each in sorted(methods))
        lines.append(f"| {called} | {' | '.join(outcomes)} |")
    return "\n".join(lines)
