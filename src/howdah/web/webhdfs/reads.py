"""Operations that change nothing, as calls of ClientProtocol: the GETs of
NamenodeWebHdfsMethods (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.trash_names import TRASH_NAME
from howdah.web.http import Response, answer
from howdah.web.webhdfs import json_values as to_json
from howdah.web.webhdfs.call_chain import Piece, Rpc, Steps, json_response
from howdah.web.webhdfs.faults import JSON_TYPE
from howdah.web.webhdfs.names import xattr_named
from howdah.web.webhdfs.parameters import LONG_MAX, ParsedRequest

HOME_PREFIX: Final = "/user"


def file_status(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getFileInfo", pb.GetFileInfoRequestProto(src=asked.path))
    if not answer.HasField("fs"):
        raise errors.PathNotFound(f"File does not exist: {asked.path}")
    return json_response({"FileStatus": to_json.file_status(answer.fs)})


def file_link_status(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getFileLinkInfo", pb.GetFileLinkInfoRequestProto(src=asked.path))
    if not answer.HasField("fs"):
        raise errors.PathNotFound(f"File does not exist: {asked.path}")
    return json_response({"FileStatus": to_json.file_status(answer.fs)})


def list_status(asked: ParsedRequest, user: str) -> Steps:
    return listed(asked, lambda name: True)


def listed(asked: ParsedRequest, keeps: Callable[[str], bool]) -> Steps:
    """Those of a directory whose names it `keeps`: a whole answer if they fit into one page of
    `getListing`, else a piece for each, which is on its way before the next one is asked for."""
    start_after = b""
    head = before = b'{"FileStatuses":{"FileStatus":[\n'
    while True:
        page = yield _listing(asked.path, start_after)
        _require_listing(page, asked.path)
        entries = page.dirList.partialListing
        text = b",\n".join(
            to_json.dumped(to_json.file_status(entry))
            for entry in entries
            if keeps(_name_of(entry, asked.path))
        )
        if not page.dirList.remainingEntries or not entries:
            break
        if text:
            wants_more = yield Piece(before + text)
            if not wants_more:
                return None
            before = b",\n"
        start_after = entries[-1].path
    end = text + b"\n]}}\n"
    if before is head:
        return answer(200, head + end, JSON_TYPE)
    yield Piece(before + end if text else end)
    return None


def _name_of(entry: types_pb2.HdfsFileStatusProto, path: str) -> str:
    """A file that is listed itself has no name in the answer."""
    return entry.path.decode("utf-8", "replace") or path.rpartition("/")[2]


def list_status_batch(asked: ParsedRequest, user: str) -> Steps:
    page = yield _listing(asked.path, (asked.text("startafter") or "").encode())
    _require_listing(page, asked.path)
    return json_response(to_json.listing(page.dirList))


def _listing(path: str, start_after: bytes) -> Rpc:
    return Rpc(
        "getListing",
        pb.GetListingRequestProto(src=path, startAfter=start_after, needLocation=False),
    )


def _require_listing(page: pb.GetListingResponseProto, path: str) -> None:
    if not page.HasField("dirList"):
        raise errors.PathNotFound(f"File {path} does not exist.")


def content_summary(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getContentSummary", pb.GetContentSummaryRequestProto(path=asked.path))
    return json_response(to_json.content_summary(answer.summary))


def quota_usage(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getQuotaUsage", pb.GetQuotaUsageRequestProto(path=asked.path))
    return json_response(to_json.quota_usage(answer.usage))


def _located(asked: ParsedRequest) -> Rpc:
    length = asked.number("length")
    return Rpc(
        "getBlockLocations",
        pb.GetBlockLocationsRequestProto(
            src=asked.path,
            offset=asked.number("offset") or 0,
            length=LONG_MAX if length is None else length,
        ),
    )


def located_blocks(asked: ParsedRequest, user: str) -> Steps:
    answer = yield _located(asked)
    if not answer.HasField("locations"):
        raise errors.PathNotFound(f"File does not exist: {asked.path}")
    return json_response(to_json.located_blocks(answer.locations))


def block_locations(asked: ParsedRequest, user: str) -> Steps:
    answer = yield _located(asked)
    if not answer.HasField("locations"):
        raise errors.PathNotFound(f"File does not exist: {asked.path}")
    return json_response(to_json.block_locations(answer.locations))


def acl_status(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getAclStatus", types_pb2.GetAclStatusRequestProto(src=asked.path))
    return json_response(to_json.acl_status(answer.result))


def get_xattrs(asked: ParsedRequest, user: str) -> Steps:
    wanted = [xattr_named(name) for name in asked.all_names if name]
    answer = yield Rpc("getXAttrs", types_pb2.GetXAttrsRequestProto(src=asked.path, xAttrs=wanted))
    return json_response(to_json.xattrs(answer.xAttrs, asked.text("encoding") or ""))


def list_xattrs(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("listXAttrs", types_pb2.ListXAttrsRequestProto(src=asked.path))
    names = [to_json.xattr_name(one) for one in answer.xAttrs]
    # A text that holds JSON, as Hadoop's.
    return json_response({"XAttrNames": to_json.dumped(names).decode()})


def check_access(asked: ParsedRequest, user: str) -> Steps:
    letters = asked.text("fsaction") or ""
    mode = sum(bit for letter, bit in zip(letters, (4, 2, 1), strict=True) if letter != "-")
    yield Rpc(
        "checkAccess",
        # The stubs want the enum; at run time a number is one.
        pb.CheckAccessRequestProto(path=asked.path, mode=mode),  # type: ignore[arg-type]
    )
    return Response(200)


def home_directory(asked: ParsedRequest, user: str) -> Steps:
    yield from ()
    return json_response({"Path": f"{HOME_PREFIX}/{user}"})


def trash_root(asked: ParsedRequest, user: str) -> Steps:
    """Everybody's is in his home, but for what is in an encryption zone. Snapshottable directories
    have none of their own."""
    above = asked.path.rstrip("/").rpartition("/")[0] or "/"
    answer = yield Rpc("getEZForPath", pb.GetEZForPathRequestProto(src=above))
    root = f"{HOME_PREFIX}/{user}/{TRASH_NAME}"
    if answer.HasField("zone"):
        root = f"{answer.zone.path}/{TRASH_NAME}/{user}"
    return json_response({"Path": root})


def trash_roots(asked: ParsedRequest, user: str) -> Steps:
    homes = [f"{HOME_PREFIX}/{user}"]
    if asked.flag("allusers"):
        homes = []
        start_after = b""
        while True:
            page = yield _listing(HOME_PREFIX, start_after)
            if not page.HasField("dirList"):
                break
            entries = page.dirList.partialListing
            homes += [f"{HOME_PREFIX}/{entry.path.decode()}" for entry in entries]
            if not page.dirList.remainingEntries or not entries:
                break
            start_after = entries[-1].path
    roots = []
    for home in homes:
        path = f"{home}/{TRASH_NAME}"
        answer = yield Rpc("getFileInfo", pb.GetFileInfoRequestProto(src=path))
        if answer.HasField("fs"):
            roots.append(to_json.trash_root(path, answer.fs))
    return json_response({"Paths": roots or None})


def storage_policies(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getStoragePolicies", pb.GetStoragePoliciesRequestProto())
    policies = [to_json.storage_policy(policy) for policy in answer.policies]
    return json_response({"BlockStoragePolicies": {"BlockStoragePolicy": policies}})


def storage_policy(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getStoragePolicy", pb.GetStoragePolicyRequestProto(path=asked.path))
    return json_response({"BlockStoragePolicy": to_json.storage_policy(answer.storagePolicy)})


def ec_policy(asked: ParsedRequest, user: str) -> Steps:
    """The policy that counts for a path; null where files are replicated."""
    answer = yield Rpc(
        "getErasureCodingPolicy", types_pb2.GetErasureCodingPolicyRequestProto(src=asked.path)
    )
    has_one = answer.HasField("ecPolicy")
    return json_response(to_json.coding_policy(answer.ecPolicy) if has_one else None)


def ec_policies(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getErasureCodingPolicies", types_pb2.GetErasureCodingPoliciesRequestProto())
    policies = [to_json.coding_policy_info(policy) for policy in answer.ecPolicies] or None
    return json_response({"ErasureCodingPolicies": {"ErasureCodingPolicyInfo": policies}})


def ec_codecs(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getErasureCodingCodecs", types_pb2.GetErasureCodingCodecsRequestProto())
    codecs = {codec.codec: codec.coders for codec in answer.codec}
    return json_response({"ErasureCodingCodecs": codecs})


def server_defaults(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getServerDefaults", pb.GetServerDefaultsRequestProto())
    return json_response(to_json.server_defaults(answer.serverDefaults))


def snapshot_diff(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc(
        "getSnapshotDiffReport",
        pb.GetSnapshotDiffReportRequestProto(
            snapshotRoot=asked.path,
            fromSnapshot=asked.text("oldsnapshotname") or "",
            toSnapshot=asked.text("snapshotname") or "",
        ),
    )
    return json_response(to_json.snapshot_diff(answer.diffReport))


def snapshot_diff_listing(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc(
        "getSnapshotDiffReportListing",
        pb.GetSnapshotDiffReportListingRequestProto(
            snapshotRoot=asked.path,
            fromSnapshot=asked.text("oldsnapshotname") or "",
            toSnapshot=asked.text("snapshotname") or "",
            cursor=types_pb2.SnapshotDiffReportCursorProto(
                startPath=(asked.text("snapshotdiffstartpath") or "").encode(),
                index=asked.number("snapshotdiffindex"),
            ),
        ),
    )
    return json_response(to_json.snapshot_diff_listing(answer.diffReport))


def snapshottable_directories(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getSnapshottableDirListing", pb.GetSnapshottableDirListingRequestProto())
    return json_response(to_json.snapshottable(answer))


def snapshot_list(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc(
        "getSnapshotListing", pb.GetSnapshotListingRequestProto(snapshotRoot=asked.path)
    )
    return json_response(to_json.snapshots(answer.snapshotList))


def link_target(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getLinkTarget", pb.GetLinkTargetRequestProto(path=asked.path))
    return json_response({"Path": answer.targetPath})


def status(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc("getFsStats", pb.GetFsStatusRequestProto())
    totals = {"capacity": answer.capacity, "used": answer.used, "remaining": answer.remaining}
    return json_response({"FsStatus": totals})


READS: Final[Mapping[str, Callable[[ParsedRequest, str], Steps]]] = {
    "CHECKACCESS": check_access,
    "GETACLSTATUS": acl_status,
    "GETALLSTORAGEPOLICY": storage_policies,
    "GETCONTENTSUMMARY": content_summary,
    "GETECCODECS": ec_codecs,
    "GETECPOLICIES": ec_policies,
    "GETECPOLICY": ec_policy,
    "GETFILEBLOCKLOCATIONS": block_locations,
    "GETFILELINKSTATUS": file_link_status,
    "GETFILESTATUS": file_status,
    "GETHOMEDIRECTORY": home_directory,
    "GETLINKTARGET": link_target,
    "GETQUOTAUSAGE": quota_usage,
    "GETSERVERDEFAULTS": server_defaults,
    "GETSNAPSHOTDIFF": snapshot_diff,
    "GETSNAPSHOTDIFFLISTING": snapshot_diff_listing,
    "GETSNAPSHOTLIST": snapshot_list,
    "GETSNAPSHOTTABLEDIRECTORYLIST": snapshottable_directories,
    "GETSTATUS": status,
    "GETSTORAGEPOLICY": storage_policy,
    "GETTRASHROOT": trash_root,
    "GETTRASHROOTS": trash_roots,
    "GETXATTRS": get_xattrs,
    "GET_BLOCK_LOCATIONS": located_blocks,
    "LISTSTATUS": list_status,
    "LISTSTATUS_BATCH": list_status_batch,
    "LISTXATTRS": list_xattrs,
}
