"""Versions of objects: what a bucket keeps, compared with a list of what happened."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.fs.memory.filesystem import forget
from howdah.fs.status import FileStatus
from howdah.gateway.s3 import objects
from howdah.gateway.s3 import versions as s3_versions
from howdah.gateway.s3.bucket_rules import SEEN_S, Seen
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Shared
from howdah.gateway.s3.protocol import locks, versions
from howdah.gateway.s3.protocol.listing import Version, list_page, list_versions
from howdah.gateway.s3.protocol.locks import BucketState, Default, Lock, Locking, Mode, Retention
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.names import checked_key
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.versions import Kind, Versioning, VersionName, name_for
from howdah.gateway.s3.versions import VersionedBucket
from tests.support.attributed_files import AttributedFiles, FilesInTurn

NAME = "s3-versions"
KEYS = ("a", "a-b", "dir-", "dir/k", "dir/k2")
OFF, ENABLED, SUSPENDED = Versioning


@pytest.fixture(autouse=True)
def _files() -> Iterator[None]:
    forget(NAME)
    yield
    forget(NAME)


def new_bucket(
    clock: Callable[[], int] | None = None, kind: type[AttributedFiles] = AttributedFiles
) -> VersionedBucket:
    forget(NAME)
    AttributedFiles.attributes.clear()
    files = kind(NAME, Configuration(), "ann")
    files.mkdirs("/b")
    now_us = clock or itertools.count(1).__next__
    shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(files), now_us=now_us)
    return VersionedBucket(files, "b", "/b", "ann", shared)


def put(bucket: VersionedBucket, key: str, body: bytes, **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return bucket.put(checked_key(key), [body], named, Metadata).version


def content(bucket: VersionedBucket, key: str, version: str = "") -> bytes | str:
    """What is read, or the code of the refusal."""
    try:
        with bucket.opened(checked_key(key), version) as found:
            return found.stream.read()
    except Refused as refused:
        return refused.code


def listed(
    bucket: VersionedBucket, *, most: int = 1000, prefix: str = "", delimiter: str = ""
) -> list[Version | str]:
    """All versions, by pages."""
    found: list[Version | str] = []
    after = place = ""
    while True:
        page = list_versions(
            bucket.version_source(),
            bucket.versions_of,
            prefix=prefix,
            delimiter=delimiter,
            after=after,
            place=place,
            max_keys=most,
        )
        found += page.entries
        if not page.is_truncated:
            return found
        after, place = page.next_marker


def keys_of(bucket: VersionedBucket, delimiter: str = "") -> list[str]:
    page = list_page(bucket.source(), prefix="", delimiter=delimiter, after="", max_keys=1000)
    return [entry.key for entry in page.entries]


def test_an_older_version_is_read_by_its_id() -> None:
    bucket = new_bucket()
    assert put(bucket, "dir/k", b"zero") == ""
    bucket.set_versioning(ENABLED)
    first, second = put(bucket, "dir/k", b"one"), put(bucket, "dir/k", b"two")
    assert bucket.fs.read_bytes("/b/dir/k") == b"two"
    assert [content(bucket, "dir/k", each) for each in ("", "null", first, second)] == [
        b"two",
        b"zero",
        b"one",
        b"two",
    ]
    assert content(bucket, "dir/k", "x") == "NoSuchVersion"
    assert content(bucket, "other", first) == "NoSuchVersion"


def test_a_deletion_leaves_a_marker_that_can_be_taken_away() -> None:
    bucket, key = new_bucket(), checked_key("dir/k")
    bucket.set_versioning(ENABLED)
    version = put(bucket, "dir/k", b"one")
    marker = bucket.delete(key, {})
    assert (marker.is_marker, marker.is_made) == (True, True)
    assert keys_of(bucket) == keys_of(bucket, "/") == []
    with pytest.raises(Refused) as refused:
        bucket.existing(key)
    assert refused.value.code == "NoSuchKey"
    assert refused.value.headers == {
        "x-amz-delete-marker": "true",
        "x-amz-version-id": marker.version,
    }
    assert content(bucket, "dir/k", marker.version) == "MethodNotAllowed"
    assert content(bucket, "dir/k", version) == b"one"
    deleted = bucket.delete(key, {}, marker.version)
    assert (deleted.version, deleted.is_marker) == (marker.version, True)
    assert content(bucket, "dir/k") == b"one"
    bucket.delete(key, {}, version)
    # What was made for it goes with it.
    assert [status.name for status in bucket.fs.list_status("/b")] == [
        ".howdah-s3",
        ".howdah-s3-versions",
    ]


def test_what_is_hidden_by_a_marker_is_no_common_prefix() -> None:
    bucket = new_bucket()
    bucket.set_versioning(ENABLED)
    for key in ("gone/deep/k", "there/k"):
        put(bucket, key, b"x")
    bucket.delete(checked_key("gone/deep/k"), {})
    assert keys_of(bucket) == ["there/k"]
    assert keys_of(bucket, "/") == ["there/"]
    assert listed(bucket, delimiter="/") == ["gone/", "there/"]
    bucket.put_directory(checked_key("gone/"), {}, Metadata())
    assert keys_of(bucket) == ["gone/", "there/k"]


def test_versions_stand_in_the_order_of_their_making_whatever_the_clock_says() -> None:
    times = iter([500, 100, 100, 700, 3])
    bucket = new_bucket(times.__next__)
    bucket.set_versioning(ENABLED)
    made = [put(bucket, "k", b"x") for _ in range(3)]
    made.append(bucket.delete(checked_key("k"), {}).version)
    made.append(put(bucket, "k", b"x"))
    assert [each.id for each in listed(bucket) if isinstance(each, Version)] == made[::-1]


def test_a_time_of_hdfs_is_no_reason_for_another_order() -> None:
    bucket = new_bucket()
    put(bucket, "k", b"x")
    bucket.fs.set_times("/b/k", 1 << 60)
    bucket.set_versioning(ENABLED)
    made = ["null", *(put(bucket, "k", b"x") for _ in range(9))]
    assert [each.id for each in listed(bucket) if isinstance(each, Version)] == made[::-1]


def test_a_file_that_hdfs_replaces_or_deletes_has_no_id() -> None:
    bucket = new_bucket()
    bucket.set_versioning(ENABLED)
    first = put(bucket, "k", b"one")
    bucket.fs.delete("/b/k")
    assert content(bucket, "k") == "NoSuchKey"
    bucket.fs.write_bytes("/b/k", b"of HDFS")
    second = put(bucket, "k", b"two")
    assert [content(bucket, "k", each) for each in ("", second, "null")] == [
        b"two",
        b"two",
        b"of HDFS",
    ]
    assert content(bucket, "k", first) == "NoSuchVersion"


def test_a_copy_with_the_id_of_its_source_does_not_replace_a_version() -> None:
    bucket = new_bucket()
    bucket.set_versioning(ENABLED)
    first = put(bucket, "k", b"one")
    put(bucket, "k", b"two")
    bucket.fs.write_bytes("/b/k", b"copy", overwrite=True)
    bucket.fs.set_xattr("/b/k", versions.ATTRIBUTE, first.encode())
    put(bucket, "k", b"three")
    contents = [
        bucket.fs.read_bytes(each.status.path)
        for each in listed(bucket)
        if isinstance(each, Version)
    ]
    assert contents == [b"three", b"copy", b"one"]


def test_conditions_are_about_the_current_version() -> None:
    bucket, key = new_bucket(), checked_key("k")
    bucket.set_versioning(ENABLED)
    put(bucket, "k", b"one", if_none_match="*")
    with pytest.raises(Refused, match="pre-conditions"):
        put(bucket, "k", b"two", if_none_match="*")
    with pytest.raises(Refused, match="pre-conditions"):
        put(bucket, "k", b"two", if_match='"other"')
    put(bucket, "k", b"two", if_match="*")
    with pytest.raises(Refused, match="pre-conditions"):
        bucket.delete(key, {"x-amz-if-match-size": "9"})
    bucket.delete(key, {"x-amz-if-match-size": "3"})
    with pytest.raises(Refused, match="pre-conditions"):
        bucket.delete(key, {"x-amz-if-match-size": "3"})
    put(bucket, "k", b"three", if_none_match="*")
    assert len(listed(bucket)) == 4


def test_a_key_below_an_object_gets_no_marker() -> None:
    bucket = new_bucket()
    bucket.set_versioning(ENABLED)
    put(bucket, "a", b"x")
    assert bucket.delete(checked_key("a/b"), {}).version == ""
    # What became a directory meanwhile has its versions all the same.
    bucket.delete(checked_key("a"), {})
    put(bucket, "a/b", b"y")
    shown = [(each.key, each.is_marker) for each in listed(bucket) if isinstance(each, Version)]
    assert shown == [("a", True), ("a", False), ("a/b", False)]
    for each in listed(bucket, most=1):
        assert isinstance(each, Version)
        bucket.delete(checked_key(each.key), {}, each.id)
    assert listed(bucket) == []


def test_whether_a_bucket_has_versions_is_seen_in_some_seconds() -> None:
    now_s = 0.0
    bucket = new_bucket()
    seen: Seen[BucketState] = Seen(lambda: now_s)
    shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(bucket.fs), states=seen)
    other = VersionedBucket(bucket.fs, "b", "/b", "ann", shared)
    assert other.versioning() is OFF
    bucket.set_versioning(ENABLED)
    assert (bucket.versioning(), other.versioning()) == (ENABLED, OFF)
    now_s = SEEN_S
    assert other.versioning() is ENABLED


def test_what_changed_while_it_was_looked_at_is_looked_at_again() -> None:
    seen: Seen[int] = Seen(lambda: 0.0)

    def look() -> int:
        seen.forget("b")
        return 1

    assert seen.of("b", look) == 1
    assert seen.of("b", lambda: 2) == 2
    assert seen.of("b", lambda: 3) == 2


class Unreadable(AttributedFiles):
    """Nobody may read attributes of the bucket."""

    def get_xattrs(self, path: object, names: object = ()) -> dict[str, bytes]:
        raise errors.AccessDenied(f"{path}")


def test_a_bucket_that_nobody_can_read_loses_no_versions() -> None:
    new_bucket().set_versioning(ENABLED)
    files = Unreadable(NAME, Configuration(), "ann")
    shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(files))
    bucket = VersionedBucket(files, "b", "/b", "ann", shared)
    with pytest.raises(Refused, match="may read what its directory says") as refused:
        put(bucket, "k", b"x")
    assert refused.value.code == "AccessDenied"
    files.delete("/b/.howdah-s3-versions")
    assert bucket.versioning() is OFF


@pytest.mark.parametrize(
    "text", ["", "null", "v", "../x", "0" * 24 + "n", "0" * 24 + "m", "0" * 24, "g" * 24 + "v"]
)
def test_what_is_no_id_is_none(text: str) -> None:
    attributes = {versions.ATTRIBUTE: text.encode()}
    assert versions.id_in(attributes) == ""


@given(st.lists(st.integers(0, 1 << 70), min_size=1), st.sampled_from(Kind))
def test_names_stand_newest_first(times: list[int], kind: Kind) -> None:
    name: VersionName | None = None
    for time_us in times:
        before, name = name, name_for(kind, time_us, name, b"abcd")
        assert versions.version_name(name.text) == name
        if before is not None and before.time_us < (1 << 64) - 1:
            assert name.text < before.text


def test_what_comes_between_becomes_an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (objects, s3_versions):
        monkeypatch.setattr(module, "HdfsFileSystem", FilesInTurn)
    bucket = new_bucket(kind=FilesInTurn)
    bucket.set_versioning(ENABLED)
    first, between = put(bucket, "k", b"one"), ""
    attributes = bucket._attributes

    def as_another_gateway(path: str) -> Mapping[str, bytes]:
        nonlocal between
        found = attributes(path)
        if path == "/b/k" and not between:
            between = "now"
            shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(bucket.fs))
            between = put(VersionedBucket(bucket.fs, "b", "/b", "ann", shared), "k", b"two")
        return found

    monkeypatch.setattr(bucket, "_attributes", as_another_gateway)
    last = put(bucket, "k", b"three")
    assert [content(bucket, "k", each) for each in ("", first, between, last)] == [
        b"three",
        b"one",
        b"two",
        b"three",
    ]


def test_a_version_is_gone_that_became_the_current_one_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket, key = new_bucket(), checked_key("k")
    bucket.set_versioning(ENABLED)
    first, second = put(bucket, "k", b"one"), put(bucket, "k", b"two")
    check, is_first = bucket._check_unlocked, iter([True])

    def as_another_gateway(status: FileStatus, headers: Mapping[str, str]) -> None:
        if next(is_first, False):
            shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(bucket.fs))
            VersionedBucket(bucket.fs, "b", "/b", "ann", shared).delete(key, {}, second)
        check(status, headers)

    monkeypatch.setattr(bucket, "_check_unlocked", as_another_gateway)
    bucket.delete(key, {}, first)
    assert [content(bucket, "k", each) for each in ("", first, second)] == [
        "NoSuchKey",
        "NoSuchVersion",
        "NoSuchVersion",
    ]
    assert listed(bucket) == []


@pytest.mark.parametrize("state", [OFF, ENABLED])
def test_what_is_kept_is_read_with_the_object_that_it_belongs_to(
    monkeypatch: pytest.MonkeyPatch, state: Versioning
) -> None:
    bucket, key = new_bucket(), checked_key("k")
    if state is not OFF:
        bucket.set_versioning(state)
    replaces = iter([False])

    def put_next(number: int) -> None:
        body = b"%d" % number
        bucket.put(key, [body], {}, lambda: Metadata(meta={"is": str(number)}))

    def replaced_before(path: str) -> Metadata:
        if next(replaces, False):
            put_next(2)
        return metadata(path)

    metadata = bucket.metadata
    monkeypatch.setattr(bucket, "metadata", replaced_before)
    put_next(1)
    replaces = iter([True])
    with bucket.opened(key) as found:
        assert found.stream.read().decode() == found.metadata.meta["is"] == "2"
    if state is not OFF:
        put_next(1)
        replaces = iter([True])
        status, kept = bucket.described(key)
        versions_there = {
            each.status.path: each.id for each in listed(bucket) if isinstance(each, Version)
        }
        assert versions_there[status.path] == kept.version


def test_a_path_that_is_too_long_for_a_key_is_listed() -> None:
    bucket = new_bucket()
    bucket.set_versioning(ENABLED)
    made = put(bucket, "k", b"x")
    path = "/".join(["d" * 250] * 5)
    bucket.fs.mkdirs(f"/b/{path}")
    bucket.fs.write_bytes(f"/b/{path}/of HDFS", b"x")
    shown = [(each.key, each.id) for each in listed(bucket, most=1) if isinstance(each, Version)]
    assert shown == [(f"{path}/of HDFS", "null"), ("k", made)]
    assert keys_of(bucket) == [f"{path}/of HDFS", "k"]


# Locks.

LOCKS = st.builds(
    Lock,
    st.none() | st.builds(Retention, st.sampled_from(Mode), st.integers(0, 1 << 47)),
    st.booleans(),
)


@given(LOCKS)
def test_a_lock_is_kept_as_it_is(lock: Lock) -> None:
    assert locks.decoded(locks.encoded(lock)) == lock
    headers = locks.headers_of(lock)
    assert locks.lock_of_headers({name.lower(): value for name, value in headers.items()}) == lock


@given(st.binary(max_size=60))
def test_a_damaged_lock_holds(data: bytes) -> None:
    found = locks.decoded(data)
    assert found is not None
    try:
        locks.check_deletable(found, 1 << 60, may_bypass=True)
    except Refused:
        pass
    assert locks.decoded_locking(data) is not None
    assert locks.decoded(None) is None
    assert locks.decoded_locking(None) is None


def test_a_damaged_lock_stops_a_deletion() -> None:
    for data in (b"", b"{", b"[]", b'{"mode":"x","until":1}', b'{"mode":"COMPLIANCE","until":"1"}'):
        assert locks.decoded(data) == Lock(is_held=True)


def is_denied(act: Callable[[], object]) -> bool:
    try:
        act()
    except Refused as refused:
        return refused.code == "AccessDenied"
    return False


G, C = Mode


@pytest.mark.parametrize(
    ("lock", "may_bypass", "is_deletable"),
    [
        (Lock(), False, True),
        (Lock(is_held=True), True, False),
        (Lock(Retention(G, 101)), False, False),
        (Lock(Retention(G, 101)), True, True),
        (Lock(Retention(G, 101), is_held=True), True, False),
        (Lock(Retention(C, 101)), True, False),
        (Lock(Retention(C, 100)), False, True),
    ],
)
def test_what_a_lock_stops(lock: Lock, may_bypass: bool, is_deletable: bool) -> None:
    check = partial(locks.check_deletable, lock, 100, may_bypass=may_bypass)
    assert is_denied(check) is not is_deletable


@pytest.mark.parametrize(
    ("old", "new", "may_bypass", "is_allowed"),
    [
        (None, Retention(C, 1), False, True),
        (Retention(C, 100), None, False, True),
        (Retention(C, 200), Retention(C, 300), False, True),
        (Retention(C, 200), Retention(C, 199), True, False),
        (Retention(C, 200), Retention(G, 300), True, False),
        (Retention(C, 200), None, True, False),
        (Retention(G, 200), Retention(G, 200), False, True),
        (Retention(G, 200), Retention(G, 150), False, False),
        (Retention(G, 200), Retention(C, 300), False, False),
        (Retention(G, 200), None, True, True),
    ],
)
def test_which_retention_takes_the_place_of_another_one(
    old: Retention | None, new: Retention | None, may_bypass: bool, is_allowed: bool
) -> None:
    check = partial(locks.check_replacing, old, new, 100, may_bypass=may_bypass)
    assert is_denied(check) is not is_allowed


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("<a/>", "MalformedXML"),
        ("<ObjectLockEnabled>Disabled</ObjectLockEnabled>", "MalformedXML"),
        ("<ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule/>", "MalformedXML"),
        ("<Mode>X</Mode><Days>1</Days>", "MalformedXML"),
        ("<Mode>GOVERNANCE</Mode>", "MalformedXML"),
        ("<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>", "MalformedXML"),
        ("<Mode>GOVERNANCE</Mode><Days>0</Days>", "InvalidArgument"),
        ("<Mode>GOVERNANCE</Mode><Years>101</Years>", "InvalidArgument"),
    ],
)
def test_a_default_is_checked(document: str, code: str) -> None:
    if document.startswith("<Mode"):
        document = (
            "<ObjectLockEnabled>Enabled</ObjectLockEnabled>"
            f"<Rule><DefaultRetention>{document}</DefaultRetention></Rule>"
        )
    with pytest.raises(Refused) as refused:
        locks.locking_of_document(
            f"<ObjectLockConfiguration>{document}</ObjectLockConfiguration>".encode()
        )
    assert refused.value.code == code


def test_a_locked_version_is_deleted_when_its_time_is_over() -> None:
    now_us = 0
    bucket = new_bucket(lambda: now_us)
    with pytest.raises(Refused) as refused:
        bucket.set_locking(Locking())
    assert refused.value.code == "InvalidBucketState"
    bucket.set_versioning(ENABLED)
    locked = Metadata(lock=Lock(is_held=True))
    with pytest.raises(Refused, match="missing Object Lock"):
        bucket.put(checked_key("k"), [b"x"], {}, lambda: locked)
    bucket.set_locking(Locking(Default(Mode.COMPLIANCE, "Days", 1)))
    with pytest.raises(Refused) as refused:
        bucket.set_versioning(SUSPENDED)
    assert refused.value.code == "InvalidBucketState"
    version = put(bucket, "k", b"x")
    put(bucket, "k", b"y")
    bucket.delete(checked_key("k"), {})
    with pytest.raises(Refused) as refused:
        bucket.delete(checked_key("k"), {locks.BYPASS: "true"}, version)
    assert refused.value.code == "AccessDenied"
    assert content(bucket, "k", version) == b"x"
    now_us = 24 * 3600 * 1_000_000
    bucket.delete(checked_key("k"), {}, version)
    assert content(bucket, "k", version) == "NoSuchVersion"


def test_a_directory_is_not_locked() -> None:
    bucket, key = new_bucket(), checked_key("d/")
    bucket.set_versioning(ENABLED)
    bucket.set_locking(Locking(Default(Mode.COMPLIANCE, "Days", 1)))
    with pytest.raises(Refused, match="no versions that could be locked"):
        bucket.put_directory(key, {}, Metadata(lock=Lock(is_held=True)))
    bucket.put_directory(key, {}, Metadata())
    assert bucket.metadata("/b/d").lock is None
    with pytest.raises(Refused, match="no versions that could be locked"):
        bucket.check_lockable(key)
    bucket.check_lockable(checked_key("d"))


# The same by a model: a list for each key, newest first.


@dataclass
class Kept:
    id: str
    body: bytes | None
    """None: a delete marker."""


@dataclass
class Model:
    """What S3 says of versions, in a bucket that HDFS does not touch."""

    state: Versioning = OFF
    keys: dict[str, list[Kept]] = field(default_factory=dict)

    def of(self, key: str) -> list[Kept]:
        return self.keys.setdefault(key, [])

    def add(self, key: str, new_id: str, body: bytes | None) -> None:
        if self.state is not ENABLED:
            new_id = "null"
            self.keys[key] = [each for each in self.of(key) if each.id != "null"]
        self.of(key).insert(0, Kept(new_id, body))

    def current(self, key: str) -> bytes | None:
        kept = self.of(key)
        return kept[0].body if kept else None


STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KEYS)),
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("forget"), st.sampled_from(KEYS), st.integers(0, 4)),
    st.tuples(st.just("state"), st.sampled_from([ENABLED, SUSPENDED])),
)


@pytest.mark.parametrize("kind", [AttributedFiles, FilesInTurn])
@given(st.lists(STEPS, max_size=25), st.integers(1, 5))
def test_a_bucket_keeps_what_the_model_keeps(
    kind: type[AttributedFiles], steps: list[tuple[object, ...]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        # What is asked for is what only a client of howdah's namenode has.
        for module in (objects, s3_versions):
            patched.setattr(module, "HdfsFileSystem", FilesInTurn)
        run_steps(new_bucket(kind=kind), steps, most)


def run_steps(bucket: VersionedBucket, steps: list[tuple[object, ...]], most: int) -> None:
    model = Model()
    for number, step in enumerate(steps):
        kind, what = step[0], step[1]
        if kind == "state":
            assert isinstance(what, Versioning)
            model.state = what
            bucket.set_versioning(what)
            continue
        assert isinstance(what, str)
        key = checked_key(what)
        if kind == "put":
            body = b"%d" % number
            model.add(what, put(bucket, what, body), body)
        elif kind == "delete":
            deleted = bucket.delete(key, {})
            if model.state is OFF:
                model.keys[what] = []
            else:
                assert deleted.is_made
                model.add(what, deleted.version, None)
        else:
            place = step[2]
            assert isinstance(place, int)
            kept = model.of(what)
            if place < len(kept):
                gone = kept.pop(place)
                assert bucket.delete(key, {}, gone.id).is_marker == (gone.body is None)
        check(bucket, model, most)
    for each in listed(bucket, most=most):
        assert isinstance(each, Version)
        bucket.delete(checked_key(each.key), {}, each.id)
    left = [*bucket.fs.walk("/b")]
    assert [status.path for _, _, files in left for status in files] == []
    assert {path for path, _, _ in left} <= {
        "/b",
        "/b/.howdah-s3",
        "/b/.howdah-s3-versions",
        "/b/.howdah-s3/ann",
        "/b/.howdah-s3/ann/objects",
    }


def check(bucket: VersionedBucket, model: Model, most: int) -> None:
    current = {key: model.current(key) for key in KEYS}
    assert keys_of(bucket) == sorted(key for key in KEYS if current[key] is not None)
    expected = [
        (key, kept.id, kept.body is None, place == 0)
        for key in sorted(KEYS)
        for place, kept in enumerate(model.of(key))
    ]
    found = [
        (each.key, each.id, each.is_marker, each.is_latest)
        for each in listed(bucket, most=most)
        if isinstance(each, Version)
    ]
    assert found == expected
    for key in KEYS:
        body = current[key]
        assert content(bucket, key) == ("NoSuchKey" if body is None else body)
        for kept in model.of(key):
            if kept.body is not None:
                assert content(bucket, key, kept.id) == kept.body
