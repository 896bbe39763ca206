"""Who may do what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.calls.permissions import Access, Permissions
from howdah.namenode.state.inodes.inodes import Directory, permission_string
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

GROUPS = {"alice": ("staff",), "bob": ("staff",), "eve": ("guests",), "admin": ("supergroup",)}


def permissions(*, enabled: bool = True) -> Permissions:
    return Permissions(
        enabled=enabled,
        superuser="root",
        supergroup="supergroup",
        groups_of=lambda user: GROUPS.get(user, ()),
    )


def directory(mode: int, owner: str = "alice", group: str = "staff") -> Directory:
    return Directory(1, "", owner, group, mode, 0)


@given(
    st.integers(0, 0o777), st.sampled_from(["alice", "bob", "eve"]), st.sampled_from(list(Access))
)
def test_digit_that_counts_is_owners_else_groups_else_others(
    mode: int, user: str, access: Access
) -> None:
    digit = {"alice": mode >> 6, "bob": mode >> 3 & 7, "eve": mode & 7}[user]
    allowed = digit & access == access
    checks = permissions()
    try:
        checks.check(checks.identity(user), directory(mode), access)
    except errors.AccessDenied:
        assert not allowed
    else:
        assert allowed


@pytest.mark.parametrize("user", ["root", "admin"])
def test_superuser_may_do_everything(user: str) -> None:
    checks = permissions()
    checks.check(checks.identity(user), directory(0), Access.READ | Access.WRITE)


def test_everybody_may_do_everything_where_permissions_are_off() -> None:
    checks = permissions(enabled=False)
    checks.check(checks.identity("eve"), directory(0), Access.WRITE)
    checks.check_superuser(checks.identity("eve"), "anything")


def test_denial_is_worded_as_hadoops(client_of: Any) -> None:
    with pytest.raises(errors.AccessDenied) as caught:
        client_of("alice").mkdirs("/a")
    assert caught.value.message == (
        'Permission denied: user=alice, access=WRITE, inode="/":root:supergroup:drwxr-xr-x'
    )
    assert caught.value.remote_class == "org.apache.hadoop.security.AccessControlException"


@pytest.mark.parametrize(
    ("mode", "letters"),
    [
        (0o755, "rwxr-xr-x"),
        (0o640, "rw-r-----"),
        (0o1777, "rwxrwxrwt"),
        (0o1776, "rwxrwxrwT"),
        (0, "---------"),
    ],
)
def test_mode_is_shown_in_letters(mode: int, letters: str) -> None:
    assert permission_string(mode) == letters


# The calls.


def test_path_is_closed_to_who_may_not_enter_a_directory_above(client: Any, client_of: Any) -> None:
    client.mkdirs("/closed/in/side", 0o777)
    client.chmod("/closed", 0o700)
    eve = client_of("eve")
    calls: tuple[Callable[[], object], ...] = (
        lambda: eve.status("/closed/in"),
        lambda: eve.page("/closed/in/side"),
        lambda: eve.mkdirs("/closed/in/side/x"),
        lambda: eve.delete("/closed/in/side"),
        lambda: eve.rename("/closed/in", "/x"),
    )
    for call in calls:
        with pytest.raises(errors.AccessDenied, match='access=EXECUTE, inode="/closed"'):
            call()


def test_rename_into_a_directory_needs_enter_there_too(client: Any, client_of: Any) -> None:
    client.mkdirs("/closed")
    client.chmod("/closed", 0o722)
    client.mkdirs("/open", 0o777)
    client.chmod("/open", 0o777)
    eve = client_of("eve")
    eve.mkdirs("/open/d")
    for target in ("/closed", "/closed/d"):
        with pytest.raises(errors.AccessDenied, match='access=EXECUTE, inode="/closed"'):
            eve.rename("/open/d", target)


def test_listing_needs_read_and_enter(alice: Any, client_of: Any) -> None:
    alice.mkdirs("/user/alice/d")
    alice.chmod("/user/alice/d", 0o711)
    with pytest.raises(errors.AccessDenied, match="access=READ_EXECUTE"):
        client_of("eve").page("/user/alice/d")


@pytest.mark.parametrize("bound", [(1 << 63) - 1, 100])
def test_what_is_used_of_a_quota_is_told_to_who_may_look_everywhere(
    client: Any, client_of: Any, bound: int
) -> None:
    client.mkdirs("/d/e", 0o755)
    client.call(
        "setQuota",
        pb.SetQuotaRequestProto(path="/d", namespaceQuota=bound, storagespaceQuota=(1 << 63) - 1),
    )
    eve, usage = client_of("eve"), pb.GetQuotaUsageRequestProto(path="/d")
    assert eve.call("getQuotaUsage", usage).usage.fileAndDirectoryCount == 2
    client.chmod("/d/e", 0o751)
    with pytest.raises(errors.AccessDenied, match='access=READ_EXECUTE, inode="/d/e"'):
        eve.call("getQuotaUsage", usage)
    assert client.call("getQuotaUsage", usage).usage.fileAndDirectoryCount == 2


def test_reading_needs_read_on_the_file(alice: Any, client_of: Any) -> None:
    alice.create("/user/alice/f", mode=0o600)
    with pytest.raises(errors.AccessDenied, match="user=eve, access=READ"):
        client_of("eve").locations("/user/alice/f")
    assert client_of("eve").status("/user/alice/f").length == 0


def test_new_file_belongs_to_its_maker_and_the_parents_group(alice: Any) -> None:
    alice.create("/user/alice/f", mode=0o640)
    status = alice.status("/user/alice/f")
    assert (status.owner, status.group, status.permission.perm) == ("alice", "staff", 0o640)


def test_overwriting_needs_write_on_the_file(alice: Any, client_of: Any) -> None:
    alice.chmod("/user/alice", 0o777)
    alice.create("/user/alice/f", mode=0o644)
    with pytest.raises(errors.AccessDenied, match='access=WRITE, inode="/user/alice/f"'):
        client_of("eve").create("/user/alice/f", flag=3)


def test_appending_needs_write_on_the_file(alice: Any, client_of: Any) -> None:
    alice.create("/user/alice/f")
    alice.complete("/user/alice/f")
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        client_of("eve").append("/user/alice/f")


def test_deleting_needs_write_on_the_directory_not_on_the_file(alice: Any, client_of: Any) -> None:
    alice.chmod("/user/alice", 0o775)
    alice.create("/user/alice/f", mode=0o400)
    with pytest.raises(errors.AccessDenied, match='access=WRITE, inode="/user/alice"'):
        client_of("eve").delete("/user/alice/f")
    assert client_of("bob").delete("/user/alice/f") is True


def test_recursive_delete_needs_all_on_every_directory_it_empties(client: Any, alice: Any) -> None:
    alice.mkdirs("/user/alice/d/e")
    client.mkdirs("/user/alice/d/e/roots/x")
    with pytest.raises(errors.AccessDenied, match='access=ALL, inode="/user/alice/d/e/roots"'):
        alice.delete("/user/alice/d")
    client.delete("/user/alice/d/e/roots/x")
    assert alice.delete("/user/alice/d") is True


def test_sticky_directory_lets_only_owners_take_entries_out(client: Any, client_of: Any) -> None:
    client.mkdirs("/tmp")
    client.chmod("/tmp", 0o1777)
    alice, eve = client_of("alice"), client_of("eve")
    alice.mkdirs("/tmp/a", 0o777)
    calls: tuple[Callable[[], object], ...] = (
        lambda: eve.delete("/tmp/a"),
        lambda: eve.rename("/tmp/a", "/tmp/b"),
    )
    for call in calls:
        with pytest.raises(errors.AccessDenied) as caught:
            call()
        assert caught.value.message == (
            'Permission denied by sticky bit: user=eve, path="/tmp/a":alice:supergroup:drwxrwxrwx,'
            ' parent="/tmp":root:supergroup:drwxrwxrwt'
        )
    assert alice.rename("/tmp/a", "/tmp/b") is True
    assert client.delete("/tmp/b") is True


def test_sticky_bit_counts_in_a_recursive_delete(client: Any, client_of: Any) -> None:
    client.mkdirs("/top", 0o777)
    client.chmod("/top", 0o777)
    alice, eve = client_of("alice"), client_of("eve")
    client.mkdirs("/top/shared")
    client.chmod("/top/shared", 0o1777)
    alice.create("/top/shared/f")
    with pytest.raises(errors.AccessDenied, match="sticky bit"):
        eve.delete("/top/shared")


def test_rename_needs_write_at_both_ends(client: Any, alice: Any) -> None:
    alice.mkdirs("/user/alice/a")
    with pytest.raises(errors.AccessDenied, match='access=WRITE, inode="/"'):
        alice.rename("/user/alice/a", "/a")
    client.mkdirs("/b")
    with pytest.raises(errors.AccessDenied, match='access=WRITE, inode="/"'):
        alice.rename2("/b", "/user/alice/b")


def test_rename_does_not_tell_strangers_what_there_is(client: Any, client_of: Any) -> None:
    client.mkdirs("/d/there")
    for path in ("/d/there", "/d/not"):
        with pytest.raises(errors.AccessDenied, match='access=WRITE, inode="/d"'):
            client_of("eve").rename(path, "/d/x")


@pytest.mark.parametrize("user", ["eve", "bob"])
def test_only_the_owner_changes_the_mode(alice: Any, client_of: Any, user: str) -> None:
    with pytest.raises(errors.AccessDenied) as caught:
        client_of(user).chmod("/user/alice", 0o777)
    assert caught.value.message == (
        f"Permission denied. user={user} is not the owner of inode=/user/alice"
    )
    alice.chmod("/user/alice", 0o700)
    assert alice.status("/user/alice").permission.perm == 0o700


def test_only_the_superuser_gives_files_away(alice: Any, client: Any) -> None:
    with pytest.raises(errors.AccessDenied, match="non-super user cannot change owner"):
        alice.chown("/user/alice", "bob")
    client.chown("/user/alice", "bob")
    assert alice.status("/user/alice").owner == "bob"


def test_owner_chooses_among_the_own_groups(alice: Any) -> None:
    alice.chown("/user/alice", "", "staff")
    with pytest.raises(errors.AccessDenied, match="User alice does not belong to wheel"):
        alice.chown("/user/alice", "", "wheel")


def test_times_need_write(alice: Any, client_of: Any) -> None:
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        client_of("eve").set_times("/user/alice", 1)
    alice.set_times("/user/alice", 1)
    assert alice.status("/user/alice").modification_time == 1


def test_safe_mode_is_the_superusers(client: Any, alice: Any) -> None:
    enter = pb.SetSafeModeRequestProto(action=pb.SAFEMODE_ENTER)
    with pytest.raises(errors.AccessDenied, match="Superuser privilege is required"):
        alice.call("setSafeMode", enter)
    get = pb.SetSafeModeRequestProto(action=pb.SAFEMODE_GET)
    assert alice.call("setSafeMode", get).result is False
    assert client.call("setSafeMode", enter).result is True


def test_access_is_checked_on_request(alice: Any, client_of: Any) -> None:
    alice.create("/user/alice/f", mode=0o640)
    read = types_pb2.AclEntryProto.READ
    request = pb.CheckAccessRequestProto(path="/user/alice/f", mode=read)
    client_of("bob").call("checkAccess", request)
    with pytest.raises(errors.AccessDenied, match="user=eve, access=READ"):
        client_of("eve").call("checkAccess", request)
    with pytest.raises(errors.PathNotFound, match=r"^Path not found: /user/alice/none$"):
        alice.call("checkAccess", pb.CheckAccessRequestProto(path="/user/alice/none", mode=read))


def test_file_above_a_path_denies_access_to_anybody(alice: Any, client: Any) -> None:
    alice.create("/user/alice/f")
    for who in (alice, client):
        with pytest.raises(errors.AccessDenied) as caught:
            who.page("/user/alice/f/x")
        assert caught.value.message == "/user/alice/f (is not a directory)"
        assert caught.value.remote_class == errors.AccessDenied.java_class


def test_superuser_is_told_that_there_is_nothing_below_a_file(alice: Any, client: Any) -> None:
    alice.create("/user/alice/f")
    assert client.status("/user/alice/f/x") is None
    with pytest.raises(errors.AccessDenied):
        alice.status("/user/alice/f/x")


def test_below_a_file_nothing_is_made(alice: Any) -> None:
    alice.create("/user/alice/f")
    alice.create("/user/alice/g")
    makers: tuple[Callable[[], object], ...] = (
        lambda: alice.create("/user/alice/f/x"),
        lambda: alice.mkdirs("/user/alice/f/x"),
        lambda: alice.rename("/user/alice/g", "/user/alice/f/x"),
    )
    for make in makers:
        with pytest.raises(errors.ParentNotDirectory) as caught:
            make()
        assert caught.value.remote_class == errors.ParentNotDirectory.java_class


def test_groups_are_asked_again_after_five_minutes(alice: Any, client_of: Any) -> None:
    alice.chmod("/user/alice", 0o770)
    eve = client_of("eve")
    with pytest.raises(errors.AccessDenied):
        eve.page("/user/alice")
    eve.namenode.groups["eve"] = ("staff",)
    with pytest.raises(errors.AccessDenied):
        eve.page("/user/alice")
    eve.namenode.clock.advance(300_000)
    eve.page("/user/alice")
