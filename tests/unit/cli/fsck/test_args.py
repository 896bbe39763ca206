"""`howdah fsck`: its words, and what it makes of the namenode's text."""

from __future__ import annotations

import pytest

from howdah.cli.fsck.args import WrongWords, parse_words
from howdah.cli.fsck.result import as_json, exit_code, read_corrupt_page
from howdah.cli.main import main

ANN = (("ugi", "ann"),)


def test_options_become_parameters_in_their_order() -> None:
    wanted = parse_words(["/a b", "-files", "-blocks", "-replicaDetails"])
    assert wanted.target(ANN) == "/fsck?ugi=ann&files=1&blocks=1&replicadetails=1&path=%2Fa+b"
    assert parse_words([]).target(ANN) == "/fsck?ugi=ann&path=%2F"
    acting = parse_words([]).target((("ugi", "hive"), ("doas", "ann")))
    assert acting == "/fsck?ugi=hive&doas=ann&path=%2F"
    assert parse_words(["-files"]).target(()) == "/fsck?files=1&path=%2F"


def test_blocks_follow_their_option_up_to_the_next() -> None:
    wanted = parse_words(["-blockId", "blk_1", "blk_2", "-maintenance", "/a"])
    assert (wanted.block_ids, wanted.path) == (("blk_1", "blk_2"), "/a")
    assert wanted.target(ANN) == "/fsck?ugi=ann&maintenance=1&blockId=blk_1+blk_2+&path=%2Fa"


def test_the_namenode_is_not_asked_to_move_or_to_delete_what_is_to_be_moved() -> None:
    assert parse_words(["-move", "-delete"]).target(ANN) == "/fsck?ugi=ann&path=%2F"
    assert parse_words(["-delete"]).target(ANN) == "/fsck?ugi=ann&delete=1&path=%2F"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-bogus"], "Illegal option '-bogus'"),
        (["/a", "/b"], "can only operate on one path at a time '/b'"),
    ],
)
def test_wrong_words_are_named(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WrongWords):
        parse_words(words)
    assert main(["fsck", *words]) == 255
    assert capsys.readouterr().err.startswith(f"fsck: {problem}\nUsage: howdah fsck <path>")


def test_without_words_the_usage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fsck"]) == 255
    assert capsys.readouterr().err.startswith("Usage: howdah fsck <path>")
    assert main(["fsck", "-help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: howdah fsck <path>")


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ("The filesystem under path '/' is HEALTHY", 0),
        ("The filesystem under path '/' is CORRUPT", 1),
        ("Path '/x' does not exist", 0),
        ("Incorrect blockId format: x", 0),
        ("Block replica on datanode/rack: h/r is EXCESS", 0),
        ("Block replica on datanode/rack: h/r is DECOMMISSIONED", 2),
        ("Block replica on datanode/rack: h/r is DECOMMISSIONING", 3),
        ("Block replica on datanode/rack: h/r is IN MAINTENANCE", 4),
        ("Block replica on datanode/rack: h/r is ENTERING MAINTENANCE", 5),
        ("Block replica on datanode/rack: h/r is STALE", 6),
        ("Fsck on path '/' FAILED", 255),
    ],
)
def test_the_last_line_decides_the_exit_code(last: str, code: int) -> None:
    assert exit_code(f"something is CORRUPT\n{last}") == code


def test_no_text_is_no_health() -> None:
    assert exit_code("") == 1


def test_figures_and_complaints_are_told_apart() -> None:
    text = (
        "FSCK started by a (auth:SIMPLE) from /127.0.0.1 for path / at now\n\n..\n"
        "/f: MISSING 1 blocks of total size 10 B..\n"
        "Status: CORRUPT\n Number of data-nodes:\t2\n\nReplicated Blocks:\n Total size:\t5 B\n"
        "  UNDER MIN REPL'D BLOCKS:\t1 (50.0 %)\n  CORRUPT BLOCKS: \t1\n"
        " Average block replication:\t1.5\n\nErasure Coded Block Groups:\n Total size:\t0 B\n"
        "FSCK ended at now in 1 milliseconds\n\n\nThe filesystem under path '/' is CORRUPT"
    )
    assert as_json(text) == {
        "verdict": "The filesystem under path '/' is CORRUPT",
        "details": ["/f: MISSING 1 blocks of total size 10 B.."],
        "status": "CORRUPT",
        "Number of data-nodes": 2,
        "replicatedBlocks": {
            "Total size": 5,
            "UNDER MIN REPL'D BLOCKS": 1,
            "CORRUPT BLOCKS": 1,
            "Average block replication": 1.5,
        },
        "erasureCodedBlockGroups": {"Total size": 0},
    }


def test_a_page_of_corrupt_blocks_says_where_the_next_begins() -> None:
    page = read_corrupt_page(
        "FSCK started by a at now\nCookie:\t7\nblk_1\t2\t/a\n\n\n"
        "The filesystem under path '/' has 1 CORRUPT files\n\n"
    )
    assert (page.lines, page.seen, page.is_last) == (["blk_1\t2\t/a"], 7, False)
    assert read_corrupt_page("The filesystem under path '/' has no CORRUPT files").is_last
    assert read_corrupt_page("Access denied for user bob. More").is_denied
    assert read_corrupt_page("in standby\n\n\nFsck on path '/' FAILED").failure == "in standby"
    assert read_corrupt_page("Cookie:\tnone").is_last
