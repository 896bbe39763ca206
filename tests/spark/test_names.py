"""Names that are hard on a program: they come out right, or the error says which it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from howdah.copy.common.failures import CopyFailed
from howdah.fs.glob import escape
from howdah.fs.hdfs.administration import Administration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import Options, compact, distcp, namespace, verify
from howdah.testing import MiniCluster
from howdah.testing.trees import Tree, make_tree, read_tree

pytestmark = pytest.mark.timeout(240)

NAMES = [
    *(" lead", "trail ", " ", "q'\"q", "50%", "%2F", "a+b", "#h", "q?", "ünï→", "é", "e\u0301"),
    *("a\nb", "\n", "cr\r", "tab\t", ".dot", "_under", "...", "-p", "a=1", "&<b>", "$HOME", "~"),
    *("*", "a*b", "[x]", "[!x]", "{a,b}", "a,b", "\\", "a\\b", "\\n", "😀", "\ufeffbom", "\u200b"),
    *("\u2028ls", "\u0085nel", "\x1cfs", "\x1b[2J", "\x7f", "@", "._COPYING_", "x" * 255),
]
TREE: dict[str, bytes | None] = {
    **{f"d/{name}": name.encode() * 3 for name in NAMES},
    "d": None,
    **{f"e{number}": None for number in range(2)},
    **{f"e{number}/{name}": None for number, name in enumerate(NAMES[-2:])},
}


def test_any_name_goes_from_a_filesystem_to_another_and_back(bench: Any, tmp_path: Path) -> None:
    bench.make("src", TREE)
    # Without checksum files, for which the longest names leave no room.
    bench.copy("src", f"local://{tmp_path}/out")
    bench.copy(f"file://{tmp_path}/out", "back")
    assert bench.tree("back") == TREE
    outcome = bench.copy("back", "src", update=True, delete=True)
    assert outcome.counters.files_skipped == len(NAMES)
    assert outcome.counters.entries_deleted == 0


def test_any_name_is_a_source_when_its_pattern_is_escaped(bench: Any) -> None:
    names = [name for name in NAMES if escape(name) != name or len(name) == 1]
    bench.make("src", {name: name.encode() for name in names})
    bench.copy([bench.uri(f"src/{escape(name)}") for name in names], "dst")
    assert bench.tree("dst") == {name: name.encode() for name in names}


def test_source_that_exists_is_no_pattern(bench: Any) -> None:
    bench.make("src", {"[x]{1}": b"1", "x{1}": b"2", "a[b]/f": b"3", "ab/g": b"4"})
    bench.copy("src/[x]{1}", "one")
    bench.copy("src/a[b]", "tree")
    with bench.fs.open(bench.path("one")) as stream:
        assert stream.read() == b"1"
    assert bench.tree("tree") == {"f": b"3"}
    with verify(bench.spark, bench.uri("src/a[b]")) as found:
        assert found.sums.files == 1


def test_digests_may_be_kept_in_any_directory(bench: Any) -> None:
    bench.make("src", {"a": b"1"})
    for _ in range(2):
        with verify(bench.spark, bench.uri("src"), manifest=bench.uri("digests[1]*")) as found:
            assert found.sums.is_healthy


def test_sources_in_a_file_are_parted_by_line_ends_alone(bench: Any) -> None:
    names = ["\u2028ls", "\u0085nel", "\x1cfs", " both ", "é"]
    bench.make("src", {name: name.encode() for name in names})
    lines = "\r\n".join(bench.path(f"src/{name}") for name in names)
    bench.make("", {"list": lines.encode() + b"\n\n"})
    bench.copy([], "dst", source_listing=bench.uri("list"))
    assert bench.tree("dst") == {name: name.encode() for name in names}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (b"lat\xe9\nin", r"lat\\xe9\\nin.*names are UTF-8 on HDFS"),
        (b"d\xe9/f", r"mkdir failed for hdfs:.*/d\\xe9: .*names are UTF-8 on HDFS"),
        (b"a:b", "a:b: InvalidPath"),
    ],
)
def test_name_that_hdfs_cannot_have_is_named_by_the_error(
    bench: Any, tmp_path: Path, name: bytes, message: str
) -> None:
    path = os.path.join(bytes(tmp_path), b"in", name)
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"1")
    with pytest.raises(CopyFailed, match=message):
        bench.copy(f"file://{tmp_path}/in", "dst")
    bench.copy(f"file://{tmp_path}/in", f"file://{tmp_path}/out")
    assert os.path.exists(os.path.join(bytes(tmp_path), b"out", name))


def test_file_that_local_checksums_would_overwrite_is_refused(bench: Any, tmp_path: Path) -> None:
    bench.make("src", {".a.crc": b"1", "a": b"2"})
    with pytest.raises(CopyFailed, match=r"the checksums of a have that name"):
        bench.copy("src", f"file://{tmp_path}/out")
    bench.make("alone", {".a.crc": b"1"})
    bench.copy("alone", f"file://{tmp_path}/alone")
    assert (tmp_path / "alone" / ".a.crc").read_bytes() == b"1"


def test_log_has_a_line_for_each_file_whatever_its_name(bench: Any) -> None:
    bench.make("src", {"a\nb": b"1", "\x1b[2J": b"2"})
    bench.copy("src", "dst", log_path=bench.uri("log"), verbose=True)
    log = b"".join(v or b"" for v in bench.tree("log").values()).decode()
    assert sorted(line.split(",")[0].rpartition("/")[2] for line in log.splitlines()) == [
        "\\x1b[2J",
        "a\\nb",
    ]


LEVELS = 900


@pytest.mark.torture
def test_very_deep_tree_goes_through_all_jobs(spark: Any) -> None:
    deep = "/".join(["d"] * LEVELS)
    content: Tree = {f"{deep}/f{number}.txt": b"%d\n" % number for number in range(3)}
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        make_tree(fs, "/src", content)
        options = Options(update=True, delete=True)
        for number in range(2):
            outcome = distcp(spark, "/src", "/dst", options=options, conf=cluster.conf)
            assert outcome.counters.files_skipped == number * 3
        assert {k: v for k, v in read_tree(fs, "/dst").items() if v is not None} == content
        assert isinstance(fs, HdfsFileSystem)
        fs.set_safe_mode("enter")
        assert Administration(fs.client.namenode).save_namespace()
        fs.set_safe_mode("leave")
        images = Path(cluster.dir).glob("namenode/name*/current/fsimage_*")
        image = max(path for path in images if path.suffix != ".md5").as_uri()
        for where in ("/", image):
            rows = namespace(spark, where, conf=cluster.conf)
            depths = rows.where("type = 'file'").groupBy("depth").count().collect()
            assert [tuple(row) for row in depths] == [(LEVELS + 2, 6)]
            rows.unpersist()
        with verify(spark, "/src", conf=cluster.conf) as found:
            assert found.sums.is_healthy
        compact(spark, "/src", conf=cluster.conf)
        (compacted,) = fs.list_status(f"/src/{deep}")
        with fs.open(compacted.path) as stream:
            assert stream.read() == b"0\n1\n2\n"


@pytest.mark.torture
def test_directories_of_any_name_are_compacted_and_told_in_a_line(
    bench: Any, capsys: pytest.CaptureFixture[str], spark: Any
) -> None:
    from howdah.cli import compact as command

    names = ["a\nb", "[x]*{p,q}", "50%20 é\\#?"]
    for name in names:
        bench.make(f"src/{name}", {f"{i}.txt": b"%d\n" % i for i in range(3)})
    assert command.main([bench.path("src")], bench.cluster.conf) == 0
    for name in names:
        (content,) = bench.tree(f"src/{name}").values()
        assert content == b"0\n1\n2\n", name
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(names) + 1
    assert any(line.startswith(bench.path("src/a\\nb: ")) for line in told)
