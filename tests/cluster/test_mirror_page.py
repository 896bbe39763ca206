"""The commands of docs/mirror.md, in their order, on two clusters: a disaster drill included.

Only addresses are exchanged. The mirror that the page runs is killed in the middle of a round, with
its source; then the page's drill is what helps.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import howdah
from howdah.config import Configuration
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(280)

PAGE: Final = Path(__file__).parents[2] / "docs" / "mirror.md"
BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Ground:
    """Two clusters, which the page calls `a` and `b`."""

    a: MiniCluster
    b: MiniCluster
    directory: Path

    def blocks(self) -> list[tuple[str, str]]:
        """The blocks of the page with real addresses."""
        return [(found[1], self.settled(found[2])) for found in BLOCK.finditer(PAGE.read_text())]

    def settled(self, code: str) -> str:
        for name, cluster in (("a", self.a), ("b", self.b)):
            code = code.replace(f"hdfs://{name}:8020", cluster.uri)
        return code.replace("127.0.0.1:9879", "127.0.0.1:0").replace(
            "--interval 30", "--interval 1"
        )

    def run(self, code: str, *, fails: bool = False) -> str:
        """The commands of a block of shell; what they print."""
        said = ""
        for line in code.splitlines():
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(line)],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                env=self.environment(),
            )
            assert (done.returncode != 0) == fails, f"{line}\n{done.stdout}{done.stderr}"
            said += done.stdout + done.stderr
        return said

    def environment(self) -> dict[str, str]:
        return {**os.environ, "HADOOP_CONF_DIR": str(self.a.conf_dir)}

    @contextmanager
    def running(self, code: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """A mirror as a process, and where its pages are."""
        (line,) = code.splitlines()
        ready = self.directory / "ready"
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", *shlex.split(line), "--ready-file", str(ready)]
        with open(self.directory / "mirror.log", "ab") as log:
            process = subprocess.Popen(command, stderr=log, stdout=log, env=self.environment())
        try:
            wait_until(ready.exists)
            yield process, f"http://{json.loads(ready.read_text())['http']}"
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    conf: dict[str, Any] = {"dfs.replication": 1}
    with MiniCluster(datanodes=1, conf=conf) as a, MiniCluster(datanodes=1, conf=conf) as b:
        yield Ground(a, b, tmp_path_factory.mktemp("mirror"))


def contents(fs: FileSystem, top: str) -> dict[str, bytes]:
    return {
        file.path.removeprefix(top): fs.read_bytes(file.path)
        for _, _, files in fs.walk(top)
        for file in files
    }


def page(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refused:
        return refused.code, refused.read().decode()


def metric(pages: str, name: str) -> float:
    _, text = page(f"{pages}/prom")
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])


def test_the_page(ground: Ground) -> None:
    blocks = ground.blocks()
    assert [language for language, _ in blocks] == [
        *("sh", "python", "sh", "sh", "sh", "sh", "xml", "sh", "sh"),
    ]
    trying, python, running, status, verifying, promoting, view, following, back = (
        code for _, code in blocks
    )
    with ground.a.connect() as a, ground.b.connect() as b:
        assert isinstance(a, HdfsFileSystem)
        assert isinstance(b, HdfsFileSystem)
        for number in range(20):
            a.write_bytes(f"/data/d{number % 3}/{number}", b"%d" % number)
        said = ground.run(trying)
        assert "would copy 20 files" in said
        assert "howdah-mirror-" in said
        assert contents(b, "/data") == contents(a, "/data")
        a.rename("/data/d0", "/data/d9")
        exec(compile(python, str(PAGE), "exec"), {})
        assert contents(b, "/data") == contents(a, "/data")
        _run_it(ground, running, a, b)
        assert '"lag_bytes"' in ground.run(status)
        assert "0 differ" in ground.run(verifying)
        _lose_it(ground, running, promoting, view, a, b)
        ground.a.restart()
        assert "was promoted" in ground.run(back.splitlines()[-1], fails=True)
        _follow(ground, following, a, b)
        b.write_bytes("/data/late", b"the last one")
        ground.run(back)
        assert a.read_bytes("/data/late") == b"the last one"
        a.write_bytes("/data/again", b"x")
        ground.run(back.splitlines()[-1])
        assert contents(b, "/data") == contents(a, "/data")
        assert "0 differ" in ground.run(verifying)


def _run_it(ground: Ground, running: str, a: FileSystem, b: FileSystem) -> None:
    """Changes arrive, and the pages say so; a second mirror waits."""
    with ground.running(running) as (process, pages):
        wait_until(lambda: metric(pages, "howdah_mirror_rounds_total") > 0)
        a.write_bytes("/data/new", b"later")
        wait_until(lambda: b.exists("/data/new"))
        wait_until(lambda: page(f"{pages}/ready")[0] == 200)
        assert metric(pages, "howdah_mirror_lag_seconds") >= 0
        assert metric(pages, "howdah_mirror_copied_bytes_total") >= 5
        assert "behind the source" in page(f"{pages}/")[1]
        said = ground.run(running.replace("--interval 1", "--once"), fails=True)
        assert "is held by" in said
        process.terminate()
        assert process.wait(60) == 0


def _lose_it(
    ground: Ground, running: str, promoting: str, view: str, a: HdfsFileSystem, b: HdfsFileSystem
) -> None:
    """The source dies in the middle of a round, and its mirror with it; clients go on."""
    before = contents(a, "/data")
    slow = running.replace("--bandwidth 50", "--bandwidth 1")
    with ground.running(slow) as (process, pages):
        wait_until(lambda: metric(pages, "howdah_mirror_rounds_total") > 0)
        a.rename("/data/d1", "/data/d8")
        a.write_bytes("/data/long", bytes(20 << 20))
        wait_until(lambda: metric(pages, "howdah_mirror_lag_bytes") > 0)
        wait_until(lambda: not b.exists("/data/d1"))
        ground.a.kill("namenode", "datanode0")
        process.kill()
        process.wait()
    said = ground.run(promoting)
    assert "is a source now" in said
    assert "undone" in said
    assert contents(b, "/data") == before
    conf = Configuration.load(ground.b.conf_dir).with_site_file(
        f"<configuration>{view}</configuration>".encode(), source="docs/mirror.md"
    )
    with howdah.connect("viewfs://prod/", conf=conf) as clients:
        clients.write_bytes("/data/after", b"the disaster")
    assert b.read_bytes("/data/after") == b"the disaster"


def _follow(ground: Ground, following: str, a: HdfsFileSystem, b: HdfsFileSystem) -> None:
    """The old source is back, and follows from the common snapshot on."""
    a.write_bytes("/data/stray", b"a client that had not heard")
    lost = contents(a, "/data")
    ground.run(following)
    assert contents(a, "/data") == contents(b, "/data")
    (kept,) = (
        status.name
        for status in a.list_status("/data/.snapshot")
        if status.name.startswith("howdah-diverged-")
    )
    assert contents(a, f"/data/.snapshot/{kept}") == lost
