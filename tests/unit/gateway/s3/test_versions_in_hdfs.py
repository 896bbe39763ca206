"""Versions of objects by the calls of a client of HDFS, to a namenode in this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.statistics import Tally
from howdah.config import Configuration
from howdah.fs.acl import parse_acl
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.paths import PathLike
from howdah.gateway.s3.buckets import Buckets
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Shared
from howdah.gateway.s3.protocol import locks
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.conditions import etag_of
from howdah.gateway.s3.protocol.listing import Version, list_versions
from howdah.gateway.s3.protocol.locks import Default, Lock, Locking, Mode, Retention
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.names import checked_key
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.versions import Versioning
from howdah.gateway.s3.versions import VersionedBucket
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode

KEY = checked_key("dir/k")
OWN_FIELDS = {"rename2": ("next", "known", "replaces"), "delete": ("known",)}
LAST_MS = 9_000_000_000_000
GROUPS = {"ann": ("staff",), "bob": ("web",), "eve": ("staff",), "dan": ("staff",), "flo": ()}


class Calls:
    """Of one user."""

    address = ("nn", 8020)

    def __init__(self, namenode: InMemoryNamenode, user: str) -> None:
        self.user = user
        self.methods: list[str] = []
        self.is_hadoops = False
        """Whether the namenode leaves out what Hadoop's knows nothing of."""
        self._namenode = namenode

    def call(self, method: str, request: Message, response_type: Any) -> Any:
        self.methods.append(method)
        if self.is_hadoops:
            for name in OWN_FIELDS.get(method, ()):
                request.ClearField(name)
        return self._namenode.call(method, request, user=self.user)

    def close(self) -> None:
        pass


class EmptyFile:
    """A file that nothing is written to, as there are no datanodes."""

    def __init__(self, calls: Calls, path: str) -> None:
        self._calls = calls
        self._path = path
        request = pb.CreateRequestProto(
            src=path,
            masked=types_pb2.FsPermissionProto(perm=0o644),
            clientName=calls.user,
            createFlag=1,
            createParent=False,
            replication=1,
            blockSize=1 << 20,
        )
        calls.call("create", request, None)

    def write(self, data: bytes) -> None:
        assert not data

    def close(self) -> None:
        request = pb.CompleteRequestProto(src=self._path, clientName=self._calls.user)
        assert self._calls.call("complete", request, None).result


class EmptyFiles(HdfsFileSystem):
    """HDFS, as one user."""

    def __init__(self, namenode: InMemoryNamenode, user: str) -> None:
        self.calls = Calls(namenode, user)
        conf = Configuration({"fs.permissions.umask-mode": "000"})
        HdfsNamespace.__init__(self, "nn:8020", conf, user, NamenodeProxy(self.calls), Tally())

    def trash_root(self, path: PathLike) -> str:
        """It has no key servers, and so no zones."""
        return FileSystem.trash_root(self, path)

    def create(self, path: PathLike, *args: Any, **how: Any) -> Any:
        return EmptyFile(self.calls, str(path))


@pytest.fixture
def bucket_as() -> Callable[[str], VersionedBucket]:
    """Ann's bucket, as a user has it."""
    namenode = InMemoryNamenode(Settings(""), groups=GROUPS)
    root = EmptyFiles(namenode, "root")
    root.mkdirs("/b", 0o755)
    root.set_owner("/b", "ann", "staff")

    def make(user: str) -> VersionedBucket:
        files = EmptyFiles(namenode, user)
        shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(root))
        return VersionedBucket(files, "b", "/b", user, shared)

    make("ann").set_versioning(Versioning.ENABLED)
    return make


def put(bucket: VersionedBucket, **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return bucket.put(KEY, [], named, Metadata).version


def versions_in(bucket: VersionedBucket) -> list[tuple[str, bool]]:
    page = list_versions(
        bucket.version_source(),
        bucket.versions_of,
        prefix="",
        delimiter="",
        after="",
        place="",
        max_keys=1000,
    )
    return [(each.id, each.is_latest) for each in page.entries if isinstance(each, Version)]


def test_a_version_is_replaced_in_one_call(bucket_as: Callable[[str], VersionedBucket]) -> None:
    bucket = bucket_as("ann")
    made = [put(bucket) for _ in range(2)]
    files = bucket.fs
    assert isinstance(files, EmptyFiles)
    files.calls.methods.clear()
    made.append(put(bucket))
    assert files.calls.methods.count("rename2") == 1
    assert versions_in(bucket) == [(made[2], True), (made[1], False), (made[0], False)]
    files.calls.methods.clear()
    marker = bucket.delete(KEY, {})
    assert files.calls.methods.count("rename2") == 1
    assert versions_in(bucket)[:2] == [(marker.version, True), (made[2], False)]
    bucket.delete(KEY, {}, marker.version)
    assert bucket.fs.exists("/b/dir/k")
    assert versions_in(bucket)[0] == (made[2], True)


def test_a_condition_holds_between_gateways(bucket_as: Callable[[str], VersionedBucket]) -> None:
    one, other = bucket_as("ann"), bucket_as("ann")
    put(one)
    seen = etag_of(other.existing(KEY))
    put(other, if_match=seen)
    with pytest.raises(Refused, match="pre-conditions"):
        put(one, if_match=seen)
    assert len(versions_in(one)) == 2


def test_who_may_not_write_to_a_directory_changes_no_version_in_it(
    bucket_as: Callable[[str], VersionedBucket],
) -> None:
    made = [put(bucket_as("ann")) for _ in range(2)]
    bob = bucket_as("bob")
    acts: tuple[Callable[[], object], ...] = (
        lambda: put(bob),
        lambda: bob.delete(KEY, {}),
        lambda: bob.delete(KEY, {}, made[0]),
        lambda: bob.delete(KEY, {}, made[1]),
    )
    for act in acts:
        with pytest.raises((errors.AccessDenied, Refused)):
            act()
    assert versions_in(bucket_as("ann")) == [(made[1], True), (made[0], False)]
    bucket_as("ann").fs.set_permission("/b/dir", 0o700)
    with pytest.raises(errors.AccessDenied):
        bob.existing(KEY, made[0])


def is_denied(act: Callable[[], object]) -> bool:
    try:
        act()
    except (errors.AccessDenied, Refused):
        return True
    return False


@pytest.mark.parametrize(
    ("acl", "may"),
    [
        # The group's bits of the mode are the mask there.
        ("user::rwx,user:bob:rwx,group::r-x,other::r-x", {"ann", "bob"}),
        (
            "user::rwx,user:bob:rwx,user:dan:r-x,group::rwx,mask::rwx,other::---",
            {"ann", "bob", "eve"},
        ),
        # What the mask takes from the entries, and what is for what is made there only.
        ("user::rwx,user:bob:rwx,group::rwx,mask::r-x,other::r-x", {"ann"}),
        ("user::rwx,group::r-x,other::r-x,default:user:bob:rwx", {"ann"}),
    ],
)
def test_versions_may_be_changed_by_those_whom_an_acl_lets(
    bucket_as: Callable[[str], VersionedBucket], acl: str, may: set[str]
) -> None:
    put(bucket_as("ann"))
    bucket_as("root").fs.set_acl("/b/dir", parse_acl(acl))
    users = ("ann", "bob", "dan", "eve")
    older = {user: put(bucket_as("ann")) for user in users}
    put(bucket_as("ann"))
    bucket_as("ann").fs.set_permission("/b/.howdah-s3", 0o1777)
    for user in users:
        bucket = bucket_as(user)
        assert is_denied(partial(bucket.delete, KEY, {}, older[user])) is (user not in may), user
        assert is_denied(partial(put, bucket)) is (user not in may), user


def test_who_owns_a_directory_changes_versions_that_others_have_kept(
    bucket_as: Callable[[str], VersionedBucket],
) -> None:
    put(bucket_as("ann"))
    bucket_as("root").fs.set_owner("/b/dir", "flo", "web")
    bucket_as("root").fs.set_permission("/b/dir", 0o775)
    made = [put(bucket_as("bob")), put(bucket_as("root"))]
    # She is not of the group.
    flo = bucket_as("flo")
    put(flo)
    flo.delete(KEY, {}, made[0])
    assert is_denied(lambda: bucket_as("eve").delete(KEY, {}, made[1]))
    assert len(versions_in(bucket_as("ann"))) == 3


# What is changed while another gateway replaces the object.


def put_before(bucket: VersionedBucket, name: str, other: VersionedBucket) -> list[str]:
    """Let another gateway put an object when a method is called for the first time; what that is
    called, afterwards."""
    method, made = getattr(bucket, name), list[str]()

    def as_ever(*args: Any, **named: Any) -> Any:
        if not made:
            made.append("")
            made[0] = put(other)
        return method(*args, **named)

    setattr(bucket, name, as_ever)
    return made


@pytest.mark.parametrize("has_id", [False, True])
def test_what_is_locked_is_the_version_that_was_looked_at(
    bucket_as: Callable[[str], VersionedBucket], has_id: bool
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    bucket.set_locking(Locking(Default(Mode.COMPLIANCE, "Years", 10)))
    version = put(bucket)
    second = put_before(bucket, "_locks_at", other)
    wanted = Retention(Mode.COMPLIANCE, LAST_MS)
    bucket.put_retention(KEY, version * has_id, wanted, {})
    assert bucket.described(KEY, version)[1].lock == Lock(wanted)
    third = put_before(bucket, "_locks_at", other)
    bucket.put_hold(KEY, second[0] * has_id, True)
    for each, is_held in ((third[0], False), (second[0], True)):
        found = bucket.described(KEY, each)[1].lock
        assert found is not None
        assert found.retention is not None
        assert found.retention.until_ms < LAST_MS
        assert found.is_held is is_held


def test_of_two_locks_none_is_lost(
    bucket_as: Callable[[str], VersionedBucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    bucket.set_locking(Locking())
    put(bucket)
    wanted, locks_at = Retention(Mode.COMPLIANCE, LAST_MS), bucket._locks_at

    def as_ever(path: str) -> dict[int, Lock]:
        found = locks_at(path)
        if not found:
            other.put_retention(KEY, "", wanted, {})
        return found

    monkeypatch.setattr(bucket, "_locks_at", as_ever)
    bucket.put_hold(KEY, "", True)
    assert bucket.described(KEY)[1].lock == Lock(wanted, is_held=True)


def changed_between(
    monkeypatch: pytest.MonkeyPatch, bucket: VersionedBucket, change: Callable[[], object]
) -> None:
    """Let another gateway change a lock between the first look at it and what is written."""
    set_xattr, is_first = bucket.fs.set_xattr, iter([True])

    def as_ever(path: PathLike, *args: Any, **named: Any) -> None:
        if next(is_first, False):
            change()
        set_xattr(path, *args, **named)

    monkeypatch.setattr(bucket.fs, "set_xattr", as_ever)


def locks_of(bucket: VersionedBucket) -> list[str]:
    """The attributes in which an object has its locks."""
    return [name for name in bucket.fs.get_xattrs("/b/dir/k") if name.startswith(locks.ATTRIBUTE)]


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("is_locked", [False, True])
def test_a_shorter_retention_does_not_win_between_gateways(
    bucket_as: Callable[[str], VersionedBucket],
    is_locked: bool,
    times: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    bucket.set_locking(Locking(Default(Mode.COMPLIANCE, "Days", 1) if is_locked else None))
    version = put(bucket)
    longer = Retention(Mode.COMPLIANCE, LAST_MS)

    def lengthen() -> None:
        for left in reversed(range(times)):
            other.put_retention(KEY, version, Retention(longer.mode, LAST_MS - left), {})

    changed_between(monkeypatch, bucket, lengthen)
    with pytest.raises(Refused) as caught:
        bucket.put_retention(KEY, version, Retention(Mode.COMPLIANCE, LAST_MS - 10), {})
    assert caught.value.code == "AccessDenied"
    assert bucket.described(KEY, version)[1].lock == Lock(longer)
    with pytest.raises(Refused):
        bucket.delete(KEY, {}, version)
    assert len(locks_of(bucket)) == 1, "what does not count is removed"


def test_a_lock_holds_at_once_in_gateways_that_saw_a_bucket_without_locks(
    bucket_as: Callable[[str], VersionedBucket],
) -> None:
    """What they saw counts for seconds otherwise."""
    bucket, asked, other = (bucket_as("ann") for _ in range(3))
    for each in (bucket, asked):
        assert each.state().locking is None
    other.set_locking(Locking(Default(Mode.COMPLIANCE, "Days", 1)))
    version = put(other)
    with pytest.raises(Refused) as caught:
        bucket.delete(KEY, {}, version)
    assert caught.value.code == "AccessDenied"
    longer = Retention(Mode.COMPLIANCE, LAST_MS)
    asked.put_retention(KEY, version, longer, {})
    assert asked.described(KEY, version)[1].lock == Lock(longer)


def test_a_hold_keeps_the_retention_of_another_gateway(
    bucket_as: Callable[[str], VersionedBucket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    bucket.set_locking(Locking())
    version = put(bucket)
    bucket.put_hold(KEY, version, True)
    wanted = Retention(Mode.COMPLIANCE, LAST_MS)
    changed_between(monkeypatch, bucket, lambda: other.put_retention(KEY, version, wanted, {}))
    bucket.put_hold(KEY, version, False)
    assert bucket.described(KEY, version)[1].lock == Lock(wanted)
    assert len(locks_of(bucket)) == 1


def test_tags_and_rights_are_for_the_version_that_was_looked_at(
    bucket_as: Callable[[str], VersionedBucket],
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    first = put(bucket)
    second = put_before(bucket, "set_tags", other)
    assert bucket.put_tags(KEY, first, {"a": "1"}) == first
    assert bucket.described(KEY, first)[1].tags == {"a": "1"}
    third = put_before(bucket, "let_others", other)
    bucket.put_others(KEY, second[0], Others(read=True, write=True))
    modes = [bucket.existing(KEY, each).permission for each in (first, second[0], third[0])]
    assert modes == [0o644, 0o646, 0o644]
    assert bucket.described(KEY)[1].tags == {}


@pytest.mark.parametrize("is_hadoops", [False, True])
@pytest.mark.parametrize("has_older", [False, True])
def test_what_is_put_while_the_current_version_is_deleted_stays(
    bucket_as: Callable[[str], VersionedBucket], has_older: bool, is_hadoops: bool
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    for each in (bucket, other):
        assert isinstance(each.fs, EmptyFiles)
        each.fs.calls.is_hadoops = is_hadoops
    older = [put(bucket) for _ in range(has_older)]
    second = put(bucket)
    third = put_before(bucket, "_check_unlocked", other)
    bucket.delete(KEY, {}, second)
    assert [version for version, _ in versions_in(bucket)] == [*third, *older]
    assert bucket.described(KEY)[1].version == third[0]
    bucket.delete(KEY, {}, third[0])
    assert versions_in(bucket) == [(version, True) for version in older]


def test_what_is_put_while_a_null_version_gets_a_marker_stays(
    bucket_as: Callable[[str], VersionedBucket],
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    for each in (bucket, other):
        assert isinstance(each.fs, EmptyFiles)
        each.fs.calls.is_hadoops = True
    assert other.versioning() is Versioning.ENABLED
    bucket.set_versioning(Versioning.SUSPENDED)
    put(bucket)
    # The other gateway does not know of it yet.
    third = put_before(bucket, "delete_if_same", other)
    assert bucket.delete(KEY, {}).is_marker
    assert third[0]
    assert third[0] in [version for version, _ in versions_in(bucket)]


def test_what_another_gateway_deletes_is_not_shown_again(
    bucket_as: Callable[[str], VersionedBucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, other = bucket_as("ann"), bucket_as("ann")
    made = put(bucket)
    first, rename = bucket.delete(KEY, {}).version, bucket.rename
    second: list[str] = []

    def deleted_before(*args: Any, **named: Any) -> None:
        second.append(other.delete(KEY, {}).version)
        rename(*args, **named)

    monkeypatch.setattr(bucket, "rename", deleted_before)
    assert bucket.delete(KEY, {}, first).version == first
    assert not bucket.fs.exists("/b/dir/k")
    assert versions_in(bucket) == [(second[0], True), (made, False)]


def test_a_namenode_that_took_over_does_not_say_how_many_were_renamed(
    bucket_as: Callable[[str], VersionedBucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = bucket_as("ann")
    made = [put(bucket)]
    rename_in_turn = bucket.fs.rename_in_turn  # type: ignore[attr-defined]  # HDFS has it.

    def repeated(*args: Any, **named: Any) -> int:
        """Its answer is made by the edits of the one before it."""
        rename_in_turn(*args, **named)
        return 1

    monkeypatch.setattr(bucket.fs, "rename_in_turn", repeated)
    made.insert(0, put(bucket))
    made.insert(0, bucket.delete(KEY, {}).version)
    assert versions_in(bucket) == [(version, version == made[0]) for version in made]
    assert not bucket.fs.exists("/b/dir/k")


def test_a_bucket_that_is_not_deleted_still_has_versions(
    bucket_as: Callable[[str], VersionedBucket],
) -> None:
    root, ann, bob = (bucket_as(user).fs for user in ("root", "ann", "bob"))
    root.mkdirs("/s3", 0o755)
    root.mkdirs("/s3/data", 0o733)
    root.set_owner("/s3/data", "ann", "staff")

    def bucket_of(files: FileSystem, user: str) -> VersionedBucket:
        # The gateway's own user is nobody in particular.
        shared = Shared(KeyLocks(), 0o022, lambda: nullcontext(bucket_as("flo").fs))
        return VersionedBucket(files, "data", "/s3/data", user, shared)

    bucket_of(ann, "ann").set_versioning(Versioning.ENABLED)
    before = ann.get_file_status("/s3/data/.howdah-s3-versions").permission
    buckets = Buckets("/s3", {}, 0o755)
    with pytest.raises(errors.AccessDenied):
        buckets.delete(ann, "data", "ann", lambda: nullcontext(root))
    assert ann.get_file_status("/s3/data/.howdah-s3-versions").permission == before
    with pytest.raises(Refused, match="may read what its directory says"):
        bucket_of(bob, "bob").versioning()
