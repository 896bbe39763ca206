"""The words of `howdah diskbalancer`, and plans for a cluster that a file tells of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howdah.cli.diskbalancer.args import COMMANDS, WrongWords, help_of, parse_words
from howdah.cli.main import main
from howdah.diskbalancer.plan_files import before_text, parse_plan
from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet

GIB = 1 << 30


def test_options_have_one_hyphen_or_two_and_any_order() -> None:
    asked = parse_words(["-out", "/d", "--bandwidth", "7", "--plan", "host", "-v", "--json"])
    assert (asked.command, asked.value, asked.json) == ("plan", "host", True)
    assert asked.options == {"out": "/d", "bandwidth": "7", "plan": "host", "v": ""}
    assert asked.number("bandwidth", int) == 7
    assert asked.number("maxerror", int) is None


def test_a_number_that_is_none_is_said_to_be_that() -> None:
    with pytest.raises(WrongWords, match='For input string: "many"'):
        parse_words(["-plan", "host", "-bandwidth", "many"]).number("bandwidth", int)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-nonsense"], "Unrecognized option: -nonsense"),
        (["-plan"], "Missing argument for option: plan"),
        (["-query", "-v"], "Missing argument for option: query"),
        (["-report", "a", "b", "c"], r"Invalid or extra Arguments: \[c\]"),
        (["-plan", "h", "-top", "3"], "Invalid argument found for command plan : top"),
        (["-execute", "f", "-v"], "Valid arguments are : \n\t execute : Executes a given plan."),
        (["-query", "h", "-help"], "Invalid argument found for command help : query"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], why: str) -> None:
    with pytest.raises(WrongWords, match=why):
        parse_words(words)


def test_each_command_has_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert len({help_of(name) for name in COMMANDS}) == len(COMMANDS)
    assert main(["diskbalancer", "-help", "PLAN"]) == 0
    assert "usage: howdah diskbalancer -plan <hostname>" in capsys.readouterr().out
    assert main(["diskbalancer", "-help"]) == 0
    assert main(["diskbalancer"]) == 1
    assert capsys.readouterr().out.count("Usage: howdah diskbalancer") == 2


# --- a cluster that a file tells of ---


@pytest.fixture
def cluster(tmp_path: Path) -> list[str]:
    volumes = [
        DiskVolume(f"DS-{number}", "DISK", 100 * GIB, used * GIB, f"/d{number}")
        for number, used in enumerate((80, 20))
    ]
    nodes = [
        DiskNode("u0", "10.0.0.1", "even", 9867, ()),
        DiskNode("u1", "10.0.0.2", "uneven", 9867, (VolumeSet.of("set", "DISK", volumes),)),
    ]
    file = tmp_path / "cluster.json"
    file.write_text(before_text(nodes))
    return ["diskbalancer", "-fs", f"file://{file}"]


def test_a_plan_is_written_where_it_is_said(
    cluster: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plans"
    assert main([*cluster, "-plan", "UNEVEN", "-out", str(out), "-bandwidth", "7"]) == 0
    assert capsys.readouterr().out == f"Writing plan to:\n{out}/UNEVEN.plan.json\n"
    (step,) = parse_plan((out / "UNEVEN.plan.json").read_text()).steps
    assert (step.bytes_to_move, step.bandwidth_mib) == (30 * GIB, 7)
    assert (out / "UNEVEN.before.json").exists()
    assert main([*cluster, "-plan", "UNEVEN", "-out", str(out)]) == 1
    assert "Another DiskBalancer files already exist" in capsys.readouterr().err


def test_without_a_directory_it_is_one_for_this_moment(
    cluster: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*cluster, "-plan", "u1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    plan = Path(told["plan_file"])
    assert plan.parents[1] == tmp_path / "system" / "diskbalancer"
    assert plan.name == "u1.plan.json"
    assert told["steps"] == [
        {
            "source": "/d0",
            "destination": "/d1",
            "storage_type": "DISK",
            "bytes": 30 * GIB,
            "bandwidth_mib_per_s": None,
            "max_errors": None,
        }
    ]


def test_a_threshold_that_means_nothing_is_the_configured_one(
    cluster: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-D", "dfs.disk.balancer.plan.threshold.percent=50", "-plan", "uneven"]
    words += ["-thresholdPercentage", "101", "-out", f"{tmp_path}/plans"]
    assert main([*cluster, *words]) == 0
    assert capsys.readouterr().out == (
        "No plan generated. DiskBalancing not needed for node: uneven threshold used: 50.0\n"
    )
    assert [path.name for path in (tmp_path / "plans").glob("*.json")] == ["uneven.before.json"]


def test_the_most_uneven_are_listed_first(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*cluster, "-report", "-top", "1"]) == 0
    said = capsys.readouterr().out
    assert "1/1 uneven[10.0.0.2:9867] - <u1>: 2 volumes with node data density 0.60." in said
    assert main([*cluster, "-report", "-top", "0"]) == 1
    assert "should be a positive numeric value" in capsys.readouterr().err
    assert main([*cluster, "-report", "--json"]) == 0
    assert [node["node"] for node in json.loads(capsys.readouterr().out)] == ["uneven", "even"]


def test_datanodes_may_be_named_in_a_file(
    cluster: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("uneven  # the new one\n10.0.0.1\n")
    assert main([*cluster, "-report", "-node", f"file://{hosts}", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert main([*cluster, "-report", "-node", "file:///nowhere"]) == 1
    assert "is not a valid path" in capsys.readouterr().err
    assert main([*cluster, "-report", "-node", "nobody", "--json"]) == 1
    assert "The node(s) 'nobody' not found." in capsys.readouterr().err


def test_a_cluster_or_a_plan_that_cannot_be_read_is_a_failure(
    cluster: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diskbalancer", "-fs", "file:///nowhere", "-report"]) == 1
    assert "the cluster's file file:///nowhere cannot be read" in capsys.readouterr().err
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{")
    assert main([*cluster, "-execute", str(wrong)]) == 1
    assert "this is no JSON" in capsys.readouterr().err
    assert main([*cluster, "-cancel", "0" * 40, "-node", "host"]) == 1
    assert "Does not contain a valid host:port authority: host" in capsys.readouterr().err
    assert main([*cluster, "-query", ","]) == 1
    assert "The number of input nodes is 0" in capsys.readouterr().err
