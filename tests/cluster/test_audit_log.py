"""The audit log of a namenode says of the same calls what Hadoop's says."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.rpc.client import current_user
from howdah.testing import MiniCluster
from howdah.testing.internal.audit_calls import RECORDED_OWNER, VALUES, comparable, run

RECORDED = Path(__file__).with_name("hadoop_audit_lines.txt")


def test_lines_are_those_that_hadoops_namenode_writes(tmp_path: Path) -> None:
    owner = current_user()
    recorded = RECORDED.read_text("utf-8").replace(RECORDED_OWNER, owner)
    wanted = recorded.splitlines()
    file = tmp_path / "audit.log"
    values = {**VALUES, "howdah.namenode.audit.log.file": str(file)}
    with MiniCluster(datanodes=1, conf=values) as cluster:
        run(cluster.conf, owner)

    # The namenode has written all lines when it ends. Its first calls were the cluster's own.
    found = [comparable(line) for line in file.read_text().splitlines()]
    assert found[found.index(wanted[0]) :] == wanted


def test_file_that_cannot_be_written_is_found_out_at_the_start(tmp_path: Path) -> None:
    values = {"howdah.namenode.audit.log.file": str(tmp_path / "nowhere" / "audit.log")}
    with (
        pytest.raises(errors.HowdahError, match=r"the audit log .*nowhere/audit\.log cannot"),
        MiniCluster(datanodes=1, conf=values),
    ):
        pytest.fail("it was to have a log")
