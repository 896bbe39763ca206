"""Calls as requests, and answers as responses: what the server's tables do, the other way round."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.token import Token
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.striping.messages import PolicyState, policy_to_proto
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema
from howdah.runtime.users.names import ProxyUser
from howdah.web.http import request_of
from howdah.web.webhdfs import json_values
from howdah.web.webhdfs.answers import (
    ABSENT,
    ANSWERS,
    file_status,
    loaded,
    remote_error,
    response,
)
from howdah.web.webhdfs.call_chain import Rpc
from howdah.web.webhdfs.faults import refused
from howdah.web.webhdfs.parameters import OPERATIONS, parse_request
from howdah.web.webhdfs.reads import READS
from howdah.web.webhdfs.requests import OF_TOKENS, REQUESTS, make_request
from howdah.web.webhdfs.writes import CHANGES
from howdah.web.webhdfs_names import patterns_of

PATTERNS = patterns_of(Configuration())
MODE = types_pb2.FsPermissionProto(perm=0o1755)
XATTR = types_pb2.XAttrProto(namespace="USER", name="a+b", value=b"\x00\xff")
XATTR_NAME = types_pb2.XAttrProto(namespace="USER", name="a+b")
ENTRIES = [
    types_pb2.AclEntryProto(type="USER", scope="ACCESS", permissions="READ", name="bob"),
    types_pb2.AclEntryProto(type="GROUP", scope="DEFAULT", permissions="PERM_ALL"),
]
NO_BITS = [
    types_pb2.AclEntryProto(
        type=each.type, scope=each.scope, permissions="NONE", name=each.name or None
    )
    for each in ENTRIES
]
PATH = "/a b/c+d%20;e?f=g&h/größe"
KEEP = (1 << 63) - 1
MINUS_ONE = (1 << 64) - 1
CALLS: list[tuple[str, Message]] = [
    ("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot=PATH)),
    ("checkAccess", pb.CheckAccessRequestProto(path=PATH, mode="READ_EXECUTE")),
    ("concat", pb.ConcatRequestProto(trg=PATH, srcs=["/a", "/b"])),
    ("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot=PATH, snapshotName="s & t")),
    (
        "createSymlink",
        pb.CreateSymlinkRequestProto(
            target="/t",
            link=PATH,
            dirPerm=types_pb2.FsPermissionProto(perm=0o777),
            createParent=True,
        ),
    ),
    ("delete", pb.DeleteRequestProto(src=PATH, recursive=True)),
    ("deleteSnapshot", pb.DeleteSnapshotRequestProto(snapshotRoot=PATH, snapshotName="s")),
    (
        "disableErasureCodingPolicy",
        types_pb2.DisableErasureCodingPolicyRequestProto(ecPolicyName="RS-4-2-64k"),
    ),
    ("disallowSnapshot", pb.DisallowSnapshotRequestProto(snapshotRoot=PATH)),
    (
        "enableErasureCodingPolicy",
        types_pb2.EnableErasureCodingPolicyRequestProto(ecPolicyName="RS-4-2-64k"),
    ),
    ("getAclStatus", types_pb2.GetAclStatusRequestProto(src=PATH)),
    ("getBlockLocations", pb.GetBlockLocationsRequestProto(src=PATH, offset=5, length=7)),
    ("getContentSummary", pb.GetContentSummaryRequestProto(path=PATH)),
    ("getErasureCodingCodecs", types_pb2.GetErasureCodingCodecsRequestProto()),
    ("getErasureCodingPolicies", types_pb2.GetErasureCodingPoliciesRequestProto()),
    ("getErasureCodingPolicy", types_pb2.GetErasureCodingPolicyRequestProto(src=PATH)),
    ("getFileInfo", pb.GetFileInfoRequestProto(src=PATH)),
    ("getFileLinkInfo", pb.GetFileLinkInfoRequestProto(src=PATH)),
    ("getFsStats", pb.GetFsStatusRequestProto()),
    ("getLinkTarget", pb.GetLinkTargetRequestProto(path=PATH)),
    (
        "getListing",
        pb.GetListingRequestProto(src=PATH, startAfter="größe".encode(), needLocation=False),
    ),
    ("getQuotaUsage", pb.GetQuotaUsageRequestProto(path=PATH)),
    ("getServerDefaults", pb.GetServerDefaultsRequestProto()),
    (
        "getSnapshotDiffReport",
        pb.GetSnapshotDiffReportRequestProto(snapshotRoot=PATH, fromSnapshot="s", toSnapshot=""),
    ),
    (
        "getSnapshotDiffReportListing",
        pb.GetSnapshotDiffReportListingRequestProto(
            snapshotRoot=PATH,
            fromSnapshot="s",
            toSnapshot="t",
            cursor=types_pb2.SnapshotDiffReportCursorProto(startPath=b"/x", index=3),
        ),
    ),
    ("getSnapshotListing", pb.GetSnapshotListingRequestProto(snapshotRoot=PATH)),
    ("getSnapshottableDirListing", pb.GetSnapshottableDirListingRequestProto()),
    ("getStoragePolicies", pb.GetStoragePoliciesRequestProto()),
    ("getStoragePolicy", pb.GetStoragePolicyRequestProto(path=PATH)),
    ("getXAttrs", types_pb2.GetXAttrsRequestProto(src=PATH, xAttrs=[XATTR_NAME, XATTR_NAME])),
    ("listXAttrs", types_pb2.ListXAttrsRequestProto(src=PATH)),
    ("mkdirs", pb.MkdirsRequestProto(src=PATH, masked=MODE, unmasked=MODE, createParent=True)),
    ("modifyAclEntries", types_pb2.ModifyAclEntriesRequestProto(src=PATH, aclSpec=ENTRIES)),
    ("removeAcl", types_pb2.RemoveAclRequestProto(src=PATH)),
    ("removeAclEntries", types_pb2.RemoveAclEntriesRequestProto(src=PATH, aclSpec=NO_BITS)),
    ("removeDefaultAcl", types_pb2.RemoveDefaultAclRequestProto(src=PATH)),
    ("removeXAttr", types_pb2.RemoveXAttrRequestProto(src=PATH, xAttr=XATTR_NAME)),
    ("rename", pb.RenameRequestProto(src=PATH, dst=PATH + "2")),
    ("rename2", pb.Rename2RequestProto(src=PATH, dst="/b", overwriteDest=True, moveToTrash=False)),
    ("rename2", pb.Rename2RequestProto(src=PATH, dst="/b", overwriteDest=False, moveToTrash=False)),
    (
        "renameSnapshot",
        pb.RenameSnapshotRequestProto(snapshotRoot=PATH, snapshotOldName="s", snapshotNewName="t"),
    ),
    ("satisfyStoragePolicy", pb.SatisfyStoragePolicyRequestProto(src=PATH)),
    ("setAcl", types_pb2.SetAclRequestProto(src=PATH, aclSpec=ENTRIES)),
    (
        "setErasureCodingPolicy",
        types_pb2.SetErasureCodingPolicyRequestProto(src=PATH, ecPolicyName="RS-4-2-64k"),
    ),
    ("setOwner", pb.SetOwnerRequestProto(src=PATH, username="ann")),
    ("setPermission", pb.SetPermissionRequestProto(src=PATH, permission=MODE)),
    (
        "setQuota",
        pb.SetQuotaRequestProto(path=PATH, namespaceQuota=MINUS_ONE, storagespaceQuota=KEEP),
    ),
    (
        "setQuota",
        pb.SetQuotaRequestProto(
            path=PATH, namespaceQuota=KEEP, storagespaceQuota=9, storageType="SSD"
        ),
    ),
    ("setReplication", pb.SetReplicationRequestProto(src=PATH, replication=2)),
    ("setStoragePolicy", pb.SetStoragePolicyRequestProto(src=PATH, policyName="HOT")),
    ("setTimes", pb.SetTimesRequestProto(src=PATH, mtime=5, atime=MINUS_ONE)),
    ("setXAttr", types_pb2.SetXAttrRequestProto(src=PATH, xAttr=XATTR, flag=3)),
    ("truncate", pb.TruncateRequestProto(src=PATH, newLength=5, clientName="")),
    ("unsetErasureCodingPolicy", types_pb2.UnsetErasureCodingPolicyRequestProto(src=PATH)),
    ("unsetStoragePolicy", pb.UnsetStoragePolicyRequestProto(src=PATH)),
]

TOKEN = Token(b"identifier", b"password", "WEBHDFS delegation", "127.0.0.1:9870")
TOKEN_CALLS: list[tuple[str, Message]] = [
    ("getDelegationToken", rpc_pb2.GetDelegationTokenRequestProto(renewer="ya rn")),
    ("renewDelegationToken", rpc_pb2.RenewDelegationTokenRequestProto(token=TOKEN.to_proto())),
    ("cancelDelegationToken", rpc_pb2.CancelDelegationTokenRequestProto(token=TOKEN.to_proto())),
]
"""No server of ours answers them."""


def made(method: str, request: Message) -> Rpc:
    """The first call that a server makes of the request for a call."""
    what = make_request(method, request)
    parsed = request_of(what.method.encode(), what.target("bob").encode(), [])
    assert parsed is not None
    found = parse_request(parsed, PATTERNS)
    assert (found.user, found.operation) == ("bob", what.operation)
    step = next((READS.get(found.operation) or CHANGES[found.operation])(found, "bob"))
    assert isinstance(step, Rpc)
    return step


@pytest.mark.req("FS-250")
@pytest.mark.parametrize(("method", "request_"), CALLS, ids=lambda each: str(each)[:40])
def test_a_server_makes_the_same_call_of_it(method: str, request_: Message) -> None:
    step = made(method, request_)
    if method == "truncate":
        assert isinstance(step.request, pb.TruncateRequestProto)
        # Of each request a client of its own.
        step.request.clientName = ""
    assert (step.method, step.request) == (method, request_)


def test_both_tables_have_the_same_calls() -> None:
    calls = [*CALLS, *TOKEN_CALLS]
    assert REQUESTS.keys() == ANSWERS.keys() == {method for method, _ in calls}
    assert ABSENT.keys() <= ANSWERS.keys()
    operations = {make_request(*call).operation for call in calls}
    assert operations <= {name for _, name in OPERATIONS}


@pytest.mark.parametrize(
    "policy", [*SYSTEM_POLICIES.values(), Policy(64, Schema("rs", 4, 2, {"a": "b"}), 65536)]
)
def test_a_policy_comes_back_as_the_server_had_it(policy: Policy) -> None:
    shown = json_values.coding_policy(policy_to_proto(policy))
    found = response("getErasureCodingPolicy", json.loads(json.dumps(shown)))
    assert isinstance(found, types_pb2.GetErasureCodingPolicyResponseProto)
    assert found.ecPolicy == policy_to_proto(policy)
    status = types_pb2.HdfsFileStatusProto(
        fileType="IS_FILE",
        path=b"f",
        length=5,
        permission=MODE,
        owner="ann",
        group="g",
        modification_time=1,
        access_time=2,
        flags=types_pb2.HdfsFileStatusProto.HAS_EC,
        ecPolicy=policy_to_proto(policy),
    )
    again = file_status(json.loads(json.dumps(json_values.file_status(status))))
    assert again.ecPolicy == policy_to_proto(policy)
    listed = policy_to_proto(policy, PolicyState.ENABLED)
    info = [json_values.coding_policy_info(listed)]
    told = {"ErasureCodingPolicies": {"ErasureCodingPolicyInfo": info}}
    policies = response("getErasureCodingPolicies", told)
    assert isinstance(policies, types_pb2.GetErasureCodingPoliciesResponseProto)
    assert list(policies.ecPolicies) == [listed]


def test_replicated_files_have_no_policy() -> None:
    found = response("getErasureCodingPolicy", None)
    assert found == types_pb2.GetErasureCodingPolicyResponseProto()


KNOWN = pb.KnownFileProto(fileId=1, modificationTime=2, length=3)


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("recoverLease", pb.RecoverLeaseRequestProto(src="/a", clientName="c")),
        ("getDatanodeReport", pb.GetDatanodeReportRequestProto(type="LIVE")),
        ("mkdirs", pb.MkdirsRequestProto(src="/a", masked=MODE, createParent=False)),
        ("concat", pb.ConcatRequestProto(trg="/a", srcs=["/with,comma"])),
        ("delete", pb.DeleteRequestProto(src="/a", recursive=False, known=KNOWN)),
        (
            "rename2",
            pb.Rename2RequestProto(src="/a", dst="/b", overwriteDest=False, replaces=KNOWN),
        ),
        ("getListing", pb.GetListingRequestProto(src="/", startAfter=b"", needLocation=True)),
    ],
)
def test_what_webhdfs_cannot_say_is_refused(method: str, request_: Message) -> None:
    with pytest.raises(errors.UnsupportedOperation):
        make_request(method, request_)


@pytest.mark.parametrize("told", [None, [], {}, {"FileStatus": None}, {"FileStatus": {"type": 3}}])
def test_answers_of_another_form_are_refused(told: Any) -> None:
    for method in ("getFileInfo", "getListing", "getBlockLocations", "delete", "getXAttrs"):
        with pytest.raises(errors.ProtocolViolation):
            response(method, told)


def test_tokens_go_and_come_as_text() -> None:
    asked = [make_request(*call) for call in TOKEN_CALLS]
    assert {request.operation for request in asked} == OF_TOKENS
    assert asked[0].target(None, ()) == "/webhdfs/v1/?op=GETDELEGATIONTOKEN&renewer=ya%20rn"
    for request in asked[1:]:
        assert request.method == "PUT"
        assert request.query == (("token", TOKEN.url_string),)
    # To cancel twice is an error.
    assert [request.is_repeatable for request in asked] == [True, True, False]
    issued = response("getDelegationToken", {"Token": {"urlString": TOKEN.url_string}})
    assert isinstance(issued, rpc_pb2.GetDelegationTokenResponseProto)
    assert Token.from_proto(issued.token) == TOKEN
    none = response("getDelegationToken", {"Token": None})
    assert isinstance(none, rpc_pb2.GetDelegationTokenResponseProto)
    assert not none.HasField("token")
    renewed = response("renewDelegationToken", {"long": 7})
    assert isinstance(renewed, rpc_pb2.RenewDelegationTokenResponseProto)
    assert renewed.newExpiryTime == 7
    wrong: Any
    for wrong in ({"Token": {"urlString": "!"}}, {"Token": {}}, {}):
        with pytest.raises(errors.ProtocolViolation):
            response("getDelegationToken", wrong)


def test_a_token_that_is_refused_is_told_as_by_rpc() -> None:
    body = {
        "RemoteException": {
            "exception": "SecurityException",
            "javaClassName": "java.lang.SecurityException",
            "message": "Failed to obtain user group information: "
            "org.apache.hadoop.security.token.SecretManager$InvalidToken: Token for real user: , "
            "can't be found in cache",
        }
    }
    error = remote_error(403, json.dumps(body).encode(), "LISTSTATUS /")
    assert type(error) is errors.InvalidToken
    assert error.message == "Token for real user: , can't be found in cache"
    body["RemoteException"]["message"] = (
        "Failed to obtain user group information: "
        "org.apache.hadoop.security.token.SecretManager$InvalidToken: StandbyException"
    )
    error = remote_error(403, json.dumps(body).encode(), "LISTSTATUS /")
    assert type(error) is errors.StandbyError


def test_what_is_no_json_is_refused() -> None:
    for body in (b"<html>", b"{", b"[" * 100_000, b'"\xff"'):
        with pytest.raises(errors.ProtocolViolation):
            loaded(body)
    assert loaded(b"") is None


def test_an_error_comes_back_as_it_was_raised() -> None:
    for error in (
        errors.PathNotFound("File does not exist: /a"),
        errors.AccessDenied("Permission denied: user=bob"),
        errors.StandbyError("standby"),
        errors.SafeMode("safe mode"),
        errors.RemoteError("anything"),
    ):
        answer = refused(error)
        again = remote_error(answer.status, answer.body, "OPEN /a")
        assert (type(again), again.message) == (type(error), error.message)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b"<html>no</html>", errors.PathNotFound),
        (401, b"", errors.AuthorizationFailed),
        (503, b"too many", errors.RetriableError),
        (500, b"{}", errors.RemoteError),
        (500, json.dumps({"RemoteException": []}).encode(), errors.RemoteError),
    ],
)
def test_an_error_without_a_remote_exception_goes_by_its_status(
    status: int, body: bytes, kind: type[errors.HowdahError]
) -> None:
    error = remote_error(status, body, "OPEN /a")
    assert type(error) is kind
    assert "OPEN /a" in str(error)


def test_a_request_names_for_whom_one_acts() -> None:
    what = make_request("getFileInfo", pb.GetFileInfoRequestProto(src="/a"))
    assert what.target("joe") == "/webhdfs/v1/a?op=GETFILESTATUS&user.name=joe"
    acting = what.target(ProxyUser("joe", "hive"))
    assert acting == "/webhdfs/v1/a?op=GETFILESTATUS&doas=joe&user.name=hive"
