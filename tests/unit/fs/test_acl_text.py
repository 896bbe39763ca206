"""ACLs as text."""

from __future__ import annotations

import pytest

from howdah.errors import IllegalArgument
from howdah.fs.acl import AclEntry, AclStatus, acl_text, parse_acl
from howdah.fs.attributes import xattr_parts


def test_what_is_printed_is_what_is_read() -> None:
    text = "user::rwx,user:bob:rw-,default:group::r-x,mask::---"
    assert acl_text(parse_acl(text)) == text


def test_a_removal_names_entries_without_permissions() -> None:
    assert parse_acl("user:bob,mask", with_permissions=False) == [
        AclEntry("user", "bob"),
        AclEntry("mask"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("user:bob", "Invalid <aclSpec> : user:bob"),
        ("default", "Invalid <aclSpec> : default"),
        ("user:bob:rwx:x", "Invalid <aclSpec>"),
        ("user:bob:rwz", "Invalid permission in <aclSpec>"),
        ("nobody:bob:rwx", "Invalid type of acl in <aclSpec> :nobody:bob:rwx"),
        ("user:bob:rwx, group:staff:r-x", "Invalid type of acl in <aclSpec> : group:staff:r-x"),
        (" user:bob:rwx", "Invalid type of acl"),
        ("user :bob:rwx", "Invalid type of acl"),
        ("user: bob:rwx", "Invalid <aclSpec> : user: bob:rwx .the name has blanks"),
        ("user:bob\u2003:rwx", "Invalid <aclSpec>"),
        ("user:bob: rwx", "Invalid permission in <aclSpec>"),
        ("user:bob:rwx ", "Invalid permission in <aclSpec>"),
        (" ", "Invalid type of acl in <aclSpec> : "),
    ],
)
def test_what_is_no_entry_is_refused(text: str, why: str) -> None:
    with pytest.raises(IllegalArgument, match=why):
        parse_acl(text)


def test_a_name_may_have_blanks_in_it() -> None:
    assert parse_acl("group:domain users:r-x,,") == [AclEntry("group", "domain users", 5)]


def test_the_whole_list_has_what_the_mode_stands_for() -> None:
    named = (AclEntry("user", "bob", 6), AclEntry("group", None, 4))
    assert acl_text(AclStatus("o", "g", False, 0o650, named).all_entries()) == (
        "user::rw-,user:bob:rw-,group::r--,mask::r-x,other::---"
    )


@pytest.mark.parametrize("name", ["", "mark", "user.", "foo.bar"])
def test_an_attribute_is_named_with_its_namespace(name: str) -> None:
    with pytest.raises(IllegalArgument, match="XAttr name"):
        xattr_parts(name)
