"""Uploads in parts that break off, are copied together, or nobody goes on with."""

from __future__ import annotations

import base64
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs import capabilities
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.paths import PathLike
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Bucket, Shared, Written
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.conditions import etag_of
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.multipart import LEAST_PART_BYTES, WantedPart
from howdah.gateway.s3.protocol.names import checked_key
from howdah.gateway.s3.protocol.part_sums import SumKind, SumType
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.uploads import Sweeper, Uploads

NAME = "s3-uploads"
KEY = checked_key("dir/k")
BODIES = {1: b"a" * LEAST_PART_BYTES, 2: b"b" * LEAST_PART_BYTES, 5: b"end"}


class Files(MemoryFileSystem):
    """Has attributes, fails where a test wants it to, and may lack concat."""

    failing: str = ""
    undeleted: str = ""
    gone: str = ""
    unreadable: str = ""
    has_concat: bool = True
    refusal: errors.HowdahError | None = None

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        if self.failing and self.failing in str(dst):
            raise errors.Unreachable("the namenode has gone")
        super().rename(src, dst, overwrite=overwrite)

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self._attributes: dict[tuple[int | None, str], bytes] = {}

    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        self._attributes[self.get_file_status(path).file_id, name] = value or b""

    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        if str(path) == self.unreadable:
            raise errors.AccessDenied(str(path))
        file_id = self.get_file_status(path).file_id
        return {name: value for (of, name), value in self._attributes.items() if of == file_id}

    def get_xattr(self, path: PathLike, name: str) -> bytes:
        try:
            return self._attributes[self.get_file_status(path).file_id, name]
        except KeyError:
            raise errors.AttributeNotFound(name) from None

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        if self.undeleted and self.undeleted in str(path):
            raise errors.Unreachable("the namenode has gone")
        return super().delete(path, recursive=recursive)

    def concat(self, target: PathLike, sources: Any) -> None:
        for source in sources:
            if self.gone and self.gone in str(source):
                super().delete(source)
        if self.failing == "concat":
            raise errors.Unreachable("the namenode has gone")
        if self.refusal is not None:
            raise self.refusal
        super().concat(target, sources)

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        found = super().path_capabilities(path) | {capabilities.XATTRS}
        return found if self.has_concat else found - {capabilities.CONCAT}


@pytest.fixture
def files() -> Iterator[Files]:
    found = Files(NAME, Configuration(), "ann")
    found.mkdirs("/b")
    yield found
    forget(NAME)


@pytest.fixture
def bucket(files: Files) -> Bucket:
    @contextmanager
    def own_files() -> Iterator[Files]:
        yield files

    return Bucket(files, "b", "/b", "ann", Shared(KeyLocks(), 0o022, own_files))


SUMS = SumKind("crc32", SumType.FULL_OBJECT)


def begun(
    bucket: Bucket, kind: SumKind | None = None, others: Others | None = None
) -> tuple[str, list[WantedPart]]:
    uploads = Uploads(bucket)
    upload = uploads.begin(KEY, Metadata(others=others), kind)
    parts = [
        WantedPart(number, uploads.add(KEY, upload, number, [body]).etag)
        for number, body in sorted(BODIES.items(), reverse=True)
    ]
    return upload, sorted(parts, key=lambda part: part.number)


@pytest.mark.parametrize("has_concat", [True, False])
@pytest.mark.parametrize("failing", ["", "/joined-", "concat", "-copied", "/b/dir/k"])
def test_a_completion_that_broke_off_is_gone_on_with(
    files: Files, bucket: Bucket, failing: str, has_concat: bool
) -> None:
    files.has_concat = has_concat
    upload, parts = begun(bucket, SUMS)
    files.failing = failing
    try:
        Uploads(bucket).complete(KEY, upload, parts, {})
    except errors.Unreachable:
        assert not files.exists("/b/dir/k")
        files.failing = ""
        Uploads(bucket).complete(KEY, upload, parts, {})
    assert files.read_bytes("/b/dir/k") == b"".join(BODIES.values())
    kept = bucket.metadata("/b/dir/k")
    whole = zlib.crc32(b"".join(BODIES.values())).to_bytes(4, "big")
    assert kept.checksum == {SUMS.header: base64.b64encode(whole).decode()}
    assert kept.parts.sizes(sum(map(len, BODIES.values()))) == [
        len(BODIES[n]) for n in sorted(BODIES)
    ]
    assert files.list_status("/b/.howdah-s3/ann/uploads") == []
    assert files.list_status("/b/.howdah-s3/ann/objects") == []


def test_parts_in_an_encryption_zone_are_copied_together(files: Files, bucket: Bucket) -> None:
    upload, parts = begun(bucket)
    # As namenodes of howdah's and Hadoop's refuse it.
    files.refusal = errors.from_java(
        "org.apache.hadoop.HadoopIllegalArgumentException",
        "concat can not be called for files in an encryption zone.",
    )
    Uploads(bucket).complete(KEY, upload, parts, {})
    assert files.read_bytes("/b/dir/k") == b"".join(BODIES.values())


@pytest.mark.parametrize("others", [None, Others(), Others(read=True, write=True)])
@pytest.mark.parametrize("has_concat", [True, False])
def test_others_may_do_what_the_beginning_said_however_the_parts_are_joined(
    files: Files, bucket: Bucket, has_concat: bool, others: Others | None
) -> None:
    files.has_concat = has_concat
    upload, parts = begun(bucket, others=others)
    Uploads(bucket).complete(KEY, upload, parts, {})
    mode = 0o644 if others is None else others.mode(0o644, is_directory=False)
    assert files.get_file_status("/b/dir/k").permission == mode


@pytest.mark.parametrize("headers", [{}, {"if-none-match": "*"}])
def test_a_completion_whose_end_nobody_heard_is_done(
    files: Files, bucket: Bucket, headers: dict[str, str]
) -> None:
    upload, parts = begun(bucket)
    files.undeleted = "/uploads/"
    with pytest.raises(errors.Unreachable):
        Uploads(bucket).complete(KEY, upload, parts, headers)
    files.undeleted = ""
    status = Uploads(bucket).complete(KEY, upload, parts, headers).status
    assert etag_of(status) == etag_of(files.get_file_status("/b/dir/k"))
    assert files.list_status("/b/.howdah-s3/ann/uploads") == []


@pytest.mark.parametrize("has_concat", [True, False])
@pytest.mark.parametrize("failing", ["/joined-", "concat", "-copied", "/b/dir/k"])
def test_a_completion_with_an_empty_last_part_is_gone_on_with(
    files: Files, bucket: Bucket, failing: str, has_concat: bool
) -> None:
    files.has_concat = has_concat
    uploads = Uploads(bucket)
    upload = uploads.begin(KEY, Metadata())
    bodies = [BODIES[1], BODIES[2], b""]
    parts = [
        WantedPart(number, uploads.add(KEY, upload, number, [body]).etag)
        for number, body in enumerate(bodies, 1)
    ]
    files.failing = failing
    try:
        uploads.complete(KEY, upload, parts, {})
    except errors.Unreachable:
        files.failing = ""
        uploads.complete(KEY, upload, parts, {})
    assert files.read_bytes("/b/dir/k") == b"".join(bodies)


def test_of_completions_at_once_each_is_told_of_the_object(files: Files, bucket: Bucket) -> None:
    upload, parts = begun(bucket)
    told: list[str] = []
    barrier = threading.Barrier(4)

    def complete() -> None:
        barrier.wait(60)
        told.append(etag_of(Uploads(bucket).complete(KEY, upload, parts, {}).status))

    threads = [threading.Thread(target=complete) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [etag_of(files.get_file_status("/b/dir/k"))] * 4


def test_parts_that_another_gateway_takes_away_meanwhile_are_asked_for_again(
    files: Files, bucket: Bucket
) -> None:
    upload, parts = begun(bucket)
    files.gone = "part-00002"
    with pytest.raises(Refused) as refused:
        Uploads(bucket).complete(KEY, upload, parts, {})
    assert refused.value.status == 503


def test_a_completion_is_answered_with_its_own_sums(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, parts = begun(bucket, SUMS)
    publish = bucket.publish

    def replaced(*args: Any) -> Written:
        written = publish(*args)
        bucket.delete(KEY, {})
        return written

    monkeypatch.setattr(bucket, "publish", replaced)
    written = Uploads(bucket).complete(KEY, upload, parts, {})
    assert written.metadata is not None
    assert list(written.metadata.checksum) == [SUMS.header]
    assert written.metadata.checksum_type == "FULL_OBJECT"


def test_a_part_that_is_sent_again_is_the_same_if_its_bytes_are(bucket: Bucket) -> None:
    uploads = Uploads(bucket)
    upload = uploads.begin(KEY, Metadata())
    first, again = (uploads.add(KEY, upload, 1, [b"one"]) for _ in range(2))
    assert first.etag == again.etag
    assert uploads.add(KEY, upload, 1, [b"two"]).etag != first.etag


def test_of_parts_with_one_number_the_last_one_counts(files: Files, bucket: Bucket) -> None:
    uploads = Uploads(bucket)
    upload = uploads.begin(KEY, Metadata())
    old, new = (uploads.add(KEY, upload, 1, [body]) for body in (b"old", b"new"))
    assert uploads.parts(KEY, upload)[1].etag == new.etag
    with pytest.raises(Refused, match="could not be found"):
        uploads.complete(KEY, upload, [WantedPart(1, old.etag)], {})
    uploads.complete(KEY, upload, [WantedPart(1, new.etag)], {})
    assert files.read_bytes("/b/dir/k") == b"new"
    assert files.list_status("/b/.howdah-s3/ann/uploads") == []


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"x-amz-checksum-crc32": "AAAAAA=="}, "BadDigest"),
        ({"x-amz-checksum-type": "COMPOSITE"}, "InvalidRequest"),
        ({"x-amz-mp-object-size": "7"}, "InvalidRequest"),
    ],
)
def test_a_completion_that_says_something_else_of_the_object_is_refused(
    bucket: Bucket, headers: dict[str, str], code: str
) -> None:
    upload, parts = begun(bucket, SUMS)
    with pytest.raises(Refused) as refused:
        Uploads(bucket).complete(KEY, upload, parts, headers)
    assert refused.value.code == code
    # It can be completed still.
    Uploads(bucket).complete(KEY, upload, parts, {})


def test_a_part_whose_sum_is_another_one_is_refused(bucket: Bucket) -> None:
    upload, parts = begun(bucket, SUMS)
    wrong = replace(parts[0], sums={"ChecksumCRC32": "AAAAAA=="})
    with pytest.raises(Refused) as refused:
        Uploads(bucket).complete(KEY, upload, [wrong, *parts[1:]], {})
    assert refused.value.code == "InvalidPart"


def test_an_object_is_replaced_that_its_user_may_not_read(files: Files, bucket: Bucket) -> None:
    files.write_bytes("/b/dir/k", b"of another")
    upload, parts = begun(bucket)
    files.unreadable = "/b/dir/k"
    Uploads(bucket).complete(KEY, upload, parts, {})
    assert files.read_bytes("/b/dir/k") == b"".join(BODIES.values())


def test_who_may_not_make_a_key_keeps_nothing_in_its_bucket(files: Files, bucket: Bucket) -> None:
    files.mkdirs("/b/closed")
    files.set_permission("/b", 0o777)
    bob = Files(NAME, Configuration(), "bob")
    uploads = Uploads(
        Bucket(bob, "b", "/b", "bob", Shared(KeyLocks(), 0o022, lambda: nullcontext(bob)))
    )
    with pytest.raises(errors.AccessDenied):
        uploads.begin(checked_key("closed/new/k"), Metadata())
    assert not files.exists("/b/.howdah-s3")
    files.write_bytes("/b/file", b"")
    with pytest.raises(Refused) as refused:
        uploads.begin(checked_key("file/k"), Metadata())
    assert refused.value.code == "ExistingObjectIsFile"
    uploads.begin(checked_key("new/k"), Metadata())


def test_a_sweep_that_fails_is_no_failure_of_what_was_asked(
    files: Files, bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    old, _ = begun(bucket)
    files.undeleted = old
    Sweeper(0, lambda: 1e11).sweep(bucket)
    assert "is swept later" in caplog.text
    assert files.exists(f"/b/.howdah-s3/ann/uploads/{old}")


def test_a_completion_of_other_parts_is_not_gone_on_with(files: Files, bucket: Bucket) -> None:
    upload, parts = begun(bucket)
    files.failing = "/b/dir/k"
    with pytest.raises(errors.Unreachable):
        Uploads(bucket).complete(KEY, upload, parts, {})
    files.failing = ""
    with pytest.raises(Refused) as refused:
        Uploads(bucket).complete(KEY, upload, parts[:2], {})
    assert refused.value.code == "InvalidPart"
    Uploads(bucket).complete(KEY, upload, parts, {})


def test_the_last_part_may_be_empty(files: Files, bucket: Bucket) -> None:
    uploads = Uploads(bucket)
    for bodies in ([b""], [BODIES[1], b""]):
        upload = uploads.begin(KEY, Metadata())
        parts = [
            WantedPart(number, uploads.add(KEY, upload, number, [body]).etag)
            for number, body in enumerate(bodies, 1)
        ]
        uploads.complete(KEY, upload, parts, {})
        assert files.read_bytes("/b/dir/k") == b"".join(bodies)


def test_what_nobody_goes_on_with_is_swept_now_and_then(files: Files, bucket: Bucket) -> None:
    old, _ = begun(bucket)
    now = files.get_file_status(f"/b/.howdah-s3/ann/uploads/{old}").modification_time_ms / 1000
    times = [now + 50]
    sweeper = Sweeper(100, lambda: times[0])
    sweeper.sweep(bucket)
    assert files.exists(f"/b/.howdah-s3/ann/uploads/{old}")
    times[0] = now + 200
    sweeper.sweep(bucket)
    assert files.exists(f"/b/.howdah-s3/ann/uploads/{old}"), "it has just looked"
    times[0] = now + 5000
    sweeper.sweep(bucket)
    assert not files.exists(f"/b/.howdah-s3/ann/uploads/{old}")


def test_a_damaged_upload_can_be_aborted(files: Files, bucket: Bucket) -> None:
    upload, parts = begun(bucket)
    directory = f"/b/.howdah-s3/ann/uploads/{upload}"
    with files.create(f"{directory}/about.json", overwrite=True) as out:
        out.write(b"{")
    with pytest.raises(Refused):
        Uploads(bucket).complete(KEY, upload, parts, {})
    Uploads(bucket).abort(KEY, upload)
    assert not files.exists(directory)


def test_one_at_a_time_has_the_lock_of_a_key() -> None:
    locks, order = KeyLocks(), list[str]()
    waits, goes_on = threading.Event(), threading.Event()

    def other() -> None:
        waits.set()
        with locks.held("/a"):
            order.append("second")
        goes_on.set()

    with locks.held("/a"):
        thread = threading.Thread(target=other)
        thread.start()
        assert waits.wait(60)
        with locks.held("/b"):
            order.append("first")
    assert goes_on.wait(60)
    thread.join()
    assert order == ["first", "second"]
