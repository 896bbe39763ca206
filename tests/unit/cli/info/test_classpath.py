"""`howdah classpath`: the directory of the configuration, as text or as a jar."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from howdah.cli.main import main

SHOW = """\
public class Show {
  public static void main(String[] names) {
    System.out.print(Show.class.getClassLoader().getResource("core-site.xml"));
  }
}
"""


@pytest.fixture
def conf_dir(tmp_path: Path) -> Path:
    # A name that has to be quoted, in a path that is too long for one line of a manifest.
    directory = tmp_path / ("a conf" * 20)
    directory.mkdir()
    (directory / "core-site.xml").write_text("<configuration/>")
    return directory


@pytest.mark.parametrize("words", [[], ["--glob"], ["-glob"]])
def test_the_directory_of_the_configuration_is_printed(
    conf_dir: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--conf", str(conf_dir), "classpath", *words]) == 0
    assert capsys.readouterr().out == f"{conf_dir}\n"


def test_it_is_taken_from_the_environment_and_made_absolute(
    conf_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(conf_dir.parent)
    monkeypatch.setenv("HADOOP_CONF_DIR", conf_dir.name)
    assert main(["classpath"]) == 0
    assert capsys.readouterr().out == f"{conf_dir}\n"


def test_java_finds_the_configuration_by_the_jar(conf_dir: Path, tmp_path: Path) -> None:
    jar = tmp_path / "conf.jar"
    assert main(["--conf", str(conf_dir), "classpath", "--jar", str(jar)]) == 0
    with zipfile.ZipFile(jar) as written:
        manifest = written.read("META-INF/MANIFEST.MF")
    assert all(len(line) <= 70 for line in manifest.split(b"\r\n"))
    assert b"a%20conf" in manifest.replace(b"\r\n ", b"")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    (tmp_path / "Show.java").write_text(SHOW)
    told = subprocess.run(
        ["java", "-cp", str(jar), str(tmp_path / "Show.java")],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert told.stdout.endswith("/core-site.xml")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--jar"], "-jar option requires path of jar file to write"),
        (["--other"], "unrecognized option"),
    ],
)
def test_wrong_words_are_failures(
    conf_dir: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--conf", str(conf_dir), "classpath", *words]) == 1
    assert capsys.readouterr() == ("", f"classpath: {why}\n")


def test_without_a_directory_there_is_nothing_to_print(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert main(["classpath"]) == 1
    assert "there is no configuration directory" in capsys.readouterr().err


def test_help_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classpath", "--help"]) == 0
    assert capsys.readouterr().out.startswith("classpath [--glob|--jar <path>|-h|--help] :\n")
