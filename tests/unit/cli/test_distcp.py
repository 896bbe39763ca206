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
