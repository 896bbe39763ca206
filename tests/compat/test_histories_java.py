"""What Hadoop's namenode counts in images of ours, whatever happened before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.edits.segment_scan import encode_header
from howdah.formats.image.sections import Sink
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.service.calls.snapshots.changes import snapshot_path
from howdah.namenode.state.images.image import write_image
from howdah.namenode.state.inodes.inodes import Directory, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.storage.image_files import save_image
from howdah.testing.fingerprint import walk
from howdah.testing.in_memory import InMemoryNamenode
from tests.support.namespaces.coding import CodedSnapshots
from tests.support.namespaces.snapshots import BoundedSnapshotHistories
from tests.support.torture import times

Told = dict[str, list[str]]


class ComparedHistories(BoundedSnapshotHistories):
    """Both namenodes are asked at the end."""

    scratch: ClassVar[Path]
    tools: ClassVar[Callable[..., None]]
    count: ClassVar[int] = 0

    def teardown(self) -> None:
        # Hadoop takes a block that is being cut for one that is being written, and tells of
        # snapshots that such a block is a full one, unless its file was changed since.
        self.recover_blocks(0)
        for which in self.open_files():
            self.complete(which, 1)
        type(self).count += 1
        directory = self.scratch / str(self.count)
        name = directory / "name"
        version = format_namenode(Configuration({"dfs.namenode.name.dir": name.as_uri()}))
        namespace = self.namenode.namesystem.namespace

        def write(sink: Sink) -> None:
            write_image(namespace, version.namespace_id, 0, sink)

        save_image([name / "current"], 0, write)
        snapshots = [
            snapshot_path(found.directory.path, found.name) for found in namespace.snapshots.all()
        ]
        tools = type(self).tools
        tools("start", directory)
        try:
            tools("list", directory / "list", "/", *snapshots)
        finally:
            tools("stop")
        theirs = hadoops((directory / "list").read_text())
        assert ours(self.namenode.restarted(from_image=True), theirs) == theirs


class CodedComparedHistories(CodedSnapshots, ComparedHistories):
    """The same where files are erasure coded; and viewers are asked of the image and the log."""

    def teardown(self) -> None:
        super().teardown()
        directory = self.scratch / str(self.count)
        # Ours, and what Hadoop's namenode has made of it.
        for image in sorted((directory / "name" / "current").glob("fsimage_*")):
            if image.suffix:
                continue  # Its sum, and what viewers have shown of it.
            mine, theirs = self.shown("oiv", image)
            assert unlike_revision(mine) == unlike_revision(theirs)
        log = directory / "edits"
        log.write_bytes(encode_header() + b"".join(self.namenode.log))
        mine, theirs = self.shown("oev", log)
        assert mine == theirs

    def shown(self, viewer: str, path: Path) -> tuple[str, str]:
        """The XML of our viewer and of Hadoop's."""
        ours, theirs = (path.with_name(f"{path.name}.{whose}") for whose in ("ours", "theirs"))
        asked = ["-p", "XML", "-i", str(path), "-o"]
        assert main([viewer, *asked, str(ours)]) == 0
        type(self).tools(viewer, *asked, theirs)
        return ours.read_text(), theirs.read_text()


def unlike_revision(xml: str) -> str:
    return re.sub("<oivRevision>.*?</oivRevision>", "", xml)


def hadoops(listing: str) -> Told:
    """Of each path length and replication, of a directory what is counted, and what is
    bounded now."""
    found = {}
    for line in listing.splitlines():
        path, kind, *words = line.split("\t")
        found[path] = [words[0], words[4]]
        if kind == "directory":
            found[path] += words[12:16] if "/.snapshot" in path else words[12:-1]
    return found


def ours(namenode: InMemoryNamenode, paths: Told) -> Told:
    """The same of the same paths, and of those that only we have."""
    live = dict(walk(namenode.namesystem.namespace))
    return {path: list(words(namenode, path)) for path in live.keys() | paths.keys()}


def words(namenode: InMemoryNamenode, path: str) -> Iterator[str]:
    inode = namenode.namesystem.resolver.resolve(path).inode
    status = namenode.call("getFileLinkInfo", pb.GetFileLinkInfoRequestProto(src=path))
    assert isinstance(status, pb.GetFileLinkInfoResponseProto)
    yield str(status.fs.length)
    yield str(inode.replication) if isinstance(inode, File) else "0"
    if not isinstance(inode, Directory):
        return
    answer = namenode.call("getContentSummary", pb.GetContentSummaryRequestProto(path=path))
    assert isinstance(answer, pb.GetContentSummaryResponseProto)
    found = answer.summary
    yield f"{found.directoryCount} {found.fileCount}"
    yield f"{found.length} {found.spaceConsumed}"
    yield f"{found.snapshotDirectoryCount} {found.snapshotFileCount}"
    yield f"{found.snapshotLength} {found.snapshotSpaceConsumed}"
    if "/.snapshot" in path:
        return
    told = namenode.call("getQuotaUsage", pb.GetQuotaUsageRequestProto(path=path))
    assert isinstance(told, pb.GetQuotaUsageResponseProto)
    yield f"{told.usage.fileAndDirectoryCount} {told.usage.spaceConsumed}"
    quota, space = (bound - (bound >> 63 << 64) for bound in (found.quota, found.spaceQuota))
    yield f"{quota} {space}"


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("histories", [ComparedHistories, CodedComparedHistories])
def test_hadoops_namenode_counts_the_same_in_our_images(
    histories: type[ComparedHistories], hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    histories.tools = staticmethod(hadoop_tools)
    histories.scratch = tmp_path
    run_state_machine_as_test(
        histories,
        settings=settings(
            max_examples=times(25),
            stateful_step_count=25,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
