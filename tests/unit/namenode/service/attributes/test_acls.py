"""ACLs through the protocol: who may change them, what they grant, what is inherited."""

from __future__ import annotations

from typing import Any, cast

import pytest

from howdah import errors
from howdah.formats.edits.codec import decode_record
from howdah.formats.edits.edits import AclEntry, AclKind, AclScope
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.inodes import acls
from howdah.namenode.state.inodes.inodes import INode
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode

Entry = types_pb2.AclEntryProto
OPEN = "user::rwx,group::rwx,other::rwx"


def spec(text: str) -> list[types_pb2.AclEntryProto]:
    found = []
    for part in filter(None, text.split(",")):
        scope = Entry.ACCESS
        if part.startswith("default:"):
            scope, part = Entry.DEFAULT, part.removeprefix("default:")
        kind, name, letters = part.split(":")
        bits = sum(bit for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if letter in letters)
        found.append(
            Entry(
                scope=scope,
                type=kind.upper(),
                permissions=cast(Entry.FsActionProto, bits),
                name=name or None,
            )
        )
    return found


def modify(client: Any, path: str, text: str, **how: Any) -> None:
    request = types_pb2.ModifyAclEntriesRequestProto(src=path, aclSpec=spec(text))
    client.call("modifyAclEntries", request, **how)


def set_acl(client: Any, path: str, text: str, **how: Any) -> None:
    client.call("setAcl", types_pb2.SetAclRequestProto(src=path, aclSpec=spec(text)), **how)


def told(client: Any, path: str) -> tuple[str, int]:
    """What `getAclStatus` says: entries, and the mode bits."""
    found = client.call("getAclStatus", types_pb2.GetAclStatusRequestProto(src=path)).result
    texts = [
        ("default:" if e.scope == Entry.DEFAULT else "")
        + f"{Entry.AclEntryTypeProto.Name(e.type).lower()}:{e.name}:"
        + "".join(c if e.permissions & b else "-" for c, b in (("r", 4), ("w", 2), ("x", 1)))
        for e in found.entries
    ]
    return ",".join(texts), found.permission.perm


def test_without_an_acl_the_mode_says_all(client: Any) -> None:
    client.create("/f", mode=0o640)
    assert told(client, "/f") == ("", 0o640)
    assert not client.status("/f").flags


def test_a_named_user_brings_a_mask_into_the_groups_bits(client: Any) -> None:
    client.create("/f", mode=0o640)
    modify(client, "/f", "user:bob:rw-")
    assert told(client, "/f") == ("user:bob:rw-,group::r--", 0o660)
    assert client.status("/f").flags == types_pb2.HdfsFileStatusProto.HAS_ACL


def test_a_named_user_may_what_the_entry_and_the_mask_grant(client: Any) -> None:
    client.create("/f", mode=0o600)
    modify(client, "/f", "user:bob:rw-,mask::r--")
    check = pb.CheckAccessRequestProto(path="/f", mode=Entry.READ)
    client.call("checkAccess", check, user="bob")
    with pytest.raises(errors.AccessDenied):
        client.call("checkAccess", check, user="eve")
    check.mode = Entry.WRITE
    with pytest.raises(errors.AccessDenied, match="user=bob, access=WRITE"):
        client.call("checkAccess", check, user="bob")


def test_who_is_named_gets_no_more_than_the_entry_though_all_others_do(client: Any) -> None:
    client.create("/f", mode=0o644)
    modify(client, "/f", "user:bob:---")
    check = pb.CheckAccessRequestProto(path="/f", mode=Entry.READ)
    client.call("checkAccess", check, user="eve")
    with pytest.raises(errors.AccessDenied):
        client.call("checkAccess", check, user="bob")


def test_chmod_sets_the_mask(client: Any) -> None:
    client.create("/f", mode=0o640)
    modify(client, "/f", "user:bob:rw-")
    client.chmod("/f", 0o600)
    assert told(client, "/f") == ("user:bob:rw-,group::r--", 0o600)


def test_taking_the_acl_away_brings_the_groups_own_bits_back(client: Any) -> None:
    client.create("/f", mode=0o640)
    modify(client, "/f", "user:bob:rwx")
    client.call("removeAcl", types_pb2.RemoveAclRequestProto(src="/f"))
    assert told(client, "/f") == ("", 0o640)


def test_an_entry_is_removed_and_with_the_last_one_the_acl(client: Any) -> None:
    client.create("/f", mode=0o640)
    modify(client, "/f", "user:bob:rwx,group:staff:r-x")
    request = types_pb2.RemoveAclEntriesRequestProto(src="/f", aclSpec=spec("user:bob:"))
    client.call("removeAclEntries", request)
    assert told(client, "/f") == ("group::r--,group:staff:r-x", 0o650)
    mask = spec("group:staff:,mask::")
    client.call("removeAclEntries", types_pb2.RemoveAclEntriesRequestProto(src="/f", aclSpec=mask))
    assert told(client, "/f") == ("", 0o640)


def test_the_mask_stays_when_the_last_name_goes(client: Any) -> None:
    client.create("/f", mode=0o640)
    modify(client, "/f", "user:bob:rwx,mask::r-x")
    request = types_pb2.RemoveAclEntriesRequestProto(src="/f", aclSpec=spec("user:bob:"))
    client.call("removeAclEntries", request)
    assert told(client, "/f") == ("group::r--", 0o640), "it bounds what is left of the group class"
    request = types_pb2.RemoveAclEntriesRequestProto(src="/f", aclSpec=spec("mask::"))
    client.call("removeAclEntries", request)
    assert told(client, "/f") == ("", 0o640)


def test_default_entries_are_completed_from_the_access_entries(client: Any) -> None:
    client.mkdirs("/d", 0o750)
    modify(client, "/d", "default:user:bob:rwx")
    assert told(client, "/d") == (
        "default:user::rwx,default:user:bob:rwx,default:group::r-x,default:mask::rwx,"
        "default:other::---",
        0o750,
    )
    client.call("removeDefaultAcl", types_pb2.RemoveDefaultAclRequestProto(src="/d"))
    assert told(client, "/d") == ("", 0o750)


def test_a_file_has_no_default_entries(client: Any) -> None:
    client.create("/f")
    with pytest.raises(errors.InvalidAcl, match="only directories may have a default ACL"):
        modify(client, "/f", "default:user:bob:rwx")


def test_setting_access_entries_leaves_the_default_ones(client: Any) -> None:
    client.mkdirs("/d", 0o750)
    modify(client, "/d", "default:user:bob:rwx")
    set_acl(client, "/d", OPEN)
    entries, mode = told(client, "/d")
    assert "default:user:bob:rwx" in entries
    assert mode == 0o777


def test_an_empty_list_takes_the_acl_away(client: Any) -> None:
    client.create("/f", mode=0o640)
    modify(client, "/f", "user:bob:rwx")
    set_acl(client, "/f", "")
    assert told(client, "/f") == ("", 0o640)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("user:bob:rwx", "user, group and other entries are required"),
        (OPEN + ",user:bob:r--,user:bob:rw-", "multiple entries with same scope, type and name"),
        (OPEN.replace("other:", "other:bob"), "must not have a name: other:bob:rwx"),
        (",".join(f"user:u{n}:r--" for n in range(33)), "ACL spec has 33 entries"),
        (",".join([OPEN, *(f"user:u{n}:r--" for n in range(29))]), "ACL has 33 entries"),
    ],
)
def test_a_list_that_cannot_be_is_refused(client: Any, text: str, why: str) -> None:
    client.create("/f")
    with pytest.raises(errors.InvalidAcl, match=why):
        set_acl(client, "/f", text)


def test_only_the_owner_changes_it(client: Any) -> None:
    client.create("/f", mode=0o666)
    with pytest.raises(errors.AccessDenied, match="not the owner"):
        modify(client, "/f", "user:bob:rwx", user="bob")


def create(client: Any, path: str, masked: int, unmasked: int | None = None) -> None:
    extra = {} if unmasked is None else {"unmasked": types_pb2.FsPermissionProto(perm=unmasked)}
    client.create(path, mode=masked, **extra)


def test_a_new_file_inherits_and_the_umask_does_not_count(client: Any) -> None:
    client.mkdirs("/d", 0o755)
    modify(client, "/d", "default:user:bob:rwx,default:group::rwx")
    create(client, "/d/f", 0o644, 0o666)
    assert told(client, "/d/f") == ("user:bob:rwx,group::rwx", 0o664)


@pytest.mark.parametrize("beyond", [0o6000, 0xFFFF_E000])
def test_of_the_unmasked_mode_only_the_bits_of_a_mode_count(client: Any, beyond: int) -> None:
    client.mkdirs("/d", 0o755)
    modify(client, "/d", "default:user:bob:rwx,default:group::rwx")
    create(client, "/d/f", 0o644, beyond | 0o666)
    assert client.status("/d/f").permission.perm == 0o664


def test_without_the_unmasked_mode_the_umask_counts(client: Any) -> None:
    client.mkdirs("/d", 0o755)
    modify(client, "/d", "default:user:bob:rwx")
    create(client, "/d/f", 0o600)
    assert told(client, "/d/f") == ("user:bob:rwx,group::r-x", 0o600)


def test_without_a_default_acl_the_umask_counts(client: Any) -> None:
    client.mkdirs("/d", 0o755)
    modify(client, "/d", "user:bob:rwx")
    create(client, "/d/f", 0o644, 0o666)
    assert told(client, "/d/f") == ("", 0o644)


def test_a_minimal_default_acl_is_only_a_mode_to_a_file(client: Any) -> None:
    client.mkdirs("/d", 0o755)
    modify(client, "/d", "default:user::rwx,default:group::rw-,default:other::r--")
    create(client, "/d/f", 0o600, 0o666)
    assert told(client, "/d/f") == ("", 0o664)


def test_new_directories_inherit_the_default_acl_all_the_way_down(client: Any) -> None:
    client.mkdirs("/d", 0o750)
    modify(client, "/d", "default:user:bob:r-x")
    client.mkdirs("/d/e/f", 0o755)
    default = (
        "default:user::rwx,default:user:bob:r-x,default:group::r-x,default:mask::r-x,"
        "default:other::---"
    )
    for path in ("/d/e", "/d/e/f"):
        assert told(client, path) == ("user:bob:r-x,group::r-x," + default, 0o750)


def test_they_can_be_switched_off() -> None:
    namenode = InMemoryNamenode(Settings("", acls_enabled=False))
    with pytest.raises(errors.InvalidAcl, match=r"dfs.namenode.acls.enabled to false"):
        namenode.call("getAclStatus", types_pb2.GetAclStatusRequestProto(src="/"))


def test_the_log_brings_them_back(client: Any, namenode: InMemoryNamenode) -> None:
    client.mkdirs("/d", 0o750)
    modify(client, "/d", "default:user:bob:rwx,group:staff:r--")
    client.mkdirs("/d/e")
    create(client, "/d/f", 0o644)
    client.chmod("/d/f", 0o600)
    client.create("/g", mode=0o640)
    modify(client, "/g", "user:bob:rw-")
    client.call("removeAcl", types_pb2.RemoveAclRequestProto(src="/g"))
    fresh = Namespace()
    for record in namenode.log:
        fresh.apply(decode_record(record).edit)
    for path in ("/d", "/d/e", "/d/f", "/g"):
        live, again = namenode.namesystem.namespace.find(path), fresh.find(path)
        assert isinstance(live, INode)
        assert isinstance(again, INode)
        assert (again.mode, again.acl) == (live.mode, live.acl), path


def test_what_an_inode_keeps_and_the_whole_list_say_the_same() -> None:
    whole = acls.modified(
        acls.entries_of(0o1750, ()),
        [AclEntry(AclScope.ACCESS, AclKind.USER, 5, "bob")],
    )
    mode, stored = acls.stored_as(0o1750, whole)
    assert acls.entries_of(mode, stored) == whole
    assert mode & 0o1000
