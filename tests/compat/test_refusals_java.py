"""What our namenode refuses, Hadoop's refuses, too: with the same class and the same words.

Both are sent the same calls, in the same order: what guards directories, odd paths, reserved
names, quotas, and numbers out of bounds. Where an answer is given, it has the same fields.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from google.protobuf.json_format import MessageToDict

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.testing import MiniCluster
from tests.support.answers.asking import CLIENT, Asking
from tests.support.answers.conversation import CONF

GUARDS: Final = {"fs.protected.directories": "/kept, /above/kept/"}
ALL: Final = (1 << 64) - 1
KEEP: Final = (1 << 63) - 1
RESET: Final = ALL
MODE: Final = {"perm": 0o755}
OPEN: Final = {"perm": 0o777}
ALICE: Final = "alice"

# Of no two servers the same.
VOLATILE: Final = (
    *("modificationTime", "accessTime", "fileId", "generationStamp", "blockId", "poolId"),
    *("locs", "storageIDs"),
)

Call = tuple[str, str, dict[str, Any]]


def call(method: str, user: str = "", **fields: Any) -> Call:
    return user, method, fields


def mkdir(path: str, user: str = "", *, mode: dict[str, int] = MODE, parents: bool = True) -> Call:
    return call("mkdirs", user, src=path, masked=mode, createParent=parents)


def create(path: str, user: str = "", *, replication: int = 1) -> Call:
    return call(
        "create",
        user,
        src=path,
        masked={"perm": 0o644},
        clientName="c",
        createFlag=1,
        createParent=True,
        replication=replication,
        blockSize=1024,
    )


def made(path: str) -> tuple[Call, Call]:
    """A file without bytes."""
    return create(path), call("complete", src=path, clientName="c")


def rename2(src: str, dst: str, user: str = "", *, trash: bool = False) -> Call:
    return call("rename2", user, src=src, dst=dst, overwriteDest=False, moveToTrash=trash)


def delete(path: str, user: str = "", *, recursive: bool = True) -> Call:
    return call("delete", user, src=path, recursive=recursive)


def times(path: str, mtime: int, atime: int) -> Call:
    return call("setTimes", src=path, mtime=mtime & ALL, atime=atime & ALL)


def quota(path: str, names: int, space: int, **fields: Any) -> Call:
    return call("setQuota", path=path, namespaceQuota=names, storagespaceQuota=space, **fields)


class Both:
    """A namenode of ours and one of Hadoop's."""

    def __init__(self, ours: tuple[str, int], hadoops: tuple[str, int]) -> None:
        self._asking = [Asking(ours), Asking(hadoops)]

    def close(self) -> None:
        for asking in self._asking:
            asking.close()

    def differences(self, calls: Sequence[Call]) -> list[str]:
        """Each call to which the two answer otherwise, with both answers."""
        found = []
        for user, method, fields in calls:
            ours, hadoops = (_outcome(asking, user, method, fields) for asking in self._asking)
            if ours != hadoops:
                found.append(f"{user} {method} {fields}\n  ours {ours}\n  Hadoop's {hadoops}")
        return found


def _outcome(asking: Asking, user: str, method: str, fields: dict[str, Any]) -> object:
    request_type, answer_type = CLIENT.messages(method)
    request = request_type(**fields)
    header, body = asking.exchange(CLIENT.name, method, request, at=asking.namenode, user=user)
    if header.status == rpc_pb2.RpcResponseHeaderProto.SUCCESS:
        answer = answer_type()
        answer.ParseFromString(body)
        return _steady(MessageToDict(answer))
    words = header.errorMsg.split("\n\tat ")[0].strip()
    for volatile in (r"blk_\d+_\d+", r"\(inode \d+\)", r"(?<=NamenodeHostName:)\S+"):
        words = re.sub(volatile, "*", words)
    return header.exceptionClassName, words


def _steady(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _steady(value) for name, value in answer.items() if name not in VOLATILE}
    return [_steady(each) for each in answer] if isinstance(answer, list) else answer


@pytest.fixture(scope="module")
def servers(
    hadoop_tools: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[MiniCluster, Both]]:
    scratch = tmp_path_factory.mktemp("refusals")
    hadoop_tools("serve", scratch, *(f"{key}={value}" for key, value in GUARDS.items()))
    try:
        with MiniCluster(datanodes=1, conf={**CONF, **GUARDS}) as cluster:
            port = int((scratch / "port").read_text())
            ours = cluster.uri.removeprefix("hdfs://").split(":")
            both = Both((ours[0], int(ours[1])), ("127.0.0.1", port))
            yield cluster, both
            both.close()
    finally:
        hadoop_tools("stop")


@pytest.fixture
def both(servers: tuple[MiniCluster, Both]) -> Both:
    return servers[1]


@pytest.fixture
def cluster(servers: tuple[MiniCluster, Both]) -> MiniCluster:
    return servers[0]


def test_who_may_not_delete_may_not_move_to_the_trash(both: Both) -> None:
    calls = [
        mkdir("/shared", mode=OPEN),
        mkdir("/home", mode=OPEN),
        call("setPermission", src="/shared", permission=OPEN),
        call("setPermission", src="/home", permission=OPEN),
        mkdir("/shared/theirs"),
        *made("/shared/theirs/f"),
        *made("/shared/f"),
        mkdir("/shared/sticky"),
        call("setPermission", src="/shared/sticky", permission={"perm": 0o1777}),
        *made("/shared/sticky/f"),
        mkdir("/shared/empty"),
    ]
    for name in ("theirs", "f", "sticky", "empty", "nothing"):
        calls += [
            rename2(f"/shared/{name}", f"/home/{name}", ALICE, trash=True),
            delete(f"/shared/{name}", ALICE),
        ]
    calls += [rename2("/shared/theirs", "/home/theirs", ALICE), delete("/shared"), delete("/home")]
    assert both.differences(calls) == []


def test_protected_directories_stay(both: Both) -> None:
    calls = [
        mkdir("/kept/d"),
        mkdir("/above/kept/d"),
        mkdir("/keptsake/d"),
        delete("/kept"),
        delete("/kept", ALICE),
        delete("/kept", recursive=False),
        delete("/above"),
        call("rename", src="/kept", dst="/elsewhere"),
        call("rename", src="/above", dst="/elsewhere"),
        rename2("/kept", "/elsewhere"),
        rename2("/above", "/elsewhere", trash=True),
        rename2("/kept", "/elsewhere", ALICE),
        delete("/keptsake"),
        delete("/kept/d"),
        delete("/kept"),
        delete("/above/kept/d"),
        delete("/above"),
        delete("/"),
        rename2("/", "/elsewhere"),
    ]
    assert both.differences(calls) == []


# Relative paths are left out: there Hadoop fails on an assertion.
CANONICAL: Final = ("/d/a b", "/d/\u00e9", "/d/..x", "/d/.x")
OTHER_FORMS: Final = ("/d//f", "//d/f", "/d/f/", "/d/f//", "/d/./f", "/d/../d/f", "/d/.", "/d/..")
ODD_NAMES: Final = ("/.", "/..", "/d:x", "/d/f:1", "/d/f/x")
RESERVED: Final = (
    *("/.reserved", "/.reserved/x", "/.reserved/raw", "/.reserved/raw/d/f"),
    *("/.reserved/raw/.reserved", "/.reserved/raw/.reserved/x", "/.reserved/raw/nothing"),
    *("/.reserved/.inodes", "/.reserved/.inodes/16385", "/.reserved/.inodes/99999"),
    *("/.reserved/.inodes/x", "/.reserved/.inodes/16385/d", "/.reserved/.inodes/16385/.."),
    *("/.reserved/.inodes/16385/d/..", "/.reserved/.inodes/16385/d//f"),
    *("/.snapshot", "/.snapshot/s", "/d/.snapshot", "/d/.snapshot/s", "/nothing/.snapshot"),
    *("/d/f/.snapshot", "/.reserved/raw/.snapshot"),
)
# Whose refusals name the path as it was given, where ours name what it leads to.
ANSWERED: Final = (
    *(("getFileInfo", "src"), ("getFileLinkInfo", "src"), ("getContentSummary", "path")),
    *(("getStoragePolicy", "path"), ("getAclStatus", "src"), ("getXAttrs", "src")),
    *(("listXAttrs", "src"), ("getEnclosingRoot", "filename")),
)


def reads(path: str, user: str) -> Iterator[Call]:
    for method, field in ANSWERED:
        # Ours has the mode there, too.
        if method != "getAclStatus" or path not in ("/.snapshot", "/.reserved/raw/.snapshot"):
            yield call(method, user, **{field: path})
    yield call("getListing", user, src=path, startAfter=b"", needLocation=False)
    yield call("getBlockLocations", user, src=path, offset=0, length=10)
    yield call("checkAccess", user, path=path, mode=4)


def changes(path: str) -> Iterator[Call]:
    yield mkdir(path, parents=False)
    yield create(path)
    yield call("rename", src="/e", dst=path)
    yield rename2("/e", path)
    link: dict[str, Any] = {"target": "/t", "link": path, "dirPerm": MODE, "createParent": False}
    yield call("createSymlink", **link)
    yield call("rename", src=path, dst="/g")
    yield rename2(path, "/g")
    yield delete(path, recursive=False)
    yield call("setPermission", src=path, permission=MODE)
    yield call("setOwner", src=path, username="root", groupname="")
    yield times(path, 1, 1)
    yield call("setReplication", src=path, replication=1)
    yield call("setStoragePolicy", src=path, policyName="HOT")
    yield call("truncate", src=path, newLength=0, clientName="c")
    yield call("removeAcl", src=path)
    yield call("concat", trg=path, srcs=["/d/f"])
    yield call("concat", trg="/d/f", srcs=[path])
    xattr = {"namespace": "USER", "name": "a", "value": b"1"}
    yield call("setXAttr", src=path, xAttr=xattr, flag=3)


def test_odd_paths_and_reserved_names_are_read_alike(both: Both) -> None:
    calls = [mkdir("/d", mode=OPEN), *made("/d/f"), mkdir("/e"), mkdir("/kept/d")]
    for path in (*CANONICAL, *OTHER_FORMS, *ODD_NAMES, *RESERVED):
        for user in ("", ALICE):
            calls += reads(path, user)
    assert both.differences(calls) == []


def test_paths_that_are_not_canonical_are_refused_alike(both: Both) -> None:
    calls = [mkdir("/d", mode=OPEN), *made("/d/f"), mkdir("/e")]
    for path in ("/d/./x", "/d/../x", "/d/x:1", "/.", "/..", "/d/.", "/d/.."):
        calls += changes(path)
    for path in ("/d//x", "//d/x"):
        calls += [each for each in changes(path) if each[1] not in ("concat",)]
    assert both.differences(calls) == []


def test_times_and_quotas_are_set_alike(both: Both) -> None:
    calls = [mkdir("/d"), *made("/d/f"), times("/d/f", 1000, 2000)]
    for mtime, atime in ((-5, 3000), (-1, -1), (-7, -9), (4000, -3), (-(1 << 63), 5000)):
        calls += [times("/d/f", mtime, atime), call("getFileInfo", src="/d/f")]
    calls += [times("/nothing", -1, -1), times("/nothing", 1, 1), times("/", -4, -2)]
    calls += [
        quota("/", RESET, KEEP),
        quota("/", RESET, RESET),
        quota("/", RESET, 1 << 40),
        call("getQuotaUsage", path="/"),
        quota("/", KEEP, RESET),
        call("getQuotaUsage", path="/"),
        quota("/d", 10, 1 << 30),
        call("getQuotaUsage", path="/d"),
        quota("/d", KEEP, 1 << 20, storageType="SSD"),
        call("getQuotaUsage", path="/d"),
        call("getContentSummary", path="/d"),
        quota("/d", RESET, RESET),
        quota("/d", KEEP, RESET, storageType="SSD"),
        call("getQuotaUsage", path="/d"),
        call("getQuotaUsage", path="/nothing"),
        call("getContentSummary", path="/nothing"),
        quota("/nothing", 1, 1),
        quota("/d/f", 1, 1),
        quota("/d", -3 & ALL, 1),
    ]
    assert both.differences(calls) == []


def test_usage_of_each_storage_type_is_told_alike(both: Both) -> None:
    calls = [
        mkdir("/hot/d"),
        call("setStoragePolicy", src="/hot", policyName="HOT"),
        create("/hot/d/f"),
        call("addBlock", src="/hot/d/f", clientName="c"),
        call("getQuotaUsage", path="/hot/d"),
        quota("/hot/d", KEEP, 1 << 30),
        call("getQuotaUsage", path="/hot/d"),
        create("/hot/d/g"),
        quota("/hot/d", KEEP, 1100),
        call("addBlock", src="/hot/d/g", clientName="c"),
        quota("/hot/d", 2, KEEP),
        create("/hot/d/h"),
        delete("/hot"),
    ]
    found = both.differences(calls)
    # The file has a block, which the answer describes.
    assert [each for each in found if " addBlock " not in each or "Exception" in each] == []


def test_synced_block_is_abandoned_alike(both: Both) -> None:
    def outcomes() -> Iterator[list[object]]:
        for asking in both._asking:
            found: list[object] = []
            for user, method, fields in (
                create("/a"),
                call("addBlock", src="/a", clientName="c"),
                call("fsync", src="/a", client="c", lastBlockLength=7),
            ):
                _outcome(asking, user, method, fields)
            request = pb.GetBlockLocationsRequestProto(src="/a", offset=0, length=10)
            _, body = asking.exchange(CLIENT.name, "getBlockLocations", request, at=asking.namenode)
            answer = pb.GetBlockLocationsResponseProto()
            answer.ParseFromString(body)
            for holder in ("another", "c", "c"):
                fields = {"b": answer.locations.lastBlock.b, "src": "/a", "holder": holder}
                found.append(_outcome(asking, "", "abandonBlock", fields))
            found.append(_outcome(asking, "", "getFileInfo", {"src": "/a"}))
            yield found

    ours, hadoops = outcomes()
    assert ours == hadoops


def test_refusals_have_the_words_of_hadoops(both: Both) -> None:
    unreadable = {"namespace": "SECURITY", "name": "hdfs.unreadable.by.superuser"}
    calls = [
        mkdir("/s"),
        *made("/s/f"),
        create("/s/low", replication=0),
        create("/s/high", replication=5000),
        call("setReplication", src="/s/f", replication=0),
        call("setReplication", src="/s/f", replication=5000),
        call("createSnapshot", snapshotRoot="/"),
        call("createSnapshot", snapshotRoot="/s", snapshotName="x"),
        call("setSafeMode", action="SAFEMODE_ENTER", checked=False),
        mkdir("/s/later"),
        delete("/s/f"),
        call("setSafeMode", action="SAFEMODE_LEAVE", checked=False),
    ]
    found = both.differences(calls)
    # Ours adds why.
    assert [each for each in found if "snapshots of / are not allowed" not in each] == []
    assert both.differences([call("setXAttr", src="/s/f", xAttr=unreadable, flag=1)]) == []
    (refused,) = both.differences([call("getBlockLocations", src="/s/f", offset=0, length=1)])
    ours, hadoops = re.findall(r"Access is denied for .* this operation\.", refused)
    assert ours == hadoops


@pytest.mark.parametrize("operation", ["OPEN", "GETFILECHECKSUM"])
@pytest.mark.parametrize("path", ["/web", "/"])
def test_directory_is_no_file_over_http(
    cluster: MiniCluster, both: Both, operation: str, path: str
) -> None:
    """Hadoop's datanode answers so, as its `ExceptionHandler` has it."""
    assert both.differences([mkdir("/web")]) == []
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{cluster.http}/webhdfs/v1{path}?op={operation}")
    told = json.loads(refused.value.read())["RemoteException"]
    assert (refused.value.code, told["javaClassName"]) == (404, "java.io.FileNotFoundException")
    assert told["message"] == f"Path is not a file: {path}"


def test_links_are_not_made_over_http_where_they_are_off(cluster: MiniCluster) -> None:
    request = urllib.request.Request(
        f"{cluster.http}/webhdfs/v1/link?op=CREATESYMLINK&destination=/d&user.name=root",
        method="PUT",
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    told = json.loads(refused.value.read())["RemoteException"]
    assert (refused.value.code, told["exception"]) == (400, "UnsupportedOperationException")
    assert told["message"].startswith("Symlinks not supported")
