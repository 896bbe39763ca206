"""A gateway that dies before or after any change that it makes at the filesystem.

What was acknowledged is whole. What was not is whole, or not there; whoever sends it again through
another gateway has it, and what is left goes when its time is over.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.paths import PathLike
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Bucket, Shared
from howdah.gateway.s3.protocol import multipart
from howdah.gateway.s3.protocol.listing import list_page
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.multipart import WantedPart
from howdah.gateway.s3.protocol.names import checked_key
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.versions import Versioning
from howdah.gateway.s3.uploads import Uploads
from howdah.gateway.s3.versions import VersionedBucket

NAME = "s3-kills"
KEY = checked_key("dir/k")
OLD, NEW = b"old", b"new" * 1000
META = {"is": "new"}
LEAST_PART_BYTES = 50
"""Instead of 5 MiB."""
PARTS = {1: b"a" * LEAST_PART_BYTES, 2: b"b" * LEAST_PART_BYTES, 3: b"end"}
LATER_MS = 1 << 50


class Killed(BaseException):
    """A process has ended, wherever it was: nothing catches it, and nothing is done behind it."""


@dataclass
class Life:
    """How many changes a process makes until it is killed; None: all that it wants."""

    left: int | None = None
    is_done: bool = True
    """Whether the last change is made yet."""
    is_over: bool = False

    def end(self) -> None:
        self.is_over = True
        raise Killed

    def change(self, make: Callable[[], Any]) -> Any:
        self.check()
        if self.left is None:
            return make()
        self.left -= 1
        if self.left > 0:
            return make()
        if self.is_done:
            make()
        self.end()
        raise AssertionError

    def check(self) -> None:
        if self.is_over:
            raise Killed


class Files(MemoryFileSystem):
    """What one process has of the filesystem; attributes are those of all."""

    attributes: ClassVar[dict[tuple[int | None, str], bytes]] = {}
    has_concat: ClassVar[bool] = True

    def __init__(self, life: Life) -> None:
        super().__init__(NAME, Configuration(), "ann")
        self.life = life

    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        place = self.get_file_status(path).file_id, name
        if place in self.attributes and not replace:
            raise errors.RemoteError(f"{name} is there")
        self.life.change(lambda: self.attributes.__setitem__(place, value or b""))

    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        file_id = self.get_file_status(path).file_id
        return {name: value for (of, name), value in self.attributes.items() if of == file_id}

    def get_xattr(self, path: PathLike, name: str) -> bytes:
        try:
            return self.get_xattrs(path)[name]
        except KeyError:
            raise errors.AttributeNotFound(name) from None

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        found = super().path_capabilities(path) | {capabilities.XATTRS}
        return found if self.has_concat else found - {capabilities.CONCAT}

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in ("create", "concat", "delete", "mkdirs", "rename", "set_permission"):
            life = super().__getattribute__("life")
            return lambda *args, **named: life.change(functools.partial(found, *args, **named))
        return found


def bucket_of(life: Life) -> Bucket:
    """As another gateway has it."""
    files = Files(life)
    return Bucket(files, "b", "/b", "ann", Shared(KeyLocks(), 0o022, lambda: nullcontext(files)))


@pytest.fixture(autouse=True)
def _files() -> Iterator[None]:
    Files.attributes.clear()
    yield
    forget(NAME)


def fresh(*, has_object: bool) -> Bucket:
    forget(NAME)
    Files.attributes.clear()
    Files(Life()).mkdirs("/b")
    bucket = bucket_of(Life())
    if has_object:
        bucket.put(KEY, [OLD], {}, Metadata)
    return bucket


@dataclass
class Client:
    """Sends what was not acknowledged again, until all is."""

    body: bytes
    put: Callable[[Client, Bucket], None]
    upload: str = ""
    etags: dict[int, str] = field(default_factory=dict)
    is_told: bool = False

    def run(self, life: Life) -> None:
        self.put(self, bucket_of(life))
        self.is_told = True


def pieces(bucket: Bucket, body: bytes) -> Iterator[bytes]:
    """A process may die in the middle of a body, too."""
    yield body[: len(body) // 2]
    files = bucket.fs
    assert isinstance(files, Files)
    files.life.change(lambda: None)
    yield body[len(body) // 2 :]


def put_whole(client: Client, bucket: Bucket) -> None:
    bucket.put(KEY, pieces(bucket, client.body), {}, lambda: Metadata(meta=META))


def put_parts(client: Client, bucket: Bucket) -> None:
    uploads = Uploads(bucket)
    if not client.upload:
        client.upload = uploads.begin(KEY, Metadata(meta=META))
    for number, body in PARTS.items():
        if number not in client.etags:
            part = uploads.add(KEY, client.upload, number, pieces(bucket, body))
            client.etags[number] = part.etag
    wanted = [WantedPart(number, etag) for number, etag in sorted(client.etags.items())]
    uploads.complete(KEY, client.upload, wanted, {})


def keys_in(bucket: Bucket) -> list[str]:
    page = list_page(bucket.source(), prefix="", delimiter="", after="", max_keys=10)
    return [entry.key for entry in page.entries if entry.status and not entry.status.is_directory]


def check(client: Client, bucket: Bucket, *, has_object: bool) -> None:
    """An object is whole, and the new one has what belongs to it."""
    found = bucket.find(KEY)
    if found is None:
        assert not has_object
        assert not client.is_told
        assert keys_in(bucket) == []
        return
    assert keys_in(bucket) == [KEY.text]
    content = bucket.fs.read_bytes(found.path)
    if client.is_told or content != OLD:
        assert content == client.body
        assert bucket.metadata(found.path).meta == META
    else:
        assert has_object


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("has_object", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize(
    ("put", "body", "has_concat"),
    [
        (put_whole, NEW, True),
        (put_parts, b"".join(PARTS.values()), True),
        (put_parts, b"".join(PARTS.values()), False),
    ],
    ids=["put", "parts", "parts without concat"],
)
def test_a_gateway_dies_at_every_step(
    monkeypatch: pytest.MonkeyPatch,
    put: Callable[[Client, Bucket], None],
    body: bytes,
    has_concat: bool,
    has_object: bool,
    is_done: bool,
) -> None:
    monkeypatch.setattr(Files, "has_concat", has_concat)
    monkeypatch.setattr(multipart, "LEAST_PART_BYTES", LEAST_PART_BYTES)
    for step in itertools.count(1):
        bucket = fresh(has_object=has_object)
        client = Client(body, put)
        life = Life(step, is_done)
        try:
            client.run(life)
        except Killed:
            pass
        check(client, bucket, has_object=has_object)
        if not life.is_over:
            break
        client.run(Life())
        check(client, bucket, has_object=has_object)
        assert Uploads(bucket).sweep(LATER_MS) <= 2
        left = [*bucket.fs.walk("/b/.howdah-s3")]
        assert [status.path for _, _, files in left for status in files] == []
    assert step > 4


# Versions, before a filesystem that renames one file at a time.


def versioned(life: Life) -> VersionedBucket:
    """As another gateway has it."""
    files = Files(life)
    shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(files))
    return VersionedBucket(files, "b", "/b", "ann", shared)


def content(bucket: VersionedBucket, version: str = "") -> bytes | str:
    """What is read, or the code of the refusal."""
    try:
        with bucket.opened(KEY, version) as found:
            return found.stream.read()
    except Refused as refused:
        return refused.code


@dataclass(frozen=True)
class Change:
    """Something that is done to a key with three versions."""

    make: Callable[[VersionedBucket, str, str], object]
    """Given the ids of the current version, and of the marker if there is one."""
    after: bytes | str
    """What is read afterwards."""
    has_marker: bool = False
    deletes: bool = False
    """It deletes the third version."""


CHANGES = {
    "put": Change(lambda bucket, *_: bucket.put(KEY, [NEW], {}, Metadata), NEW),
    "deletion": Change(lambda bucket, *_: bucket.delete(KEY, {}), "NoSuchKey"),
    "deletion of the current version": Change(
        lambda bucket, third, _: bucket.delete(KEY, {}, third), b"two", deletes=True
    ),
    "deletion of an older version": Change(
        lambda bucket, third, _: bucket.delete(KEY, {}, third),
        "NoSuchKey",
        has_marker=True,
        deletes=True,
    ),
    "deletion of a marker": Change(
        lambda bucket, _, marker: bucket.delete(KEY, {}, marker), b"three", has_marker=True
    ),
}


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", CHANGES)
def test_no_version_is_lost_whenever_a_gateway_dies(name: str, is_done: bool) -> None:
    change = CHANGES[name]
    for step in itertools.count(1):
        fresh(has_object=True)
        bucket = versioned(Life())
        bucket.set_versioning(Versioning.ENABLED)
        kept: dict[str, bytes | str] = {"null": OLD}
        for body in (b"two", b"three"):
            third = bucket.put(KEY, [body], {}, Metadata).version
            kept[third] = body
        marker = bucket.delete(KEY, {}).version if change.has_marker else ""
        life = Life(step, is_done)
        try:
            change.make(versioned(life), third, marker)
        except Killed:
            pass
        if change.deletes and content(versioned(Life()), third) != b"three":
            kept[third] = "NoSuchVersion"
        survivor = versioned(Life())
        assert {version: content(survivor, version) for version in kept} == kept
        if not life.is_over:
            assert content(survivor) == change.after
            break
        change.make(survivor, third, marker)
        assert content(survivor) == change.after
        if change.deletes:
            kept[third] = "NoSuchVersion"
        assert {version: content(survivor, version) for version in kept} == kept
    assert step > 1
