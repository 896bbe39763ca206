"""Values as Hadoop's JSON, and from its texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import rpc_pb2, types_pb2
from howdah.web.webhdfs import json_values
from howdah.web.webhdfs.names import acl_entries, xattr_named


@given(st.binary(max_size=40), st.sampled_from(["HEX", "BASE64"]))
def test_values_of_attributes_come_back(value: bytes, encoding: str) -> None:
    xattr = types_pb2.XAttrProto(namespace="TRUSTED", name="a.b", value=value)
    (told,) = json_values.xattrs([xattr], encoding)["XAttrs"]
    assert told["name"] == "trusted.a.b"
    assert (json_values.decoded(told["value"]) if value else told["value"]) == (value or None)


@pytest.mark.parametrize(
    ("text", "value"), [('"a b"', b"a b"), ("0x6162", b"ab"), ("0sYWI=", b"ab"), ("ab", b"ab")]
)
def test_values_are_read_as_hadoop_reads_them(text: str, value: bytes) -> None:
    assert json_values.decoded(text) == value


@pytest.mark.parametrize("text", ["0xzz", "0s!"])
def test_values_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_values.decoded(text)


def test_acl_entries_are_read_and_shown() -> None:
    text = "user::rwx,user:bob:r--,default:group:staff:r-x,mask::rwx"
    status = types_pb2.AclStatusProto(
        owner="ann",
        group="g",
        sticky=True,
        entries=acl_entries(text, with_permissions=True),
        permission=types_pb2.FsPermissionProto(perm=0o1751),
    )
    told = json_values.acl_status(status)["AclStatus"]
    assert told["entries"] == text.split(",")
    assert (told["permission"], told["stickyBit"]) == ("1751", True)


@pytest.mark.parametrize("text", ["user", "dog:a:rwx", "user:a:rwz", "user:a:rwx:x", "default:"])
def test_acl_entries_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="aclSpec"):
        acl_entries(text, with_permissions=True)


@pytest.mark.parametrize("name", ["a", ".a", "user.", "dog.a"])
def test_attribute_names_have_a_namespace(name: str) -> None:
    with pytest.raises(errors.IllegalArgument, match=r"prefixed|empty"):
        xattr_named(name)


def test_times_before_1970_are_negative() -> None:
    status = types_pb2.HdfsFileStatusProto(
        fileType=types_pb2.HdfsFileStatusProto.IS_FILE,
        path="é".encode(),
        length=1,
        permission=types_pb2.FsPermissionProto(perm=0o644),
        owner="o",
        group="g",
        modification_time=(1 << 64) - 5,
        access_time=0,
        flags=types_pb2.HdfsFileStatusProto.HAS_ACL,
    )
    told = json_values.file_status(status)
    assert (told["modificationTime"], told["pathSuffix"]) == (-5, "é")
    assert told["aclBit"] is True
    assert "snapshotEnabled" not in told


def test_empty_token_is_written_as_hadoop_writes_it() -> None:
    token = rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service="")
    assert json_values._token(token) == {"urlString": "AAAAAA"}
