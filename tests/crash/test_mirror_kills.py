"""`howdah mirror` as a process that is killed again and again, between two clusters."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from typing import Any

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.mirror.state.names import PREFIX
from howdah.testing import MiniCluster
from howdah.testing.trees import Tree, read_tree
from tests.support.torture import times

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1200)]

CONF: dict[str, Any] = {"dfs.replication": 1}


def change(fs: HdfsFileSystem, chance: random.Random) -> None:
    """Some changes of the source."""
    for _ in range(chance.randint(1, 6)):
        one, other = (f"/data/d{chance.randrange(4)}/{chance.randrange(6)}" for _ in range(2))
        match chance.choice(("write", "write", "move", "swap", "delete")):
            case "write":
                fs.write_bytes(one, chance.randbytes(chance.randrange(1 << 18)))
            case "move":
                if fs.exists(one) and one != other:
                    fs.rename(one, other, overwrite=True)
            case "swap":
                above, below = one.rpartition("/")[0], other.rpartition("/")[0]
                if fs.exists(above) and fs.exists(below) and above != below:
                    fs.rename(above, "/data/t")
                    fs.rename(below, above)
                    fs.rename("/data/t", below)
            case _:
                fs.delete(one)


def started(source: str, target: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "howdah", "mirror", "--once", source, target]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=dict(os.environ))


def published(fs: HdfsFileSystem) -> list[str]:
    if not fs.exists("/data/.snapshot"):
        return []
    names = [status.name for status in fs.list_status("/data/.snapshot")]
    return [name for name in names if name.startswith(PREFIX) and name.endswith("Z")]


def test_every_snapshot_of_the_target_is_one_of_the_source() -> None:
    chance = random.Random(39)
    then: dict[str, Tree] = {}
    with (
        MiniCluster(datanodes=1, conf=CONF) as ours,
        MiniCluster(datanodes=1, conf=CONF) as theirs,
        ours.connect() as here,
        theirs.connect() as there,
    ):
        assert isinstance(here, HdfsFileSystem)
        assert isinstance(there, HdfsFileSystem)
        for number in range(4):
            here.mkdirs(f"/data/d{number}")
        for _ in range(times(20)):
            change(here, chance)
            process = started(f"{ours.uri}/data", f"{theirs.uri}/data")
            time.sleep(chance.uniform(0.3, 2.5))  # when it is killed, not what is waited for
            process.kill()
            process.communicate()
            for name in published(here):
                then.setdefault(name, read_tree(here, f"/data/.snapshot/{name}"))
            for name in published(there):
                assert read_tree(there, f"/data/.snapshot/{name}") == then[name]
        process = started(f"{ours.uri}/data", f"{theirs.uri}/data")
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
        assert read_tree(there, "/data") == read_tree(here, "/data")
