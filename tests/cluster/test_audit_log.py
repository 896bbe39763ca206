"""The audit log of a namenode says of the same calls what Hadoop's says."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.runtime.users.current import current_user
from howdah.testing import MiniCluster
from tests.support.audit_calls import RECORDED_OWNER, VALUES, comparable, run

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


def test_checks_of_the_filesystem_have_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "audit.log"
    values = {"howdah.namenode.audit.log.file": str(file)}
    with MiniCluster(datanodes=1, conf=values) as cluster:
        conf = str(cluster.conf_dir)
        assert main(["fsck", "--conf", conf, "/"]) == 0
        main(["fsck", "--conf", conf, "/", "-blockId", "blk_1"])
        stranger = f"{cluster.http}/fsck?ugi=mallory&path=%2F&listcorruptfileblocks=1"
        with urllib.request.urlopen(stranger, timeout=20) as answer:
            assert b"Access denied" in answer.read()
    capsys.readouterr()
    lines = [line.split("\t") for line in file.read_text().splitlines() if "cmd=fsck" in line]
    owner, ip = f"ugi={current_user()} (auth:SIMPLE)", "ip=/127.0.0.1"
    rest = ["dst=null", "perm=null", "proto=null"]
    assert [[parts[0].rpartition(" ")[2], *parts[1:]] for parts in lines] == [
        ["allowed=true", owner, ip, "cmd=fsck", "src=/", *rest],
        ["allowed=true", owner, ip, "cmd=fsck", "src=blocksIds=[blk_1]", *rest],
        ["allowed=false", "ugi=mallory (auth:SIMPLE)", ip, "cmd=fsck", "src=/", *rest],
    ]
