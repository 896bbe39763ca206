"""The arguments of `howdah mirror`, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howdah.cli import mirror
from howdah.cli.main import main
from howdah.copy.options import attributes


@pytest.mark.parametrize(
    ("text", "size"), [("5", 5), ("500m", 500 << 20), ("10G", 10 << 30), ("1t", 1 << 40)]
)
def test_sizes(text: str, size: int) -> None:
    options = mirror.arguments().parse_args(["--spark-above", text, "a", "b"])
    assert options.spark_above == size


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--interval", "0", "a", "b"], "'0' is not above 0"),
        (["--bandwidth", "fast", "a", "b"], "'fast' is no number"),
        (["--keep", "0", "a", "b"], "'0' is no number above 0"),
        (["--spark-above", "10x", "a", "b"], "'10x' is no size such as 500m or 10g"),
        (["--http", "no port", "a", "b"], "'no port'"),
        (["-p", "q", "file:///a", "file:///b"], "No attribute for q"),
        (["a"], "required: TARGET"),
        (["verify"], "required: TARGET"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mirror", *words]) == 255
    assert says in capsys.readouterr().err


def test_settings_are_those_of_the_options() -> None:
    words = ["--keep", "7", "--adopt", "-p", "ug", "--bandwidth", "2.5", "-m", "3", "a", "b"]
    settings = mirror.settings_of(mirror.arguments().parse_args(words))
    assert (settings.wanted.keep, settings.wanted.adopts, settings.wanted.reverts) == (
        7,
        True,
        False,
    )
    assert settings.preserve == attributes("ug")
    assert (settings.bandwidth_mb, settings.processes) == (2.5, 3)


def test_a_source_without_snapshots_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "src", tmp_path / "dst"
    source.mkdir()
    assert main(["mirror", "--once", source.as_uri(), target.as_uri()]) == 1
    assert f"{source.as_uri()} has no snapshots" in capsys.readouterr().err
    assert not target.exists()
    for command in ("status", "promote", "verify"):
        assert main(["mirror", command, target.as_uri()]) == 1
        assert "is not the target of a mirror: it has no state file" in capsys.readouterr().err
    assert main(["mirror", "--once", source.as_uri(), f"{source.as_uri()}/below"]) == 1
    assert "must not be parts of each other" in capsys.readouterr().err


def test_status_of_a_promoted_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from howdah.mirror.state.names import key_of, name_at
    from howdah.mirror.state.record import Record

    target = tmp_path / "dst"
    target.mkdir()
    source = f"file://{tmp_path}/gone"
    key = key_of(source, target.as_uri())
    record = Record(key, source, target.as_uri(), complete=name_at(key, 1000))
    (tmp_path / ".howdah.mirror.dst").write_bytes(record.to_json())
    assert main(["mirror", "promote", "--json", target.as_uri()]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["epoch"], done["was_source"]) == (1, False)
    assert main(["mirror", "promote", target.as_uri()]) == 0
    assert "is a source already" in capsys.readouterr().out
    assert main(["mirror", "status", target.as_uri()]) == 0
    said = capsys.readouterr().out
    assert "the target was promoted (epoch 1): it is a source" in said
    assert "no mirror runs" in said
    assert main(["mirror", "status", "--json", target.as_uri()]) == 0
    assert json.loads(capsys.readouterr().out)["role"] == "source"
