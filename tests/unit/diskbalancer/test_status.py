"""What a datanode tells of its plan, as it crosses the wire."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.diskbalancer.status import WorkEntry, parse_state, state_text

HADOOPS = """\
[ {
  "sourcePath" : "/a",
  "destPath" : "/b",
  "workItem" : {
    "bytesToCopy" : 100
  }
}, {
  "sourcePath" : "/a",
  "destPath" : "/b",
  "workItem" : {
    "startTime" : 5,
    "secondsElapsed" : 7,
    "bytesToCopy" : 100,
    "bytesCopied" : 20,
    "errorCount" : 1,
    "errMsg" : "x",
    "blocksCopied" : 1,
    "maxDiskErrors" : 8,
    "tolerancePercent" : 9,
    "bandwidth" : 3
  }
} ]"""


def test_states_of_hadoops_are_read_and_written_again_to_the_character() -> None:
    entries = parse_state(HADOOPS)
    assert entries[0] == WorkEntry("/a", "/b", 100)
    assert (entries[1].bytes_copied, entries[1].error) == (20, "x")
    assert state_text(entries) == HADOOPS


def test_no_moves_are_an_empty_list() -> None:
    assert state_text([]) == "[ ]"
    assert parse_state("") == parse_state("[ ]") == ()


@pytest.mark.parametrize(
    "wrong",
    ["{", "7", "[7]", "[{}]", '[{"sourcePath":"a","destPath":"b","workItem":7}]', "[" * 9999],
)
def test_what_cannot_be_read_is_said_to_be_that(wrong: str) -> None:
    with pytest.raises(errors.ProtocolViolation, match="cannot be read"):
        parse_state(wrong)
