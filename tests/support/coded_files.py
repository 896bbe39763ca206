"""What tests with erasure coded files leave on a cluster that others have after them: nothing."""

from __future__ import annotations

from howdah.config import Configuration
from howdah.doctor.collect import gather
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until


def forget(fs: HdfsFileSystem, conf: Configuration, policy: str, directory: str) -> None:
    """Delete a directory, and what compactions have moved to the trash; disable the policy when the
    blocks are gone, which is later: a doctor takes block groups for those of a policy that is
    enabled."""
    for path in (directory, f"{fs.home_directory()}/.Trash"):
        fs.delete(path, recursive=True)

    def are_gone() -> bool:
        coding = gather(conf, ["namenode"]).coding
        assert coding is not None, "the namenode says nothing of erasure coding"
        return not coding.block_groups

    wait_until(are_gone, 60, "the blocks of deleted files to be gone")
    fs.client.namenode.disable_erasure_coding_policy(policy)
