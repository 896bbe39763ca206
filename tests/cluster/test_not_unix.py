"""The client on HDFS in a process that has nothing of Unix (`tests.support.not_unix`)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from howdah.runtime.users.current import current_user
from howdah.testing import MiniCluster


def run(code: str, cluster: MiniCluster, kernel: str) -> None:
    uri = cluster.uri
    hidden = f"from tests.support import not_unix\nnot_unix.hide()\nuri = {uri!r}\n{code}"
    env = os.environ | {
        "HADOOP_USER_NAME": current_user(),
        "HADOOP_CONF_DIR": str(cluster.conf_dir),
        "HOWDAH_KERNEL": kernel,
    }
    child = subprocess.run(
        [sys.executable, "-c", hidden], env=env, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr


USES = {
    "streams": """
import howdah
data = bytes(range(256)) * 20_000
with howdah.connect(uri) as fs:
    with fs.create("/not-unix/a", overwrite=True) as out:
        out.write(data)
        out.hsync()
    assert fs.read_bytes("/not-unix/a") == data
    with fs.open("/not-unix/a") as stream:
        assert stream.pread(1000, 100) == data[1000:1100]
        ranges = [howdah.FileRange(0, 10), howdah.FileRange(4_000_000, 10)]
        assert [bytes(part.result()) for part in stream.read_vectored(ranges)] == [
            data[:10], data[4_000_000:4_000_010],
        ]
    with fs.append("/not-unix/a") as out:
        out.write(b"more")
    assert fs.stat("/not-unix/a").length == len(data) + 4
    assert fs.ls("/not-unix") == ["/not-unix/a"]
    fs.rm("/not-unix", recursive=True)
""",
    "paths": """
import howdah
path = howdah.Path(uri) / "not-unix" / "b"
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text("x")
assert path.read_text() == "x"
path.unlink()
""",
    "asyncio": """
import asyncio, howdah.aio
async def main():
    async with howdah.aio.connect(uri) as fs:
        await fs.write_bytes("/not-unix-aio", b"abc")
        assert await fs.read_bytes("/not-unix-aio") == b"abc"
        await fs.rm("/not-unix-aio")
asyncio.run(main())
""",
    "fsspec": """
import fsspec
place = uri.replace("hdfs://", "howdah://")
with fsspec.open(f"{place}/not-unix-c", "wb") as out:
    out.write(b"abc")
fs, path = fsspec.url_to_fs(f"{place}/not-unix-c")
assert fs.cat(path) == b"abc"
fs.rm(path)
""",
    "shell": """
import howdah
from howdah.cli.main import main
with howdah.connect(uri) as fs:
    fs.write_text("/not-unix-d", "x")
for command in ("-ls /", "-cat /not-unix-d", "-du /", "-rm -skipTrash /not-unix-d"):
    assert main(["dfs", *command.split()]) == 0, command
""",
}


@pytest.mark.parametrize("use", USES)
def test_the_client_works_without_unix(howdah_cluster: MiniCluster, use: str) -> None:
    if use == "fsspec":
        pytest.importorskip("fsspec")
    run(USES[use], howdah_cluster, "off")
