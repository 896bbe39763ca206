from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.hadoop import java, programs
from tests.support.hadoop.programs import hadoop_program


def test_a_program_is_run_from_its_classes_behind_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Sequence[Path], str, Path]] = []

    def compiled(sources: Sequence[Path], class_path: str, cache: Path) -> Path:
        asked.append((sources, class_path, cache))
        return cache / "classes"

    monkeypatch.setattr(java, "find_java_home", lambda: tmp_path / "home")
    monkeypatch.setattr(programs, "compiled", compiled)
    source, jars, conf = tmp_path / "Program.java", f"{tmp_path}/jars/*", tmp_path / "conf"
    command = hadoop_program(source, jars, conf, memory="1g", options=["-Dx=y"], cache=tmp_path)
    assert asked == [([source], jars, tmp_path)]
    # An archive of classes wants the jars first.
    classes = f"{jars}:{conf}:{tmp_path}/classes"
    assert command[-5:] == ["-Xmx1g", "-Dx=y", "-cp", classes, "Program"]
