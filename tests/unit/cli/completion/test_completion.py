"""The scripts that complete howdah's command line, and the paths that they ask for."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.cli.completion.candidates import lines, options_of
from howdah.cli.completion.remote import candidates
from howdah.cli.completion.scripts import SCRIPTS
from howdah.cli.dfs.shell import registry
from howdah.cli.main import COMMANDS, main
from howdah.config import Configuration

# -- what may stand where -------------------------------------------------------------


def test_every_command_is_completed_and_none_that_is_missing() -> None:
    assert set(lines()) == {name for name, command in COMMANDS.items() if command.target}
    assert set(lines()["dfs"].sub_commands) == {f"-{name}" for name in registry.COMMANDS}


@pytest.mark.parametrize(
    ("synopsis", "options"),
    [
        ("[-f] [-r|-R] [-skipTrash] <src> ...", ("-f", "-r", "-R", "-skipTrash")),
        ("-[defswrz] <path>", ("-d", "-e", "-f", "-s", "-w", "-r", "-z")),
        ("[-p | -p[topax]] <a-b> ...", ("-p",)),
        ("[--ignore-fail-on-non-empty] <dir>", ("--ignore-fail-on-non-empty",)),
        ("<comma-separated list of hosts>", ()),
    ],
)
def test_options_are_those_of_the_synopsis(synopsis: str, options: tuple[str, ...]) -> None:
    assert options_of(synopsis) == options


def test_both_sides_of_a_copy_are_completed() -> None:
    put, ls = (lines()["dfs"].sub_commands[name] for name in ("-put", "-ls"))
    assert (put.local, put.remote) == (True, True)
    assert (ls.local, ls.remote) == (False, True)


# -- scripts --------------------------------------------------------------------------


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_shell_can_read_its_script(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    program = shell(name)
    script.write_text(SCRIPTS[name](lines()))
    read = subprocess.run(
        [program, "-n", str(script)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (read.returncode, read.stderr) == (0, "")


def completed(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers for the last of `words`; `howdah` is a script that notes its words."""
    program = shell("bash")
    fake = tmp_path / "howdah"
    fake.write_text('#!/bin/sh\nfor word do printf "<%s>" "$word"; done\necho\necho /data/\n')
    fake.chmod(0o755)
    (tmp_path / "script").write_text(SCRIPTS["bash"](lines()))
    asked = (
        'source ./script\nCOMP_WORDS=("$@")\nCOMP_CWORD=$(($# - 1))\n_howdah\n'
        '[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    run = subprocess.run(
        [program, "--norc", "-c", asked, "bash", str(fake), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stderr == ""
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["dfsa"], ["dfsadmin"]),
        (["dfs", "-tou"], ["-touch", "-touchz"]),
        (["-D", "a=1", "--conf", "/etc", "dfs", "-fs", "hdfs://h", "-mkd"], ["-mkdir"]),
        (["-D", "a", "=", "1", "-fs", "hdfs", ":", "//h", ":", "1", "dfs", "-mkd"], ["-mkdir"]),
        (["dfs", "-rm", "-skip"], ["-skipTrash"]),
        (["dfs", "-rm", "-r", "-safe"], ["-safely"]),
        (["dfsadmin", "-safemode", "force"], ["forceExit"]),
        (["haadmin", "-failover", "--forcef"], ["--forcefence"]),
        (["fsck", "-list"], ["-list-corruptfileblocks"]),
        (["completion", "z"], ["zsh"]),
        (["nonsense", ""], []),
        (["dfs", "-ls", "hdfs", ":", "//h"], []),
    ],
)
def test_bash_completes_words(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    assert completed(tmp_path, *words) == offered


def test_bash_asks_the_same_cluster_for_paths(tmp_path: Path) -> None:
    asked, path = completed(tmp_path, "--conf", "/etc/c", "-D", "a", "=", "1", "dfs", "-ls", "/d")
    assert asked == "<completion><--conf></etc/c><-D><a=1><--path></d>"
    assert path == "/data/"


def test_bash_completes_files_of_both_sides_for_a_copy(tmp_path: Path) -> None:
    (tmp_path / "local file").touch()
    assert completed(tmp_path, "dfs", "-put", "local")[0] == "local file"
    assert "/data/" in completed(tmp_path, "dfs", "-put", "local")


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 255
    assert "bash|zsh|fish" in capsys.readouterr().err


# -- paths ----------------------------------------------------------------------------


@pytest.fixture
def files(fs: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(howdah, "connect", lambda *, conf: fs)
    fs.fill("/data/one", b"")
    fs.fill("/data/two/three", b"")
    fs.fill("/data/two\nlines", b"")
    fs.fill("/user/me/mine", b"")
    return fs


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("/da", ["/data/"]),
        ("/data/", ["/data/one", "/data/two/"]),
        ("/data/t", ["/data/two/"]),
        ("mi", ["mine"]),
        ("/nothing/x", []),
    ],
)
def test_paths_are_the_entries_of_one_directory(files: Any, typed: str, found: list[str]) -> None:
    assert candidates(typed, Configuration({})) == found


def test_without_a_cluster_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*, conf: Configuration) -> None:
        raise errors.Unreachable("nobody is there")

    monkeypatch.setattr(howdah, "connect", refuse)
    assert main(["completion", "--path", "/"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_cluster_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()

    def hang(*, conf: Configuration) -> None:
        answers.wait()
        raise errors.Unreachable("nobody is there")

    monkeypatch.setattr(howdah, "connect", hang)
    try:
        assert candidates("/", Configuration({}), timeout_s=0.01) == []
    finally:
        answers.set()


def test_listing_paths_loads_none_of_the_tables() -> None:
    code = """
import sys
from howdah.cli.main import main
main(["completion", "-fs", "file:///", "--path", "/nothing/"])
print([m for m in sys.modules if m.endswith((".completion.words", ".cli.dfsadmin"))])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


def test_commands_with_a_parser_of_their_own_are_completed_too() -> None:
    found = lines()
    assert {"--machines", "--zookeeper"} <= set(found["init"].place.words)
    assert {"--role", "--json"} <= set(found["doctor"].place.words)
    assert {"-delete", "-bandwidth", "--dry-run"} <= set(found["sync"].place.words)
    assert found["sync"].place.remote
    assert {"--read-only", "--allow-other", "-o"} <= set(found["mount"].place.words)
    assert found["umount"].place.local
