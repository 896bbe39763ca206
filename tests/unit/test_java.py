from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from howdah import java
from howdah.testing import java as former


def make_java(
    home: Path, version: str, modules: str | None = "java.base jdk.incubator.vector"
) -> Path:
    """A Java that says its arguments, one a line."""
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    if modules is None:
        script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    else:
        script.write_text('#!/bin/sh\nfor a do echo "$a"; done\n')
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    script.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def _no_other_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_HOMES", ())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("25", 25), ("1.8.0_402", 8), ("21-ea", 21)]
)
def test_version_is_read_from_the_release_file(tmp_path: Path, version: str, major: int) -> None:
    assert java.java_version(make_java(tmp_path / "j", version)) == major


def test_version_is_asked_for_where_there_is_no_release_file(tmp_path: Path) -> None:
    assert java.java_version(make_java(tmp_path / "j", "17.0.1", modules=None)) == 17


def test_directory_without_java_has_no_version(tmp_path: Path) -> None:
    assert java.java_version(tmp_path) is None


def test_java_home_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_java(tmp_path / "j", "17")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java_home() == home


def test_old_java_home_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "11.0.2")))
    make_java(tmp_path / "all" / "new", "21")
    monkeypatch.setattr(java, "_HOMES", (f"{tmp_path}/all/*",))
    assert java.find_java_home() == tmp_path / "all" / "new"


def test_no_java_says_what_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "11.0.2")))
    with pytest.raises(java.NoJava, match=r"old \(Java 11\)"):
        java.find_java_home()


def test_java_on_the_path_is_followed_to_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_java(tmp_path / "j", "17")
    link = tmp_path / "java"
    link.symlink_to(home / "bin" / "java")
    monkeypatch.setattr(shutil, "which", lambda name: str(link))
    assert java.find_java_home() == home


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home that is made for a Java without the module that Spark asks for."""
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "j 1", "25", modules="java.base")))
    return java.find_java_home(tmp_path / "made")


def test_home_is_made_for_a_java_that_lacks_the_module(tmp_path: Path, made: Path) -> None:
    assert made == tmp_path / "made"
    assert os.access(made / "bin" / "java", os.X_OK)


def test_made_java_drops_the_module_and_keeps_the_rest(made: Path) -> None:
    arguments = ["-cp", "a b:c*", f"--add-modules={java.SPARK_MODULE}", "--add-modules=x", ""]
    said = subprocess.run(
        [made / "bin" / "java", *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout == "-cp\na b:c*\n--add-modules=x\n\n"


def test_made_home_is_used_again(tmp_path: Path, made: Path) -> None:
    before = (made / "bin" / "java").stat().st_mtime_ns
    assert java.find_java_home(tmp_path / "made") == made
    assert (made / "bin" / "java").stat().st_mtime_ns == before


def test_former_name_still_works() -> None:
    assert former.find_java_home is java.find_java_home
    assert former.NoJava is java.NoJava
