"""Moving in and out: Hadoop's namenode on a directory of ours, ours on one of Hadoop's.

Each directory is half an image and half a log that nobody has closed, and has
something of everything. The two namenodes are asked for all that they know.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah.cli.main import main
from howdah.client.namenode import NamenodeProxy
from howdah.fs.acl import parse_acl
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.streams import SyncFlag
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(700)

CONF = {
    "dfs.namenode.fs-limits.min-block-size": "512",
    "dfs.blocksize": "1024",
    "dfs.bytes-per-checksum": "512",
    "dfs.replication": "1",
    "dfs.namenode.accesstime.precision": "0",
    "dfs.namenode.safemode.threshold-pct": "0",
    "howdah.client.symlinks.enabled": "true",
}
# Directories with snapshots: in the image, and in the log behind it.
SNAPSHOTS = ("/snap", "/later/snap")
ROOTS = (
    "/",
    *(f"{root}/.snapshot/{name}" for root in SNAPSHOTS if root for name in ("s1", "second")),
)


@dataclass(frozen=True)
class Listings:
    """What each namenode said of a directory: the one that wrote it, and the other.

    `back` is what Hadoop's said once ours had written its own image into Hadoop's
    directory. `directories` are as they were left by who wrote them: ours, Hadoop's, and
    that last one.
    """

    ours: list[str]
    ours_by_hadoop: list[str]
    hadoops: list[str]
    hadoops_by_us: list[str]
    back: list[str]
    directories: tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def listings(
    hadoop_tools: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Listings]:
    scratch = tmp_path_factory.mktemp("namespaces")

    def by_hadoop(name: str) -> list[str]:
        hadoop_tools("list", scratch / name, *ROOTS)
        return sorted((scratch / name).read_text().splitlines())

    with MiniCluster(datanodes=1, conf=CONF) as cluster:
        environment = {**os.environ, "HADOOP_CONF_DIR": str(cluster.conf_dir)}
        subprocess.run([sys.executable, __file__, cluster.uri], env=environment, check=True)
        ours = listing(cluster)
        cluster.kill("namenode")
        cluster.stop("datanode0")
        (name_dir,) = cluster.data_dirs("namenode")
        written = scratch / "written"
        shutil.copytree(name_dir, written)
        shutil.copytree(name_dir, scratch / "ours" / "name")
        hadoop_tools("start", scratch / "ours")
        ours_by_hadoop = by_hadoop("ours.listing")
        hadoop_tools("stop")

        hadoop_tools("make", scratch / "hadoops", *SNAPSHOTS)
        hadoops = by_hadoop("hadoops.listing")
        shutil.rmtree(name_dir)
        shutil.copytree(scratch / "hadoops" / "name", name_dir)
        hadoop_tools("stop")
        (name_dir / "in_use.lock").unlink(missing_ok=True)
        cluster.start("namenode")
        cluster.wait_ready()
        hadoops_by_us = listing(cluster)
        with cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            save_namespace(fs)
        cluster.kill("namenode")
        returned = scratch / "returned"
        shutil.copytree(name_dir, returned)
        shutil.copytree(name_dir, scratch / "back" / "name")
        hadoop_tools("start", scratch / "back")
        back = by_hadoop("back.listing")
        hadoop_tools("stop")
        directories = written, scratch / "hadoops" / "name", returned
        yield Listings(ours, ours_by_hadoop, hadoops, hadoops_by_us, back, directories)


# -- a directory of ours, like that of HadoopTools.java ------------------------------


def make(fs: HdfsFileSystem) -> None:
    """Leaves files open behind it: for a process that ends then."""
    fs.mkdirs("/user/alice/docs")
    fs.set_owner("/user/alice", "alice", "staff")
    fs.set_permission("/user/alice/docs", 0o1770)
    fs.mkdirs("/empty")
    write(fs, "/user/alice/docs/three-blocks", 2500)
    write(fs, "/user/alice/docs/none", 0)
    write(fs, "/user/alice/docs/\u00e9\u6f22\U0001f600 &<b>\\", 10)
    fs.set_times("/user/alice/docs/none", 1700000000000, 1700000000001)
    opened = fs.create("/user/alice/open", replication=2)
    opened.write(bytes(1500))
    opened.hflush()
    write(fs, "/user/alice/appended", 700)
    again = fs.append("/user/alice/appended")
    again.write(bytes(10))
    again.hsync(SyncFlag.UPDATE_LENGTH)
    attributes(fs, "/user", "/user/alice/docs", "/empty", "/link")
    snapshots(fs, SNAPSHOTS[0])
    save_namespace(fs)
    fs.mkdirs("/later/docs")
    fs.mkdirs("/later/cold")
    write(fs, "/later/docs/none", 1025)
    write(fs, "/later/gone", 10)
    fs.delete("/later/gone", recursive=True)
    write(fs, "/later/old", 10)
    fs.rename("/later/old", "/later/new")
    attributes(fs, "/later", "/later/docs", "/later/cold", "/later/link")
    snapshots(fs, SNAPSHOTS[1])
    late = fs.create("/later/open")
    late.write(bytes(100))
    late.hflush()
    os._exit(0)


def save_namespace(fs: HdfsFileSystem) -> None:
    fs.set_safe_mode("enter")
    proxy(fs).call("saveNamespace", pb.SaveNamespaceRequestProto(), pb.SaveNamespaceResponseProto)
    fs.set_safe_mode("leave")


def write(fs: HdfsFileSystem, path: str, length: int) -> None:
    with fs.create(path) as out:
        out.write(bytes(length))


def attributes(fs: HdfsFileSystem, quota: str, docs: str, cold: str, link: str) -> None:
    fs.create_symlink("/user/alice/docs", link)
    fs.set_acl(
        docs,
        parse_acl(
            "user::rwx,user:bob:r-x,group::r-x,group:web:rwx,mask::rwx,other::---,"
            "default:user::rwx,default:group::r-x,default:other::---"
        ),
    )
    none = f"{docs}/none"
    fs.set_acl(none, parse_acl("user::rw-,user:carol:rw-,group::r--,other::---"))
    fs.set_xattr(none, "user.colour", b"\0\xffb")
    fs.set_xattr(cold, "trusted.empty", b"")
    fs.set_storage_policy(cold, "COLD")
    fs.set_storage_policy(none, "ALL_SSD")
    fs.set_quota(quota, names=100, space_bytes=1 << 40)
    fs.set_quota(quota, space_bytes=1 << 30, storage_type="SSD")


def snapshots(fs: HdfsFileSystem, root: str) -> None:
    if not root:
        return
    fs.mkdirs(f"{root}/sub")
    write(fs, f"{root}/sub/kept", 1300)
    write(fs, f"{root}/sub/removed", 600)
    write(fs, f"{root}/sub/longer", 100)
    write(fs, f"{root}/old/a", 1100)
    write(fs, f"{root}/box/a", 100)
    write(fs, f"{root}/box/b", 1100)
    allow = pb.AllowSnapshotRequestProto(snapshotRoot=root)
    proxy(fs).call("allowSnapshot", allow, pb.AllowSnapshotResponseProto)
    snapshot(fs, root, "s1")
    fs.delete(f"{root}/sub/removed")
    fs.delete(f"{root}/old", recursive=True)
    fs.delete(f"{root}/box/a")
    fs.rename(f"{root}/box", f"{root}/case")
    fs.set_replication(f"{root}/case/b", 3)
    fs.truncate(f"{root}/case/b", 1024)
    fs.rename(f"{root}/sub/kept", f"/user/moved{len(root)}")
    write(fs, f"{root}/sub/new", 5)
    with fs.append(f"{root}/sub/longer") as out:
        out.write(bytes(2000))
    fs.set_permission(f"{root}/sub", 0o700)
    snapshot(fs, root, "s2")
    write(fs, f"{root}/after", 5)
    fs.delete(f"{root}/case", recursive=True)
    fs.set_replication(f"{root}/sub/longer", 2)
    rename = pb.RenameSnapshotRequestProto(
        snapshotRoot=root, snapshotOldName="s2", snapshotNewName="second"
    )
    proxy(fs).call("renameSnapshot", rename, pb.RenameSnapshotResponseProto)


def snapshot(fs: HdfsFileSystem, root: str, name: str) -> None:
    create = pb.CreateSnapshotRequestProto(snapshotRoot=root, snapshotName=name)
    proxy(fs).call("createSnapshot", create, pb.CreateSnapshotResponseProto)


def proxy(fs: HdfsFileSystem) -> NamenodeProxy:
    return fs._namenode


# -- all that a namenode says, as HadoopTools.java has it ----------------------------


def listing(cluster: MiniCluster) -> list[str]:
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        return sorted(line for root in ROOTS for line in lines(fs, root))


def lines(fs: HdfsFileSystem, path: str) -> Iterator[str]:
    status = fs.get_file_link_status(path)
    kind = "link" if status.is_symlink else "directory" if status.is_directory else "file"
    words: list[Any] = [path, kind, status.length, f"{status.permission:o}"]
    words += [status.owner, status.group, status.replication, status.block_size]
    words += [status.modification_time_ms, status.access_time_ms]
    words += [status.storage_policy, status.file_id]
    if status.is_symlink:
        words.append(proxy(fs).get_link_target(path))
    else:
        entries = ", ".join(map(str, fs.get_acl_status(path).entries))
        words.append(f"[{entries}]")
        xattrs = sorted(fs.get_xattrs(path).items())
        shown = ",".join(f"{name}={len(value)}:{int.from_bytes(value):x}" for name, value in xattrs)
        words.append(f"{{{shown}}}")
    if status.is_directory:
        summary = fs.content_summary(path)
        words.append(f"{summary.directory_count} {summary.file_count}")
        words.append(f"{summary.length} {summary.space_consumed}")
        words.append(f"{summary.snapshot_directory_count} {summary.snapshot_file_count}")
        words.append(f"{summary.snapshot_length} {summary.snapshot_space_consumed}")
        if "/.snapshot" not in path:
            request = pb.GetQuotaUsageRequestProto(path=path)
            usage = proxy(fs).call("getQuotaUsage", request, pb.GetQuotaUsageResponseProto).usage
            words.append(f"{usage.fileAndDirectoryCount} {usage.spaceConsumed}")
        words.append(f"{summary.quota} {summary.space_quota}")
        ssd = [each.quota for each in summary.type_quotas if each.storage_type == "SSD"]
        words.append(*ssd or (-1,))
    elif not status.is_symlink:
        if "/.snapshot" not in path:
            words.append("closed" if fs.is_file_closed(path) else "open")
        located = proxy(fs).get_block_locations(path, 0, (1 << 63) - 1)
        blocks = [each.block for each in located.blocks]
        words.append(
            ",".join(f"{b.block_id}_{b.generation_stamp}:{b.length_bytes}" for b in blocks)
        )
    yield "\t".join(map(str, words))
    if status.is_directory:
        for child in fs.list_status(path):
            yield from lines(fs, child.path)


def differences(writer: list[str], other: list[str]) -> list[str]:
    return [line for line in difflib.ndiff(writer, other) if not line.startswith("  ")]


# -- claims --------------------------------------------------------------------------


@pytest.mark.req("FS-022", "FS-023")
def test_hadoops_namenode_lists_the_same_tree_on_our_directory(listings: Listings) -> None:
    assert differences(listings.ours, listings.ours_by_hadoop) == []


@pytest.mark.req("FS-022", "FS-023")
def test_our_namenode_lists_the_same_tree_on_hadoops_directory(listings: Listings) -> None:
    assert differences(listings.hadoops, listings.hadoops_by_us) == []


def test_hadoops_namenode_lists_the_same_tree_once_we_have_written_it_anew(
    listings: Listings,
) -> None:
    assert differences(listings.hadoops, listings.back) == []


def files(listings: Listings, pattern: str) -> list[Path]:
    found = [
        path
        for directory in listings.directories
        for path in (directory / "current").glob(pattern)
        if not path.suffix
    ]
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("processor", ["XML", "Delimited", "FileDistribution"])
def test_both_viewers_show_the_same_of_all_images(
    processor: str, listings: Listings, hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    for image in files(listings, "fsimage_*"):
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        arguments = ("-p", processor, "-i", str(image), "-o")
        assert main(["oiv", *arguments, str(ours)]) == 0
        hadoop_tools("oiv", *arguments, theirs)
        shown = [re.sub(b"oivRevision>[^<]*<", b"", each.read_bytes()) for each in (ours, theirs)]
        assert shown[0] == shown[1], image


def test_both_viewers_show_the_same_of_all_logs(
    listings: Listings, hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    for log in files(listings, "edits_*"):
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        assert main(["oev", "-i", str(log), "-o", str(ours)]) == 0
        hadoop_tools("oev", "-i", log, "-o", theirs)
        assert ours.read_bytes() == theirs.read_bytes(), log


def test_the_directories_have_something_of_everything(listings: Listings) -> None:
    """Lest the two agree on nothing."""
    for tree in (listings.ours, listings.hadoops):
        told = "\n".join(tree)
        for what in ("\tlink\t", "\topen\t", "user:bob:r-x", "user.colour=3:ff62", "/.snapshot/"):
            assert what in told
        for path in ("/user\t", "/later\t"):
            (line,) = [line for line in tree if line.startswith(path)]
            assert line.endswith(f"\t100 {1 << 40}\t{1 << 30}")


if __name__ == "__main__":
    filesystem = howdah.connect(sys.argv[1])
    assert isinstance(filesystem, HdfsFileSystem)
    make(filesystem)
