"""Words and output of `howdah balancer`."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.balancer.runner import Progress
from howdah.balancer.state.nodes import NodeLists
from howdah.balancer.state.termination import Result, Status
from howdah.balancer.state.utilization import Policy
from howdah.cli import balancer
from howdah.cli.balancer import mover
from howdah.cli.balancer.args import Wanted, WrongWords, parse_words
from howdah.cli.balancer.namespaces import paths_by_uri, uris
from howdah.cli.balancer.output import HEAD, Output, java_date, time_text
from howdah.cli.main import main
from howdah.config import Configuration


def test_without_words_the_defaults_are_hadoops() -> None:
    wanted = parse_words([])
    assert wanted == Wanted(Policy.DATANODE, 10.0, {}, frozenset(), 5)
    assert wanted.lists == NodeLists()


def test_every_word_is_understood_in_any_case(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("a b # c\n# d\n  e:9866\n")
    wanted = parse_words(
        [
            *("-Threshold", "5", "-policy", "BlockPool", "-include", "-f", str(hosts)),
            *("-source", "a,b", "-excludeTarget", "e:9866", "-blockpools", "BP-1,BP-2"),
            *("-idleiterations", "-1", "-runDuringUpgrade", "-asService", "-sortTopNodes"),
            *("-limitOverUtilizedNum", "3", "-hotBlockTimeInterval", "60000", "--json"),
        ]
    )
    assert wanted == Wanted(
        Policy.BLOCKPOOL,
        5.0,
        {
            "include": frozenset({"a", "b", "e:9866"}),
            "source": frozenset({"a", "b"}),
            "exclude target": frozenset({"e:9866"}),
        },
        frozenset({"BP-1", "BP-2"}),
        -1,
        True,
        True,
        True,
        3,
        60000,
        True,
    )
    assert wanted.lists == NodeLists(
        included=frozenset({"a", "b", "e:9866"}),
        sources=frozenset({"a", "b"}),
        excluded_targets=frozenset({"e:9866"}),
    )


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["-threshold"], "Threshold value is missing: args = "),
        (["-threshold", "0.5"], r"Expecting a number in the range of \[1.0, 100.0\]: 0.5"),
        (["-threshold", "nan"], r"range of \[1.0, 100.0\]: nan"),
        (["-threshold", "ten"], r"range of \[1.0, 100.0\]: ten"),
        (["-policy", "random"], "Illegal policy name: random"),
        (["-idleiterations", "x"], 'For input string: "x"'),
        (["-limitOverUtilizedNum", "-1"], "must be non-negative"),
        (["-exclude"], "List of exclude nodes | -f <filename> is missing"),
        (["-source", "-f"], "File containing source nodes is not specified"),
        (["-target", "-f", "/no/such/file"], "Failed to read target node list from file"),
        (["-include", "a", "-exclude", "b"], "-exclude and -include options cannot be"),
        (["-source", "a", "-excludeSource", "b"], "-excludeSource and -source options"),
        (["whatever"], "args = "),
    ],
)
def test_wrong_words_are_named(argv: list[str], complaint: str) -> None:
    with pytest.raises(WrongWords, match=complaint):
        parse_words(argv)


def test_wrong_words_have_their_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balancer", "-threshold", "200"]) == 251
    err = capsys.readouterr().err
    assert "range of [1.0, 100.0]: 200" in err
    assert "Usage: howdah balancer" in err


def test_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balancer", "-help"]) == 0
    assert "-hotBlockTimeInterval" in capsys.readouterr().out


def test_a_filesystem_without_datanodes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balancer", "-fs", "file:///"]) == 251
    assert "is no HDFS" in capsys.readouterr().out


def test_a_namenode_that_is_not_there_is_an_io_exception(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> Status:
        raise errors.Unreachable("nobody there")

    monkeypatch.setattr(balancer, "_balance", fails)
    assert balancer.main(["--json"], Configuration()) == 252
    said = json.loads(capsys.readouterr().out)
    assert (said["status"], said["exitCode"]) == ("IO_EXCEPTION", 252)
    assert "nobody there" in said["error"]


def test_a_service_goes_on_until_it_has_failed_too_often(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes: list[Status | errors.HowdahError] = [
        Status.SUCCESS,
        errors.Unreachable("away"),
        Status.NO_MOVE_PROGRESS,
        errors.Unreachable("away"),
        errors.Unreachable("away"),
    ]
    pauses: list[float] = []

    def run(*_: Any) -> Status:
        outcome = outcomes.pop(0)
        if isinstance(outcome, errors.HowdahError):
            raise outcome
        return outcome

    monkeypatch.setattr(balancer, "_balance", run)
    monkeypatch.setattr(time, "sleep", pauses.append)
    conf = Configuration(
        {
            "dfs.balancer.service.interval": "7s",
            "dfs.balancer.service.retries.on.exception": "1",
        }
    )
    assert balancer.main(["-asService"], conf) == 252
    assert pauses == [7.0] * 4
    assert "will wait for 7.0 seconds for next round" in capsys.readouterr().out


def test_spans_and_moments_are_written_as_hadoop_does() -> None:
    assert [time_text(ms) for ms in (812, 9500, 75_000, 5_400_000)] == [
        "812.0 milliseconds",
        "9.5 seconds",
        "1.25 minutes",
        "1.5 hours",
    ]
    assert java_date(datetime(2026, 11, 3, 0, 5, 9)) == "Nov 3, 2026, 12:05:09 AM"
    assert java_date(datetime(2026, 1, 23, 15, 26, 0)) == "Jan 23, 2026, 3:26:00 PM"


@pytest.mark.parametrize(
    ("now", "first_column"),
    [
        (datetime(2026, 11, 3, 9, 5, 9), "Nov 3, 2026, 9:05:09 AM           2"),
        # One character too long for the column, which goes on behind it, as in Java.
        (datetime(2026, 11, 23, 10, 15), "Nov 23, 2026, 10:15:00 AM          2"),
    ],
)
def test_the_table_has_hadoops_columns(
    capsys: pytest.CaptureFixture[str], now: datetime, first_column: str
) -> None:
    output = Output(is_json=False, now=lambda: now)
    output.head()
    output.iteration("hdfs://nn", Result(2, Status.NO_MOVE_BLOCK, 1 << 20, 0, 3 << 20, 7))
    output.progress(Progress(1, 1, 1, 1))
    output.end(Status.NO_MOVE_BLOCK)
    head, why, row, took = capsys.readouterr().out.splitlines()
    assert head == HEAD
    assert why == "No block can be moved. Exiting..."
    assert row == (
        first_column + "                 3 MB                1 MB                0 B"
        "                  7  hdfs://nn"
    )
    assert re.fullmatch(r"\w+ \d+, 2026, [\d:]+ AM +Balancing took [\d.]+ (milli)?seconds", took)


def test_json_has_an_object_for_each_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(is_json=True)
    output.head()
    output.iteration("hdfs://nn", Result(0, Status.SUCCESS, 0, 0, 5, 1))
    output.print_line("nothing of this")
    output.end(Status.SUCCESS)
    iteration, end = map(json.loads, capsys.readouterr().out.splitlines())
    assert iteration == {
        "iteration": 0,
        "namenode": "hdfs://nn",
        "status": "SUCCESS",
        "bytesAlreadyMoved": 5,
        "bytesLeftToMove": 0,
        "bytesBeingMoved": 0,
        "blocksMoved": 1,
    }
    assert (end["status"], end["exitCode"]) == ("SUCCESS", 0)


def test_all_nameservices_are_balanced_where_the_default_is_one_of_them() -> None:
    conf = {"dfs.nameservices": "one,two", "fs.defaultFS": "hdfs://two"}
    assert uris(Configuration(conf)) == ["hdfs://one", "hdfs://two"]
    conf["fs.defaultFS"] = "viewfs://all/"
    assert uris(Configuration(conf)) == ["hdfs://one", "hdfs://two"]
    conf["fs.defaultFS"] = "hdfs://elsewhere:8020"
    assert uris(Configuration(conf)) == ["hdfs://elsewhere:8020"]


# --- the mover ---


def test_the_mover_looks_at_everything_unless_paths_are_named(tmp_path: Path) -> None:
    paths = tmp_path / "paths"
    paths.write_text("/a\n/b\n")
    assert mover.parse_words([]) == []
    assert mover.parse_words(["-p", "/a", "/b"]) == ["/a", "/b"]
    assert mover.parse_words(["-f", str(paths)]) == ["/a", "/b"]


SEVERAL = {"dfs.nameservices": "one,two", "fs.defaultFS": "hdfs://one"}


def test_the_mover_works_on_all_nameservices_or_on_those_of_its_paths() -> None:
    conf = Configuration(SEVERAL)
    assert paths_by_uri(conf, []) == {"hdfs://one": ["/"], "hdfs://two": ["/"]}
    paths = ["hdfs://two/a", "hdfs://one/b", "hdfs://two/c"]
    assert paths_by_uri(conf, paths) == {"hdfs://two": ["/a", "/c"], "hdfs://one": ["/b"]}
    alone = Configuration({"fs.defaultFS": "hdfs://host:8020"})
    assert paths_by_uri(alone, ["/a", "hdfs://host:8020/b"]) == {"hdfs://host:8020": ["/a", "/b"]}


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/a", "does not contain scheme and authority thus cannot identify its name service"),
        ("hdfs://three/a", "Cannot resolve the path hdfs://three/a"),
        ("hdfs://two", "is not absolute"),
    ],
)
def test_a_path_of_the_mover_says_of_which_nameservice_it_is(path: str, complaint: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=complaint):
        paths_by_uri(Configuration(SEVERAL), [path])


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["/a"], "args = "),
        (["-p"], "args = "),
        (["-p", "a"], "The path a is not absolute"),
        (["-f", "/no/such/file"], "Failed to read the list of paths"),
    ],
)
def test_wrong_words_of_the_mover_are_named(
    argv: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mover", *argv]) == 251
    assert complaint in capsys.readouterr().err


def test_the_mover_wants_an_hdfs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mover", "-fs", "file:///"]) == 251
    out = capsys.readouterr().out
    assert "is no HDFS" in out
    assert "Mover took" in out
    assert main(["mover", "-help"]) == 0
