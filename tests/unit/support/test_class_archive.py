"""The archive of Hadoop's classes: which one is meant, and what goes into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hadoop import java
from tests.support.hadoop.class_archive import merge
from tests.support.hadoop.java import archive_path, hadoop_java


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "release").write_text('JAVA_VERSION="17.0.1"\n')
    monkeypatch.setattr(java, "find_java_home", lambda: tmp_path / "home")
    return f"{tmp_path}/jars/*"


def test_a_class_is_once_in_the_list_and_none_is_there_by_half() -> None:
    assert merge(["a\nb\n", "b\nc\nd"]) == "a\nb\nc\n"
    assert merge(["", "a"]) == ""


def test_directories_come_after_the_jars_and_the_archive_is_used_once_it_is_there(
    jars: str, tmp_path: Path
) -> None:
    archive = archive_path(jars)
    assert archive is not None
    option = f"-XX:SharedArchiveFile={archive}"
    command = hadoop_java(jars, tmp_path / "conf", memory="1g", options=["-Dx=y"])
    assert command[0] == f"{tmp_path}/home/bin/java"
    assert command[-4:] == ["-Xmx1g", "-Dx=y", "-cp", f"{jars}:{tmp_path}/conf"]
    assert option not in command
    archive.touch()
    assert option in hadoop_java(jars)


def test_other_jars_have_another_archive_and_hard_links_to_them_the_same(
    jars: str, tmp_path: Path
) -> None:
    jar, link = tmp_path / "jars" / "a.jar", tmp_path / "links" / "jars" / "a.jar"
    for path in (jar, link):
        path.parent.mkdir(parents=True)
    jar.write_bytes(b"1")
    link.hardlink_to(jar)
    before, linked = archive_path(jars), archive_path(f"{link.parent}/*")
    assert before is not None
    assert linked is not None
    assert before.name == linked.name
    jar.unlink()
    jar.write_bytes(b"22")
    assert archive_path(jars) != before


def test_another_java_has_another_archive(jars: str, tmp_path: Path) -> None:
    before = archive_path(jars)
    (tmp_path / "home" / "release").write_text('JAVA_VERSION="17.0.2"\n')
    assert archive_path(jars) not in (None, before)


def test_jars_that_are_elsewhere_have_none() -> None:
    assert archive_path("/a.jar:/b.jar") is None
