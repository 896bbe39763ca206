"""The recipes of docs/spark.md: each block of the page is run as it stands there, and the cells of
the notebooks that are made of it.

Only addresses are exchanged: the clusters of the page become directories of the tests'
cluster, its Spark Connect server the one of the tests. Blocks of Python run in this
process, with the Spark that is there; what needs a Spark Connect session of its own is a
program of its own. Blocks of shell run in a shell; `howdah` is a program there that has
this process do what it is asked, for the sake of the JVM.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import register

pytestmark = pytest.mark.timeout(240)

HERE = Path(__file__).parents[1]
PAGE = HERE.parent / "docs" / "spark.md"
GOLDEN = HERE / "unit" / "formats" / "golden"
IMAGE = GOLDEN / "fsimage_rich"
OLDER_IMAGE = GOLDEN / "fsimage_plain"
EDITS = GOLDEN / "edits_0000000000000000001-0000000000000000085"
AUDIT_LINE = (
    "2026-11-23 03:40:35,123 INFO FSNamesystem.audit: allowed=true\tugi=ann (auth:SIMPLE)\t"
    "ip=/10.0.0.7\tcmd=open\tsrc=/data/raw/1.csv\tdst=null\tperm=null\tproto=rpc\n"
)

BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTION: Final = re.compile(r"^## (.*)$", re.MULTILINE)
RUN: Final = ("python", "sh")


@dataclass(frozen=True)
class Block:
    """A block of code, and the line of the page that it begins in."""

    language: str
    code: str
    line: int


def sections() -> dict[str, list[Block]]:
    """The headings of the page, and the blocks below each."""
    page = PAGE.read_text("utf-8")
    titles = [(found.start(), found[1]) for found in SECTION.finditer(page)]
    blocks: dict[str, list[Block]] = {title: [] for _, title in titles}
    for found in BLOCK.finditer(page):
        title = max((at, title) for at, title in titles if at < found.start())[1]
        line = page.count("\n", 0, found.start(2)) + 1
        blocks[title].append(Block(found[1], found[2], line))
    return {title: below for title, below in blocks.items() if below}


# The program `howdah` of a block of shell.
CALLER: Final = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect(os.environ["HOWDAH_PAGE"])
    there.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    told = json.loads(there.makefile().read())
sys.stdout.write(told["out"])
sys.stderr.write(told["err"])
sys.exit(told["code"])
"""


@dataclass
class Ground:
    """What the blocks of a section stand on."""

    spark: Any
    fs: HdfsFileSystem
    uri: str
    root: str
    scratch: Path

    def settled(self, code: str) -> str:
        """A block of the page with real addresses."""
        code = code.replace("hdfs://a:8020/", f"{self.uri}{self.root}/a/")
        code = code.replace("hdfs://b:8020/", f"{self.uri}{self.root}/b/")
        code = code.replace("hdfs://a:8020", self.uri)
        code = re.sub(r"""(?<=[\s"'])/(?=data|checkpoints)""", f"{self.root}/a/", code)
        code = code.replace("file:///backup", (self.scratch / "backup").as_uri())
        code = code.replace("file:///var/log/hadoop", (self.scratch / "log").as_uri())
        port = self.spark.conf.get("spark.connect.grpc.binding.port")
        return code.replace("sc://spark:15002", f"sc://127.0.0.1:{port}")

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def files(self, name: str) -> dict[str, bytes]:
        """The files below a path, with their content; without Spark's marks."""
        found = {}
        for _, _, files in self.fs.walk(self.path(name)):
            for file in files:
                with self.fs.open(file.path) as stream:
                    found[file.path.removeprefix(self.path(name))] = stream.read()
        return found

    def run(self, blocks: list[Block]) -> None:
        """One after the other; names live on from one block of Python to the next."""
        names: dict[str, Any] = {"spark": self.spark}
        if any("howdah.changes" in block.code for block in blocks):
            register(self.spark)  # The section before does that on the page.
        for block in blocks:
            assert block.language in RUN, f"line {block.line} names no language"
            code = self.settled(block.code)
            if block.language == "sh":
                self._shell(code)
            elif ".remote(" in code:
                subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
            else:
                exec(compile("\n" * (block.line - 1) + code, str(PAGE), "exec"), names)

    def _shell(self, code: str) -> None:
        socket_path = self.scratch / "socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(socket_path))
            server.listen()
            environment = os.environ | {
                "PATH": f"{self.scratch / 'bin'}:{os.environ['PATH']}",
                "HOWDAH_PAGE": str(socket_path),
            }
            with subprocess.Popen(
                ["sh", "-eu", "-c", code],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as shell:
                assert shell.stdout is not None
                while shell.poll() is None:
                    if select.select([server], [], [], 0.05)[0]:
                        with server.accept()[0] as caller:
                            _answer(caller)
                assert shell.returncode == 0, shell.stdout.read()
        socket_path.unlink()


def _answer(caller: socket.socket) -> None:
    """Do what a shell's `howdah` asks for."""
    words = json.loads(caller.makefile().readline())
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    out.flush()
    told = {"code": code, "out": out.buffer.getvalue().decode(), "err": err.getvalue()}
    caller.sendall(json.dumps(told).encode())


@pytest.fixture
def ground(
    spark: Any,
    howdah_cluster: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Ground]:
    programs = tmp_path / "bin"
    programs.mkdir()
    howdah = programs / "howdah"
    howdah.write_text(f"#!{sys.executable} -SE\n{CALLER}")
    howdah.chmod(0o755)
    (tmp_path / "backup").mkdir()
    shutil.copy(IMAGE, tmp_path / "backup" / "fsimage_0000000000000123456")
    shutil.copy(OLDER_IMAGE, tmp_path / "backup" / "fsimage_0000000000000120000")
    (tmp_path / "backup" / "edits").mkdir()
    shutil.copy(EDITS, tmp_path / "backup" / "edits")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "hdfs-audit.log.1").write_text(AUDIT_LINE)
    monkeypatch.chdir(tmp_path)
    root = "/page/" + re.sub(r"\W", "_", request.node.name)
    with howdah_cluster.connect() as fs:
        fs.mkdirs("/user")
        for month in (1, 2):
            rows = "".join(f"{month},{day},{day * month}\n" for day in range(1, 5))
            _put(fs, f"{root}/a/data/raw/{month}.csv", "month,day,count\n" + rows)
        _put(fs, f"{root}/a/data/late/2.csv", "month,day,count\n2,28,7\n")
        _put(fs, f"{root}/a/data/arriving/3.csv", "month,day,count\n3,1,1\n3,2,2\n")
        for number in range(4):
            _put(fs, f"{root}/a/data/events/{number}.json", f'{{"event": {number}}}\n')
        yield Ground(spark, fs, howdah_cluster.uri, root, tmp_path)
        fs.delete(root, recursive=True)
    spark.catalog.clearCache()


def _put(fs: HdfsFileSystem, path: str, text: str) -> None:
    with fs.create(path) as out:
        out.write(text.encode())


# -- what the sections come to -------------------------------------------------------------


def has_tables(ground: Ground) -> None:
    table = ground.spark.read.parquet(ground.uri + ground.path("a/data/table"))
    rows = {(row["month"], row["day"]) for row in table.collect()}
    assert rows == {(1, day) for day in range(1, 5)} | {(2, 28)}
    stream = ground.spark.read.parquet(ground.uri + ground.path("a/data/stream"))
    assert stream.count() == 2
    assert ground.fs.exists(ground.path("a/checkpoints/stream/offsets/0"))


def has_copies(ground: Ground) -> None:
    source = ground.files("a/data")
    assert ground.files("b/data") == source
    raw = {name[4:]: data for name, data in source.items() if name.startswith("/raw/")}
    assert ground.files("b/raw") == ground.files("b/released") == raw
    assert len(ground.files("b/logs/mirror")) > 0
    assert ground.fs.list_snapshots(ground.path("a/data")) == []
    ground.fs.disallow_snapshot(ground.path("a/data"))


def has_few_files(ground: Ground) -> None:
    (joined,) = ground.files("a/data/events").values()
    assert [json.loads(line)["event"] for line in joined.splitlines()] == [0, 1, 2, 3]


def has_reports(ground: Ground) -> None:
    assert "<svg" in (ground.scratch / "space.html").read_text("utf-8")
    assert "Not read for longest" in (ground.scratch / "report.html").read_text("utf-8")


def has_answers(ground: Ground) -> None:
    (row,) = ground.spark.sql("select count(*) as files from files where type = 'file'").collect()
    assert row["files"] == 8


def has_changes(ground: Ground) -> None:
    rows = ground.spark.read.parquet(ground.uri + ground.path("b/changes")).collect()
    listed = {row["path"] for row in rows if row["event"] == "listed" and row["type"] == "file"}
    assert len(listed) == 8
    assert sum(row["event"] == "reset" for row in rows) == 1


def has_digests(ground: Ground) -> None:
    runs = ground.fs.list_status(ground.path("b/digests"))
    assert [run.name[:3] for run in runs] == ["at="]


def has_verified(ground: Ground) -> None:
    assert json.loads((ground.scratch / "verified.json").read_text())["healthy"]


def has_previewed(ground: Ground) -> None:
    assert len(ground.files("a/data")) == 8


OUTCOMES: Final[dict[str, Callable[[Ground], None]]] = {
    "Tables and streams": has_tables,
    "Copies": has_copies,
    "Small files": has_few_files,
    "Space": has_reports,
    "Questions in SQL": has_answers,
    "Changes as a stream": has_changes,
    "Verification": has_digests,
    "Where jobs run": has_verified,
    "In detail": has_previewed,
}


@pytest.mark.parametrize("title", sections())
def test_recipes_of_the_page_do_what_it_says(title: str, ground: Ground) -> None:
    ground.run(sections()[title])
    OUTCOMES[title](ground)


NOTEBOOKS: Final = sorted((HERE.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_of_a_notebook_run_one_after_the_other(path: Path, ground: Ground) -> None:
    """In this process, without Jupyter: they are Python only."""
    names: dict[str, Any] = {}
    for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            code = ground.settled("".join(cell["source"]))
            exec(compile(code, f"{path.name} {number}", "exec"), names)
    if path.stem in NOTEBOOK_OUTCOMES:
        NOTEBOOK_OUTCOMES[path.stem](ground)


NOTEBOOK_OUTCOMES: Final[dict[str, Callable[[Ground], None]]] = {
    "spark-questions": has_answers,
    "spark-small-files": has_few_files,
    "spark-changes": has_changes,
}


def test_every_link_of_the_page_leads_to_a_heading() -> None:
    page = PAGE.read_text("utf-8")
    for name, anchor in re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", page):
        target = (PAGE.parent / name).read_text("utf-8") if name else page
        headings = re.findall(r"^#+ (.*)$", target, re.MULTILINE)
        anchors = [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]
        assert anchor in anchors
