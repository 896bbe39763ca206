"""Extended attributes: who may see and set which, and how many."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes.inodes import INode
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode

CREATE, REPLACE = types_pb2.XATTR_CREATE, types_pb2.XATTR_REPLACE
SPACES = types_pb2.XAttrProto.XAttrNamespaceProto


def attribute(name: str, value: bytes | None = None) -> types_pb2.XAttrProto:
    space, _, rest = name.partition(".")
    return types_pb2.XAttrProto(namespace=space.upper(), name=rest, value=value)


def set_xattr(
    client: Any,
    path: str,
    name: str,
    value: bytes | None = b"1",
    flag: int = CREATE | REPLACE,
    **how: Any,
) -> None:
    request = types_pb2.SetXAttrRequestProto(src=path, xAttr=attribute(name, value), flag=flag)
    client.call("setXAttr", request, **how)


def remove_xattr(client: Any, path: str, name: str, **how: Any) -> None:
    request = types_pb2.RemoveXAttrRequestProto(src=path, xAttr=attribute(name))
    client.call("removeXAttr", request, **how)


def names(client: Any, path: str, **how: Any) -> dict[str, bytes]:
    answer = client.call("getXAttrs", types_pb2.GetXAttrsRequestProto(src=path), **how)
    return {f"{SPACES.Name(x.namespace).lower()}.{x.name}": x.value for x in answer.xAttrs}


def get(client: Any, path: str, *wanted: str, **how: Any) -> list[bytes]:
    request = types_pb2.GetXAttrsRequestProto(src=path, xAttrs=map(attribute, wanted))
    return [x.value for x in client.call("getXAttrs", request, **how).xAttrs]


@pytest.fixture
def path(client: Any) -> str:
    client.create("/f", mode=0o666)
    return "/f"


def test_an_attribute_that_was_set_is_read_back(client: Any, path: str) -> None:
    set_xattr(client, path, "user.mark", b"\0\xff")
    assert get(client, path, "user.mark") == [b"\0\xff"]
    answer = client.call("listXAttrs", types_pb2.ListXAttrsRequestProto(src=path))
    assert [x.name for x in answer.xAttrs] == ["mark"]


def test_without_names_all_are_told(client: Any, path: str) -> None:
    set_xattr(client, path, "user.a")
    set_xattr(client, path, "user.b", b"2")
    assert names(client, path) == {"user.a": b"1", "user.b": b"2"}


def test_a_name_that_is_not_there_is_an_error(client: Any, path: str) -> None:
    with pytest.raises(errors.RemoteError, match="provided was not found"):
        get(client, path, "user.nope")
    with pytest.raises(errors.RemoteError, match="No matching attributes"):
        remove_xattr(client, path, "user.nope")


def test_an_attribute_that_is_there_is_only_replaced_with_the_flag(client: Any, path: str) -> None:
    set_xattr(client, path, "user.a", flag=CREATE)
    with pytest.raises(errors.RemoteError, match=r"a already exists. The REPLACE flag"):
        set_xattr(client, path, "user.a", flag=CREATE)
    set_xattr(client, path, "user.a", b"2", flag=REPLACE)
    assert get(client, path, "user.a") == [b"2"]


def test_an_attribute_that_is_not_there_is_only_made_with_the_flag(client: Any, path: str) -> None:
    with pytest.raises(errors.RemoteError, match=r"a does not exist. The CREATE flag"):
        set_xattr(client, path, "user.a", flag=REPLACE)
    with pytest.raises(errors.IllegalArgument, match="A flag must be specified"):
        set_xattr(client, path, "user.a", flag=0)


def test_an_attribute_is_removed(client: Any, path: str) -> None:
    set_xattr(client, path, "user.a")
    set_xattr(client, path, "user.b")
    remove_xattr(client, path, "user.a")
    assert list(names(client, path)) == ["user.b"]


def test_a_repeated_removal_gets_the_first_answer(client: Any, path: str) -> None:
    set_xattr(client, path, "user.a")
    again = {"client_id": b"i" * 16, "call_id": 7}
    remove_xattr(client, path, "user.a", **again)
    remove_xattr(client, path, "user.a", **again)


def test_trusted_attributes_are_the_superusers(client: Any, path: str) -> None:
    set_xattr(client, path, "trusted.a")
    assert names(client, path, user="bob") == {}
    with pytest.raises(errors.AccessDenied, match=r"permission for xattr: trusted.b"):
        set_xattr(client, path, "trusted.b", user="bob")


@pytest.mark.parametrize("name", ["system.a", "security.a", "raw.a"])
def test_the_namenodes_own_namespaces_are_closed_even_to_the_superuser(
    client: Any, path: str, name: str
) -> None:
    with pytest.raises(errors.AccessDenied, match=f"permission for xattr: {name}"):
        set_xattr(client, path, name)


def test_raw_attributes_show_only_below_the_raw_tree(client: Any, path: str) -> None:
    set_xattr(client, "/.reserved/raw/f", "raw.a")
    assert names(client, "/.reserved/raw/f") == {"raw.a": b"1"}
    assert names(client, path) == {}


def test_only_superusers_change_the_raw_tree(client: Any, path: str) -> None:
    with pytest.raises(errors.AccessDenied, match="Superuser privilege"):
        set_xattr(client, "/.reserved/raw/f", "raw.a", user="bob")
    with pytest.raises(errors.AccessDenied, match="Superuser privilege"):
        remove_xattr(client, "/.reserved/raw/f", "user.a", user="bob")


def test_the_raw_tree_is_read_by_those_who_may_read_the_file(client: Any, path: str) -> None:
    set_xattr(client, "/.reserved/raw/f", "raw.a")
    assert names(client, "/.reserved/raw/f", user="bob") == {"raw.a": b"1"}
    private = pb.SetPermissionRequestProto(src=path, permission={"perm": 0o600})
    client.call("setPermission", private)
    with pytest.raises(errors.AccessDenied, match="access=READ"):
        names(client, "/.reserved/raw/f", user="bob")


def test_attributes_of_what_is_not_there_cannot_be_found(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="cannot find /none"):
        names(client, "/none")


def test_a_file_is_hidden_from_the_superuser_for_good(client: Any, path: str) -> None:
    name = "security.hdfs.unreadable.by.superuser"
    with pytest.raises(errors.AccessDenied, match="Values are not allowed"):
        set_xattr(client, path, name, b"1")
    set_xattr(client, path, name, None)
    with pytest.raises(errors.AccessDenied, match="can not be deleted"):
        remove_xattr(client, path, name)


@pytest.mark.parametrize("spelling", ["{path}", "/.reserved/raw{path}", "/.reserved/.inodes/{id}"])
def test_a_marked_file_is_read_by_all_but_the_superuser(client: Any, spelling: str) -> None:
    file = client.create("/kept", mode=0o604)
    path = spelling.format(path="/kept", id=file.fileId)
    locate = pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1)
    client.call("getBlockLocations", locate)
    set_xattr(client, "/kept", "security.hdfs.unreadable.by.superuser", None)
    with pytest.raises(errors.AccessDenied, match="superuser is not allowed to perform"):
        client.call("getBlockLocations", locate)
    if "raw" not in path:
        client.call("getBlockLocations", locate, user="bob")


def test_who_may_not_write_sets_none_and_who_may_not_read_sees_none(client: Any) -> None:
    client.create("/mine", mode=0o600)
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        set_xattr(client, "/mine", "user.a", user="bob")
    with pytest.raises(errors.AccessDenied, match="access=READ"):
        names(client, "/mine", user="bob")


def test_on_a_sticky_directory_only_the_owner_sets_them(client: Any) -> None:
    client.mkdirs("/shared")
    client.chmod("/shared", 0o1777)
    with pytest.raises(errors.AccessDenied, match="not the owner"):
        set_xattr(client, "/shared", "user.a", user="bob")


def test_there_is_a_limit_to_their_number(client: Any, path: str) -> None:
    for number in range(32):
        set_xattr(client, path, f"user.{number}")
    with pytest.raises(errors.RemoteError, match="would exceed limit of 32"):
        set_xattr(client, path, "user.more")
    set_xattr(client, path, "user.0", b"other")


def test_there_is_a_limit_to_their_size(client: Any, path: str) -> None:
    set_xattr(client, path, "user.a", b"x" * 16383)
    with pytest.raises(errors.IllegalArgument, match="is 16384, but the total size is 16385"):
        set_xattr(client, path, "user.a", b"x" * 16384)


def test_they_can_be_switched_off() -> None:
    namenode = InMemoryNamenode(Settings("", xattrs_enabled=False))
    with pytest.raises(errors.RemoteError, match=r"dfs.namenode.xattrs.enabled to false"):
        namenode.call("listXAttrs", types_pb2.ListXAttrsRequestProto(src="/"))


def test_the_log_brings_them_back(client: Any, namenode: InMemoryNamenode, path: str) -> None:
    set_xattr(client, path, "user.a")
    set_xattr(client, path, "trusted.b", None)
    set_xattr(client, path, "user.c")
    remove_xattr(client, path, "user.c")
    fresh = Namespace()
    for record in namenode.log:
        fresh.apply(decode_record(record).edit)
    live = namenode.namesystem.namespace.find(path)
    again = fresh.find(path)
    assert isinstance(live, INode)
    assert isinstance(again, INode)
    assert again.xattrs == live.xattrs != ()
