"""`howdah distcp`, as far as it needs no Spark."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from howdah.cli import distcp
from howdah.config import Configuration


def test_copy_in_the_background_is_the_same_command_without_async(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    started: list[list[str]] = []

    class Process:
        pid = 4711

        def __init__(self, command: list[str], **_: Any) -> None:
            started.append(command)

    monkeypatch.setattr(subprocess, "Popen", Process)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    conf = Configuration({"fs.defaultFS": "hdfs://a:1"})
    assert distcp.main(["-async", "-update", "/a", "/b"], conf) == 0
    assert started[0][1:] == [
        *("-m", "howdah", "distcp"),
        *("-Dfs.defaultFS=hdfs://a:1", "-update", "/a", "/b"),
    ]
    assert capsys.readouterr().out.startswith("DistCp runs as process 4711, and says how it goes")
    # `b` is no target: with -delete it would lose what it has.
    assert distcp.main(["--async", "-update", "a", "b", "async"], conf) == 0
    assert started[1][-4:] == ["-update", "a", "b", "async"]


def test_secrets_are_no_words_of_the_copy_in_the_background(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = subprocess.Popen
    told = tmp_path / "told"
    program = (
        "import sys, pathlib; from howdah.cli.arguments.generic import GenericOptions;"
        "options, rest = GenericOptions.take_leading(sys.argv[2:]);"
        "conf = options.configuration(environment=False);"
        f"pathlib.Path({str(told)!r}).write_text("
        "f\"{conf.raw('fs.s3a.secret.key')} {conf.raw('fs.defaultFS')} {rest}\")"
    )
    words: list[str] = []

    def begin(command: list[str], **more: Any) -> Any:
        words.extend(command)
        process = real([command[0], "-c", program, *command[3:]], **more)
        process.wait()
        return process

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    conf = Configuration({"fs.defaultFS": "hdfs://a:1", "fs.s3a.secret.key": "open & sesame"})
    assert distcp.main(["-async", "/a", "/b"], conf) == 0
    assert "sesame" not in str(words)
    assert told.read_text() == "open & sesame hdfs://a:1 ['/a', '/b']"
