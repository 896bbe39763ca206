"""What Hadoop's namenode says of images and logs of ours, whatever happened before."""

from __future__ import annotations

import difflib
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
from howdah.namenode.state.inodes.inodes import BlockState, Directory, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.striping.messages import policy_name_of
from howdah.protocol.striping.policies import FIRST_USER_ID
from howdah.storage.image_files import save_image
from howdah.storage.segments import SegmentWriter
from howdah.testing.fingerprint import walk
from howdah.testing.in_memory import InMemoryNamenode
from tests.support.namespaces.changes import ChangeHistories
from tests.support.namespaces.coding import CodedSnapshots, CodingHistories
from tests.support.namespaces.snapshots import BoundedSnapshotHistories
from tests.support.namespaces.tree import TreeHistories
from tests.support.torture import times

Told = dict[str, list[str]]


class Compared(ChangeHistories):
    """Both namenodes are asked at the end, Hadoop's after it has read what ours has written."""

    scratch: ClassVar[Path]
    tools: ClassVar[Callable[..., None]]
    count: ClassVar[int] = 0
    from_image: ClassVar[bool] = True

    def stays_open(self, path: str) -> bool:
        """Whether the writer of this file is still at work when the namenodes are asked.

        In a file that is open Hadoop takes the last block for one that is being written, which
        counts as a full one, also if its length is final and only its replicas are too few.
        """
        file = self.file(path)
        return file is not None and all(
            block.state is BlockState.UNDER_CONSTRUCTION for block in file.blocks[-1:]
        )

    def teardown(self) -> None:
        # Hadoop takes a block that is being cut for one that is being written.
        self.recover_blocks(0)
        for path, writer in self.open_files():
            if not self.stays_open(path):
                self.complete((path, writer), 1)
        type(self).count += 1
        self.write_down(self.directory / "name")
        namespace = self.namenode.namesystem.namespace
        snapshots = [
            snapshot_path(found.directory.path, found.name) for found in namespace.snapshots.all()
        ]
        tools = type(self).tools
        tools("start", self.directory)
        try:
            for what in ("list", "coded"):
                tools(what, self.directory / what, "/", *snapshots)
        finally:
            tools("stop")
        theirs = hadoops(*((self.directory / what).read_text() for what in ("list", "coded")))
        assert ours(self.namenode.restarted(from_image=self.from_image), theirs) == theirs

    @property
    def directory(self) -> Path:
        """That of the history which has ended."""
        return self.scratch / str(self.count)

    def write_down(self, name: Path) -> None:
        """Make a directory of a namenode's, by an image or a log."""
        version = format_namenode(Configuration({"dfs.namenode.name.dir": name.as_uri()}))
        current = name / "current"
        if self.from_image:

            def write(sink: Sink) -> None:
                write_image(self.namenode.namesystem.namespace, version.namespace_id, 0, sink)

            save_image([current], 0, write)
        else:
            segment = SegmentWriter(current, 1)
            for record in self.namenode.log:
                segment.append(record)
            segment.finalize(len(self.namenode.log))


class ComparedHistories(BoundedSnapshotHistories, Compared):
    """With snapshots, from an image."""

    def stays_open(self, path: str) -> bool:
        """Hadoop tells of snapshots that a block which is being written is a full one, unless its
        file was changed since."""
        entry = self.model.entries.get(path)
        shown = entry is not None and entry.number in self.numbers_in_snapshots()
        return not shown and super().stays_open(path)


class CodedReplays(CodingHistories, TreeHistories, Compared):
    """Hadoop's namenode follows a log in which files are coded, written, joined and given up."""

    from_image = False


class CodedComparedHistories(CodedSnapshots, ComparedHistories):
    """With snapshots, where files are erasure coded; and viewers are asked of image and log."""

    def teardown(self) -> None:
        super().teardown()
        # Ours, and what Hadoop's namenode has made of it.
        for image in sorted((self.directory / "name" / "current").glob("fsimage_*")):
            if image.suffix:
                continue  # Its sum, and what viewers have shown of it.
            assert self.unlike("oiv", image) == []
        log = self.directory / "edits"
        log.write_bytes(encode_header() + b"".join(self.namenode.log))
        assert self.unlike("oev", log) == []

    def unlike(self, viewer: str, path: Path) -> list[str]:
        """Where the XML of our viewer and of Hadoop's differ."""
        ours, theirs = (path.with_name(f"{path.name}.{whose}") for whose in ("ours", "theirs"))
        asked = ["-p", "XML", "-i", str(path), "-o"]
        assert main([viewer, *asked, str(ours)]) == 0
        type(self).tools(viewer, *asked, theirs)
        return list(difflib.unified_diff(elements(ours), elements(theirs), n=8))


def elements(path: Path) -> list[str]:
    xml = re.sub("<oivRevision>.*?</oivRevision>", "", path.read_text())
    return xml.replace("><", ">\n<").splitlines()


def hadoops(listing: str, coding: str) -> Told:
    """Of each path length, replication and erasure coding; of a file whether it is open and its
    blocks, of a directory what is counted, and what is bounded now. And the policies."""
    found = {}
    for line in listing.splitlines():
        path, kind, *words = line.split("\t")
        is_live = "/.snapshot" not in path
        found[path] = [words[0], words[4]]
        if kind == "directory":
            found[path] += words[12:-1] if is_live else words[12:16]
        elif kind == "file" and is_live:
            found[path] += words[12:14]
    for line in coding.splitlines():
        path, policy = line.split("\t")
        found.setdefault(path, []).append(policy)
    return found


def ours(namenode: InMemoryNamenode, paths: Told) -> Told:
    """The same of the same paths and policies, and of those that only we have."""
    namespace = namenode.namesystem.namespace
    policies = {
        f"{policy.name} {policy.policy_id}": [state.name]
        for policy, state in namespace.coding_policies.all()
        if policy.policy_id >= FIRST_USER_ID
    }
    known = dict(walk(namespace)).keys() | {path for path in paths if path.startswith("/")}
    return {path: list(words(namenode, path)) for path in known} | policies


def words(namenode: InMemoryNamenode, path: str) -> Iterator[str]:
    inode = namenode.namesystem.resolver.resolve(path).inode
    status = namenode.call("getFileLinkInfo", pb.GetFileLinkInfoRequestProto(src=path))
    assert isinstance(status, pb.GetFileLinkInfoResponseProto)
    yield str(status.fs.length)
    yield str(inode.replication) if isinstance(inode, File) else "0"
    is_live = "/.snapshot" not in path
    if isinstance(inode, Directory):
        yield from counts(namenode, path, is_live=is_live)
    elif isinstance(inode, File) and is_live:
        yield "open" if inode.writer else "closed"
        blocks = inode.blocks
        yield ",".join(f"{b.block_id}_{b.generation_stamp}:{b.length_bytes}" for b in blocks)
    yield policy_name_of(status.fs.ecPolicy) if status.fs.HasField("ecPolicy") else ""


def counts(namenode: InMemoryNamenode, path: str, *, is_live: bool) -> Iterator[str]:
    answer = namenode.call("getContentSummary", pb.GetContentSummaryRequestProto(path=path))
    assert isinstance(answer, pb.GetContentSummaryResponseProto)
    found = answer.summary
    yield f"{found.directoryCount} {found.fileCount}"
    yield f"{found.length} {found.spaceConsumed}"
    yield f"{found.snapshotDirectoryCount} {found.snapshotFileCount}"
    yield f"{found.snapshotLength} {found.snapshotSpaceConsumed}"
    if not is_live:
        return
    told = namenode.call("getQuotaUsage", pb.GetQuotaUsageRequestProto(path=path))
    assert isinstance(told, pb.GetQuotaUsageResponseProto)
    yield f"{told.usage.fileAndDirectoryCount} {told.usage.spaceConsumed}"
    quota, space = (bound - (bound >> 63 << 64) for bound in (found.quota, found.spaceQuota))
    yield f"{quota} {space}"


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("histories", [ComparedHistories, CodedComparedHistories, CodedReplays])
def test_hadoops_namenode_says_the_same_of_our_images_and_logs(
    histories: type[Compared], hadoop_tools: Callable[..., None], tmp_path: Path
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
