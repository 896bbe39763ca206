"""`debug` and Hadoop's: the same exit codes and words over the same files, and files that
either makes and the other reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli import debug
from howdah.cli.main import main
from howdah.testing import MiniCluster

Outcome = tuple[int, str, str]


@pytest.fixture
def theirs(hadoop_tools: Any, tmp_path: Path) -> Any:
    def run(*words: object) -> Outcome:
        hadoop_tools("debug", tmp_path / "said", *map(str, words))
        code, out, err = (tmp_path / "said").read_text().split("\1")
        said = [line for line in err.splitlines(True) if not line.startswith("log4j:")]
        return int(code), out, "".join(said)

    return run


@pytest.fixture
def ours(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: object) -> Outcome:
        capsys.readouterr()
        code = main(["debug", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_files_that_one_makes_the_other_checks(ours: Any, theirs: Any, tmp_path: Path) -> None:
    block, our_meta, their_meta = (tmp_path / name for name in ("blk", "ours", "theirs"))
    block.write_bytes(os.urandom(3_000_001))
    for run, meta in ((ours, our_meta), (theirs, their_meta)):
        assert run("computeMeta", "-block", block, "-out", meta) == (
            0,
            f"Checksum calculation succeeded on block file {block} saved metadata to meta file "
            f"{meta}\n",
            "",
        )
    assert our_meta.read_bytes() == their_meta.read_bytes()
    assert ours("verifyMeta", "-meta", our_meta) == theirs("verifyMeta", "-meta", our_meta)
    words: tuple[object, ...] = ("verifyMeta", "-meta", their_meta, "-block", block)
    assert ours(*words) == theirs(*words)
    with open(block, "r+b") as file:
        file.seek(1_000_000)
        file.write(os.urandom(4))
    found = [run("verifyMeta", "-meta", our_meta, "-block", block) for run in (ours, theirs)]
    (our_code, our_words, _), (their_code, their_words, _) = found
    assert (our_code, their_code) == (1, 1)
    assert our_words.splitlines()[:2] == their_words.splitlines()[:2]
    for words in (
        ("verifyMeta", "-block", block),
        ("computeMeta", "-block", block, "-out", our_meta),
        ("computeMeta", "-block", block),
        ("computeMeta", "-block", tmp_path, "-out", tmp_path / "new"),
        ("computeMeta", "-out", our_meta),
        ("recoverLease", "-retries", "3"),
    ):
        assert ours(*words) == theirs(*words)
    for words in (("bogus",), ("verifyMeta",), ("verifyMeta", "-meta"), ("help", "computeMeta")):
        assert ours(*words)[0] == theirs(*words)[0]


def test_leases_are_recovered(
    ours: Any, theirs: Any, howdah_cluster: MiniCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{howdah_cluster.uri}/debug/open"
    with howdah_cluster.connect() as fs, howdah_cluster.connect() as writer:
        out = writer.create("/debug/open")
        out.write(b"abc")
        out.hflush()
        monkeypatch.setattr(debug, "RETRY_S", 0.1)
        code, said, _ = ours("recoverLease", "-path", path, "-retries", "300")
        assert (code, said) == (0, f"recoverLease SUCCEEDED on {path}\n")
        # It is closed now, so there is nothing left to do.
        for run in (ours, theirs):
            assert run("recoverLease", "-path", path) == (0, said, "")
            code, said_nothing, err = run("recoverLease", "-path", f"{path}-not")
            assert (code, said_nothing) == (1, "")
            assert err.splitlines()[-1] == (f"Giving up on recoverLease for {path}-not after 1 try")
        fs.delete("/debug", recursive=True)
        with pytest.raises(errors.HowdahError):
            out.close()
