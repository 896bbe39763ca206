"""`howdah debug`: files of replicas are checked and made, leases recovered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli import debug
from howdah.cli.main import main

Run = Callable[..., tuple[int, str, str]]
DATA = os.urandom(100_000)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: object) -> tuple[int, str, str]:
        code = main(["debug", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


@pytest.fixture
def replica(tmp_path: Path, run: Run) -> tuple[Path, Path]:
    """A block file and its meta file."""
    block, meta = tmp_path / "blk_1", tmp_path / "blk_1_1001.meta"
    block.write_bytes(DATA)
    assert run("computeMeta", "-block", block, "-out", meta)[0] == 0
    return block, meta


def test_a_made_meta_file_fits_its_block(run: Run, replica: tuple[Path, Path]) -> None:
    block, meta = replica
    assert meta.stat().st_size == 7 + 4 * -(-len(DATA) // 512)
    kind = "Checksum type: DataChecksum(type=CRC32C, chunkSize=512)\n"
    assert run("verifyMeta", "-meta", meta) == (0, kind, "")
    assert run("verifyMeta", "-block", block, "-meta", meta) == (
        0,
        f"{kind}Checksum verification succeeded on block file {block}\n",
        "",
    )


def test_a_flipped_bit_is_named_with_its_chunk(run: Run, replica: tuple[Path, Path]) -> None:
    block, meta = replica
    block.write_bytes(DATA[:70_000] + bytes([DATA[70_000] ^ 1]) + DATA[70_001:])
    code, out, _ = run("verifyMeta", "-meta", meta, "-block", block)
    assert code == 1
    assert f"not matched for file {block} at position {70_000 // 512 * 512}: expected=" in out


def test_checksums_that_end_before_the_block_are_no_proof(
    run: Run, replica: tuple[Path, Path]
) -> None:
    block, meta = replica
    meta.write_bytes(meta.read_bytes()[:-4])
    code, out, _ = run("verifyMeta", "-meta", meta, "-block", block)
    assert (code, "the checksums end before" in out) == (1, True)


@pytest.mark.parametrize("content", [b"", b"abc", b"\0\1\x09\0\0\2\0"])
def test_what_is_no_meta_file_is_said_to_be_none(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.meta").write_bytes(content)
    code, out, err = run("verifyMeta", "-meta", tmp_path / "x.meta")
    assert (code, out) == (1, "")
    assert err.startswith("Failed to read HDFS metadata file header for ")


def test_files_that_are_not_there_are_named(run: Run, replica: tuple[Path, Path]) -> None:
    _, meta = replica
    code, _, err = run("verifyMeta", "-meta", meta, "-block", "/nowhere/blk")
    assert code == 1
    assert err.startswith("Failed to open HDFS block file for /nowhere/blk: ")
    assert run("verifyMeta", "-meta", "/nowhere/meta")[0] == 1


def test_what_is_there_is_not_overwritten(run: Run, replica: tuple[Path, Path]) -> None:
    block, meta = replica
    before = meta.read_bytes()
    assert run("computeMeta", "-block", block, "-out", meta) == (
        5,
        "",
        "output file already exists!\n",
    )
    assert meta.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("verifyMeta", "-block", "x"), 1, "You must specify a meta file with -meta\n"),
        (("verifyMeta", "-meta"), 1, "verifyMeta: option -meta requires 1 argument.\n"),
        (("computeMeta", "-out", "x"), 2, "You must specify a block file with -block\n"),
        (
            ("computeMeta", "-block", "/nowhere/blk", "-out", "x"),
            3,
            "Block file </nowhere/blk> does not exist or is not a file\n",
        ),
        (
            ("recoverLease", "-retries", "2"),
            1,
            "You must supply a -path argument to recoverLease.\n",
        ),
        (
            ("recoverLease", "-path", "/a", "-retries", "x"),
            1,
            "Failed to parse the argument to -retries: 'x' is no number\n",
        ),
        (
            ("recoverLease", "-path", "file:///a"),
            1,
            "Invalid filesystem for path file:///a: needed scheme hdfs, but got: file\n",
        ),
    ],
)
def test_wrong_words_are_named(run: Run, words: tuple[str, ...], code: int, said: str) -> None:
    assert run(*words) == (code, "", said)


def test_without_a_command_the_usage_is_printed(run: Run) -> None:
    for words in ((), ("bogus",), ("help",), ("help", "bogus")):
        code, out, _ = run(*words)
        assert (code, out.startswith("Usage: howdah debug <command> [arguments]\n")) == (0, True)
    for words in (("-verifyMeta",), ("help", "verifyMeta")):
        code, out, _ = run(*words)
        assert out.startswith("verifyMeta -meta <metadata-file> [-block <block-file>]\n")
        assert code == (1 if len(words) == 1 else 0)


def test_recovery_is_tried_again_as_often_as_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answers() -> Iterator[bool]:
        yield False
        raise errors.Unreachable("nobody answers")

    monkeypatch.setattr(debug, "RETRY_S", 0)
    coming = answers()
    assert debug._recover(lambda: next(coming), "/a", 2) == 1
    assert capsys.readouterr().err == (
        "recoverLease returned false.\nRetrying in 0 ms...\nRetry #1\n"
        "recoverLease got exception: nobody answers\n"
        "Giving up on recoverLease for /a after 2 tries.\n"
    )
    coming = iter([False, True])
    assert debug._recover(lambda: next(coming), "/a", 2) == 0
    assert capsys.readouterr().out == "recoverLease SUCCEEDED on /a\n"
