"""What S3 calls ACLs: the permissions of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol import acls
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.documents import document
from howdah.gateway.s3.protocol.refusals import Refused
from tests.support.s3_gateway import Door, in_process
from tests.unit.gateway.s3.test_service import code_of

USER = "ann"
NAME = "s3-acls"
ALL = "http://acs.amazonaws.com/groups/global/AllUsers"
AUTHENTICATED = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with in_process(tmp_path, f"mem://{NAME}", USER) as found:
        yield found
    forget(NAME)


@pytest.fixture
def s3(door: Door) -> Any:
    return door.client()


@pytest.fixture
def fs(door: Door) -> MemoryFileSystem:
    return MemoryFileSystem(NAME, Configuration(), USER)


def mode(fs: MemoryFileSystem, path: str) -> str:
    return f"{fs.get_file_status(path).permission:o}"


@pytest.mark.parametrize(
    ("acl", "bucket_mode", "object_mode"),
    [
        ("private", "750", "640"),
        ("public-read", "755", "644"),
        ("public-read-write", "757", "646"),
        ("authenticated-read", "755", "644"),
        ("bucket-owner-full-control", "755", "644"),
    ],
)
def test_what_is_made_lets_others_do_what_was_asked(
    s3: Any, fs: MemoryFileSystem, acl: str, bucket_mode: str, object_mode: str
) -> None:
    s3.create_bucket(Bucket="made", ACL=acl)
    s3.put_object(Bucket="made", Key="put", Body=b"x", ACL=acl)
    s3.copy_object(Bucket="made", Key="copied", CopySource="made/put", ACL=acl)
    upload = s3.create_multipart_upload(Bucket="made", Key="parts", ACL=acl)["UploadId"]
    part = s3.upload_part(Bucket="made", Key="parts", UploadId=upload, PartNumber=1, Body=b"y")
    s3.complete_multipart_upload(
        Bucket="made",
        Key="parts",
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )
    assert mode(fs, "/s3/made") == bucket_mode
    for key in ("put", "copied", "parts"):
        assert mode(fs, f"/s3/made/{key}") == object_mode


def test_a_copy_does_not_take_its_sources_rights(s3: Any, fs: MemoryFileSystem) -> None:
    s3.create_bucket(Bucket="made")
    s3.put_object(Bucket="made", Key="put", Body=b"x", ACL="public-read-write")
    s3.copy_object(Bucket="made", Key="copied", CopySource="made/put")
    assert mode(fs, "/s3/made/copied") == "644"


def test_an_acl_is_changed_and_shown(s3: Any, fs: MemoryFileSystem) -> None:
    s3.create_bucket(Bucket="made", ACL="private")
    s3.put_object(Bucket="made", Key="k", Body=b"x", ACL="private")
    owner = {"ID": USER, "DisplayName": USER}
    own = {"Grantee": {**owner, "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}
    for get, put, names in (
        (s3.get_bucket_acl, s3.put_bucket_acl, {"Bucket": "made"}),
        (s3.get_object_acl, s3.put_object_acl, {"Bucket": "made", "Key": "k"}),
    ):
        found = get(**names)
        assert (found["Owner"], found["Grants"]) == (owner, [own])
        put(**names, ACL="public-read")
        found = get(**names)
        everybody = {"Grantee": {"Type": "Group", "URI": AUTHENTICATED}, "Permission": "READ"}
        assert found["Grants"] == [own, everybody]
        policy = {"Owner": owner, "Grants": [own]}
        put(**names, AccessControlPolicy=policy)
        assert get(**names)["Grants"] == [own]
    assert (mode(fs, "/s3/made"), mode(fs, "/s3/made/k")) == ("750", "640")


def test_rights_for_single_users_are_refused(s3: Any) -> None:
    s3.create_bucket(Bucket="made")
    for act in (
        lambda: s3.put_bucket_acl(Bucket="made", ACL="log-delivery-write"),
        lambda: s3.put_bucket_acl(Bucket="made", GrantRead="id=bob"),
        lambda: s3.create_bucket(Bucket="other", GrantWrite="id=bob"),
    ):
        assert code_of(act) == "NotImplemented"
    assert code_of(lambda: s3.get_object_acl(Bucket="made", Key="missing")) == "NoSuchKey"


def policy(*grants: tuple[str, str, str], owner: str = USER) -> bytes:
    """An AccessControlPolicy, of kinds and names of grantees and their rights."""
    return document(
        "AccessControlPolicy",
        [
            ("Owner", [("ID", owner)]),
            (
                "AccessControlList",
                [
                    ("Grant", [("Grantee", [(kind, name)]), ("Permission", right)])
                    for kind, name, right in grants
                ],
            ),
        ],
    )


def test_a_document_says_what_others_may() -> None:
    assert acls.others_of_document(policy(), USER) == Others()
    grants = (("ID", USER, "FULL_CONTROL"), ("URI", ALL, "READ"), ("URI", ALL, "WRITE"))
    assert acls.others_of_document(policy(*grants), USER) == Others(read=True, write=True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (policy(owner="bob"), "NotImplemented"),
        (policy(("ID", "bob", "READ")), "NotImplemented"),
        (policy(("URI", ALL, "FULL_CONTROL")), "NotImplemented"),
        (policy(("URI", "http://example.org", "READ")), "NotImplemented"),
        (policy(("EmailAddress", "a@b", "READ")), "NotImplemented"),
        (
            b"<AccessControlPolicy><AccessControlList><Grant/></AccessControlList>"
            b"</AccessControlPolicy>",
            "MalformedACLError",
        ),
        (b"", "MalformedXML"),
    ],
)
def test_a_document_that_hdfs_cannot_follow_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        acls.others_of_document(body, USER)
    assert refused.value.code == code


def test_rights_of_all_who_have_a_name_need_that_all_have_one() -> None:
    headers = {"x-amz-acl": "authenticated-read"}
    assert acls.others_of(headers) == Others(read=True)
    with pytest.raises(Refused):
        acls.others_of(headers, knows_everybody=False)


def test_the_group_and_the_sticky_bit_stay() -> None:
    assert Others(write=True).mode(0o1770, is_directory=True) == 0o1777
    status = FileStatus("/b", 0, True, 0, 0, 0, 0, 0o1770, "ann", "staff")
    assert acls.children(status, knows_everybody=True)[1] == (
        "AccessControlList",
        acls.children(status, knows_everybody=False)[1][1],
    )
