"""Links: what a walk says that comes to one, and what is done to the link itself."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.inodes import Symlink
from howdah.namenode.state.tree.symlinks import behind
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

IS_SYMLINK = types_pb2.HdfsFileStatusProto.IS_SYMLINK


def link(client: Any, path: str, target: str, *, create_parent: bool = False, **how: Any) -> None:
    request = pb.CreateSymlinkRequestProto(
        link=path,
        target=target,
        dirPerm=types_pb2.FsPermissionProto(perm=0o750),
        createParent=create_parent,
    )
    client.call("createSymlink", request, **how)


def target_of(client: Any, path: str) -> str:
    return str(client.call("getLinkTarget", pb.GetLinkTargetRequestProto(path=path)).targetPath)


def link_status(client: Any, path: str) -> Any:
    return client.call("getFileLinkInfo", pb.GetFileLinkInfoRequestProto(src=path)).fs


@pytest.mark.parametrize(
    ("directory", "target", "remainder", "path"),
    [
        ("/a", "b", [], "/a/b"),
        ("/a", "b", ["c", "d"], "/a/b/c/d"),
        ("/", "b", ["c"], "/b/c"),
        ("/a/b", "../c", [], "/a/c"),
        ("/a/b", "./c/./d", [], "/a/b/c/d"),
        ("/a", "/b//c/", ["d"], "/b/c/d"),
        ("/a", "/b/../c", ["d"], "/c/d"),
        ("/a", "hdfs://h:1/x", ["y"], "hdfs://h:1/x/y"),
        ("/a", "file:/x", [], "file:/x"),
        ("/a", "file:///x", ["y"], "file:///x/y"),
        ("/a", "//h:1/x", ["y"], "//h:1/x/y"),
        ("/a", "b:c", [], "/a/b:c"),
        ("/", "../../b", [], "/../../b"),
    ],
)
def test_target_replaces_the_link_in_the_path(
    directory: str, target: str, remainder: list[str], path: str
) -> None:
    assert behind(directory, target, remainder) == path


def test_link_shows_its_target_its_maker_and_a_mode_that_nobody_asks_for(alice: Any) -> None:
    link(alice, "/user/alice/l", "/nowhere")
    shown = link_status(alice, "/user/alice/l")
    assert (shown.fileType, shown.symlink) == (IS_SYMLINK, b"/nowhere")
    assert (shown.owner, shown.group, shown.permission.perm) == ("alice", "staff", 0o777)
    listed = alice.page("/user/alice").partialListing[0]
    assert (listed.path, listed.fileType, listed.symlink) == (b"l", IS_SYMLINK, b"/nowhere")


def test_link_makes_its_parents_if_asked_to(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="Parent directory doesn't exist: /a/b"):
        link(client, "/a/b/l", "t")
    link(client, "/a/b/l", "t", create_parent=True)
    assert target_of(client, "/a/b/l") == "t"
    assert client.status("/a/b").permission.perm == 0o755  # as "/"


def test_link_takes_no_name_that_is_taken(client: Any) -> None:
    client.create("/f")
    link(client, "/l", "/f")
    for path in ("/f", "/l", "/"):
        with pytest.raises(errors.PathExists):
            link(client, path, "/x")
    with pytest.raises(errors.ParentNotDirectory):
        link(client, "/f/l", "/x")


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("", errors.RemoteError),
        ("/.reserved", errors.InvalidPath),
        ("/.reserved/.inodes/16385", errors.InvalidPath),
        ("/" + "x" * 8000, errors.RemoteError),
    ],
)
def test_target_that_can_never_be_is_refused(
    client: Any, target: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        link(client, "/l", target)
    assert client.names("/") == []


FOLLOWED: dict[str, Callable[[Any, str], Any]] = {
    "status": lambda client, path: client.status(path),
    "listing": lambda client, path: client.page(path),
    "locations": lambda client, path: client.locations(path),
    "create": lambda client, path: client.create(path, flag=3),
    "append": lambda client, path: client.append(path),
    "truncate": lambda client, path: client.truncate(path, 0),
    "recover lease": lambda client, path: client.recover_lease(path),
    "concat": lambda client, path: client.concat(path, "/other"),
    "mkdirs": lambda client, path: client.mkdirs(path),
    "mode": lambda client, path: client.chmod(path, 0o600),
    "owner": lambda client, path: client.chown(path, "bob"),
    "times": lambda client, path: client.set_times(path, 1, 1),
    "replication": lambda client, path: client.set_replication(path, 2),
    "acl": lambda client, path: client.call(
        "getAclStatus", types_pb2.GetAclStatusRequestProto(src=path)
    ),
    "xattrs": lambda client, path: client.call(
        "listXAttrs", types_pb2.ListXAttrsRequestProto(src=path)
    ),
    "policy": lambda client, path: client.call(
        "setStoragePolicy", pb.SetStoragePolicyRequestProto(src=path, policyName="HOT")
    ),
    "access": lambda client, path: client.call(
        "checkAccess",
        pb.CheckAccessRequestProto(path=path, mode="READ"),
    ),
    "is closed": lambda client, path: client.call(
        "isFileClosed", pb.IsFileClosedRequestProto(src=path)
    ),
}
NOT_FOLLOWED: dict[str, Callable[[Any, str], Any]] = {
    "link": lambda client, path: link(client, path, "/x"),
    "link status": link_status,
    "delete": lambda client, path: client.delete(path),
    "rename": lambda client, path: client.rename(path, "/moved"),
    "rename2": lambda client, path: client.rename2(path, "/moved"),
    "rename to": lambda client, path: client.rename("/other", path),
    "rename2 to": lambda client, path: client.rename2("/other", path),
    "summary": lambda client, path: client.call(
        "getContentSummary", pb.GetContentSummaryRequestProto(path=path)
    ),
    "usage": lambda client, path: client.call(
        "getQuotaUsage", pb.GetQuotaUsageRequestProto(path=path)
    ),
    "policy": lambda client, path: client.call(
        "getStoragePolicy", pb.GetStoragePolicyRequestProto(path=path)
    ),
    "block size": lambda client, path: client.call(
        "getPreferredBlockSize", pb.GetPreferredBlockSizeRequestProto(filename=path)
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_call_at_a_link_is_told_where_to_ask_instead(client: Any, name: str) -> None:
    client.create("/other")
    link(client, "/l", "/d/t")
    before = len(client.namenode.log)
    with pytest.raises(errors.UnresolvedPath) as caught:
        FOLLOWED[name](client, "/l")
    assert caught.value.message == "/d/t"
    assert len(client.namenode.log) == before


@pytest.mark.parametrize("name", [*FOLLOWED, *NOT_FOLLOWED])
def test_call_through_a_link_is_told_where_to_ask_instead(client: Any, name: str) -> None:
    client.create("/other")
    client.mkdirs("/a/b")
    link(client, "/a/b/l", "../t")
    before = len(client.namenode.log)
    with pytest.raises(errors.UnresolvedPath) as caught:
        {**FOLLOWED, **NOT_FOLLOWED}[name](client, "/a/b/l/x/y")
    assert caught.value.message == "/a/t/x/y"
    assert len(client.namenode.log) == before


def test_error_has_the_name_that_hadoops_clients_know() -> None:
    name = "org.apache.hadoop.hdfs.protocol.UnresolvedPathException"
    assert isinstance(errors.from_java(name, "/x"), errors.UnresolvedPath)


def test_target_of_a_path_through_a_link_is_where_that_leads(client: Any) -> None:
    link(client, "/l", "/d")
    assert target_of(client, "/l/x") == "/d/x"
    with pytest.raises(errors.PathNotFound):
        target_of(client, "/none")
    with pytest.raises(errors.RemoteError, match="Path / is not a symbolic link"):
        target_of(client, "/")


def test_who_may_not_enter_a_directory_learns_nothing_of_its_links(client: Any, alice: Any) -> None:
    client.mkdirs("/secret", 0o700)
    link(client, "/secret/l", "/t")
    for ask in (link_status, target_of, *FOLLOWED.values()):
        with pytest.raises(errors.AccessDenied):
            ask(alice, "/secret/l")


def test_only_who_may_write_the_directory_makes_a_link(client: Any, alice: Any) -> None:
    with pytest.raises(errors.AccessDenied):
        link(alice, "/l", "/t")
    link(alice, "/user/alice/l", "/secret")
    assert client.names("/user/alice") == ["l"]


def test_delete_takes_the_link_and_not_what_is_behind(client: Any) -> None:
    client.mkdirs("/d/e")
    link(client, "/l", "/d")
    assert client.delete("/l", recursive=False) is True
    assert client.names("/") == ["d"]
    assert client.names("/d") == ["e"]


def test_rename_takes_the_link_and_leaves_its_target_as_it_was_written(client: Any) -> None:
    client.mkdirs("/d")
    link(client, "/l", "t")
    assert client.rename("/l", "/d") is True
    client.rename2("/d/l", "/d/m")
    assert target_of(client, "/d/m") == "t"


def test_link_is_not_renamed_to_its_own_target(client: Any) -> None:
    link(client, "/l", "/t")
    assert client.rename("/l", "/t") is False
    with pytest.raises(errors.PathExists, match="Cannot rename symlink /l to its target /t"):
        client.rename2("/l", "/t")


def test_rename_over_a_link_replaces_the_link(client: Any) -> None:
    client.mkdirs("/d")
    client.create("/f")
    link(client, "/l", "/d")
    with pytest.raises(errors.PathExists):
        client.rename2("/f", "/l")
    with pytest.raises(errors.RemoteError, match="must both be directories"):
        client.rename2("/d", "/l", overwrite=True)
    client.rename2("/f", "/l", overwrite=True)
    assert client.names("/") == ["d", "l"]
    assert client.status("/l").fileType == types_pb2.HdfsFileStatusProto.IS_FILE


def test_summary_counts_a_link_as_a_file_and_not_what_is_behind(client: Any) -> None:
    client.mkdirs("/d/e")
    link(client, "/d/l", "/")
    summary = client.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/d")).summary
    assert (summary.fileCount, summary.directoryCount) == (1, 2)
    of_link = client.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/d/l"))
    assert (of_link.summary.fileCount, of_link.summary.directoryCount) == (1, 0)


def test_link_is_a_name_to_quotas(client: Any) -> None:
    client.mkdirs("/d")
    client.call(
        "setQuota",
        pb.SetQuotaRequestProto(path="/d", namespaceQuota=2, storagespaceQuota=(1 << 63) - 1),
    )
    link(client, "/d/l", "/t")
    with pytest.raises(errors.NamespaceQuotaExceeded):
        link(client, "/d/m", "/t")


def test_repeated_call_gets_the_first_answer(client: Any) -> None:
    call: dict[str, Any] = {"client_id": b"c" * 16, "call_id": 7}
    link(client, "/l", "/t", **call)
    link(client, "/l", "/t", **call)
    assert client.names("/") == ["l"]


@pytest.mark.req("FS-023")
def test_links_are_there_after_a_restart_from_log_or_image(client: Any) -> None:
    client.mkdirs("/d")
    for number, target in enumerate(("t", "/t", "hdfs://other:1/t", "ü")):
        link(client, f"/d/{number}", target)
    client.rename("/d/1", "/d/moved")
    client.delete("/d/2")
    again = client.namenode.restarted().namesystem.namespace.find("/d")
    here = client.namenode.namesystem.namespace.find("/d")
    image = io.BytesIO()
    write_image(client.namenode.namesystem.namespace, 1, 1, image)
    image.seek(0)
    loaded = read_image(image, "image")[0].find("/d")

    def links(directory: Any) -> dict[str, tuple[Any, ...]]:
        return {
            name: (
                child.inode_id,
                child.target,
                child.owner,
                child.group,
                child.mtime_ms,
                child.atime_ms,
            )
            for name, child in directory.children.items()
            if isinstance(child, Symlink)
        }

    assert links(here) == links(again) == links(loaded)
    assert sorted(links(here)) == ["0", "3", "moved"]
