from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from howdah import __version__
from howdah.cli.arguments.generic import GenericOptions
from howdah.cli.arguments.usage import EXIT_BROKEN_PIPE, UsageError
from howdah.cli.main import COMMANDS, Command, main
from howdah.config import Configuration
from howdah.errors import PathNotFound


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], Configuration]]:
    """What the command `probe` (options anywhere) or `early` (options first) was given."""
    calls: list[tuple[list[str], Configuration]] = []

    def run(argv: list[str], conf: Configuration) -> int:
        calls.append((argv, conf))
        return 7

    module = ModuleType("probe_module")
    monkeypatch.setattr(module, "run", run, raising=False)
    monkeypatch.setitem(sys.modules, "probe_module", module)
    monkeypatch.setitem(COMMANDS, "probe", Command("", "probe_module:run"))
    monkeypatch.setitem(COMMANDS, "early", Command("", "probe_module:run", False))
    return calls


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(argv: list[str], conf: Configuration) -> int:
        raise error

    module = ModuleType("failing_module")
    monkeypatch.setattr(module, "run", run, raising=False)
    monkeypatch.setitem(sys.modules, "failing_module", module)
    monkeypatch.setitem(COMMANDS, "probe", Command("", "failing_module:run"))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("a reason"), "a reason"),
    ],
)
def test_what_the_system_refuses_is_one_line(
    error: OSError, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, error)
    assert main(["probe"]) == 1
    assert capsys.readouterr().err == f"howdah probe: {told}\n"


@pytest.mark.parametrize(
    "arguments",
    [["up", "--dir", "/proc/x"], ["namenode", "-format", "-D", "dfs.namenode.name.dir=/proc/x"]],
)
def test_a_directory_that_cannot_be_made_is_one_line(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    # Where the limit is low, a server first logs that it has raised its own.
    lines = [line for line in capfd.readouterr().err.splitlines() if "soft limit" not in line]
    assert lines == [f"howdah {arguments[0]}: /proc/x: No such file or directory"]


# -- commands -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, c in COMMANDS.items() if c.target])
def test_every_command_is_there(name: str) -> None:
    target = COMMANDS[name].target
    assert target is not None
    module, _, function = target.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_exit_code_is_the_commands(seen: list[tuple[list[str], Configuration]]) -> None:
    assert main(["probe"]) == 7


def test_command_gets_its_arguments(seen: list[tuple[list[str], Configuration]]) -> None:
    main(["probe", "-a", "b"])
    assert seen[0][0] == ["-a", "b"]


def test_unknown_command_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 1
    assert "there is no command 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("dsf", "did you mean dfs?"),
        ("DFSAdmin", "did you mean dfsadmin"),
        ("balacner", "did you mean balancer"),
        ("ls", "did you mean dfs -ls?"),
        ("-ls", "did you mean howdah dfs -ls?"),
        ("-mkdir", "did you mean howdah dfs -mkdir?"),
        ("--cnf", "did you mean --conf?"),
        ("zzz", ""),
    ],
)
def test_a_mistyped_command_gets_two_lines_and_a_guess(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([typed, "/"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    first, second = told.err.splitlines()
    assert typed in first
    assert meant in first
    assert ("did you mean" in first) == bool(meant)
    assert second == "`howdah help` lists all commands"


def test_unknown_option_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nonsense"]) == 1
    assert "there is no option --nonsense" in capsys.readouterr().err


def test_planned_command_says_that_it_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["portmap", "/"]) == 255
    assert capsys.readouterr().err == "howdah: portmap is not available yet\n"


def test_no_command_shows_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert "Usage: howdah" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_the_commands(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"howdah {__version__}\n"


def test_version_says_what_is_native_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOWDAH_COMPILED", "off")
    assert main(["version", "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"howdah {__version__}, Python ")
    assert lines[1].startswith(("kernel: revision ", "kernel: its twins in Python run"))
    assert lines[2] == "hot modules of a namenode: the sources run: HOWDAH_COMPILED=off is set"


# -- errors -------------------------------------------------------------------------


def test_error_of_ours_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, PathNotFound("File does not exist: /x"))
    assert main(["probe"]) == 1
    assert capsys.readouterr().err == "howdah probe: File does not exist: /x\n"


def test_wrong_usage_is_hadoops_minus_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, UsageError("what is -q?"))
    assert main(["probe"]) == 255
    assert capsys.readouterr().err == "howdah probe: what is -q?\n"


def test_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["probe"]) == 130


def test_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nowhere:
        run = subprocess.run(
            [sys.executable, "-m", "howdah", "help"],
            stdout=nowhere,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert run.stderr == b""
    assert run.returncode == EXIT_BROKEN_PIPE


# -- options that every command knows -------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["-D", "a=1", "probe", "x"],
        ["-Da=1", "probe", "x"],
        ["probe", "-D", "a=1", "x"],
        ["probe", "x", "-D", "a=1"],
        ["-D", "a=0", "probe", "x", "-D", "a=1"],
    ],
)
def test_values_may_stand_anywhere(
    arguments: list[str], seen: list[tuple[list[str], Configuration]]
) -> None:
    main(arguments)
    argv, conf = seen[0]
    assert (argv, conf.raw("a")) == (["x"], "1")


def test_values_after_the_first_argument_are_left_to_dfs(
    seen: list[tuple[list[str], Configuration]],
) -> None:
    main(["early", "-D", "a=1", "-put", "-D", "b=2"])
    argv, conf = seen[0]
    assert argv == ["-put", "-D", "b=2"]
    assert conf.raw("b") is None


def test_filesystem_is_the_default_one(seen: list[tuple[list[str], Configuration]]) -> None:
    main(["probe", "-fs", "hdfs://h:1"])
    assert seen[0][1].raw("fs.defaultFS") == "hdfs://h:1"


@pytest.mark.parametrize("option", [["--conf"], ["--config"], ["--conf="]])
def test_directory_of_the_configuration(
    option: list[str], tmp_path: Path, seen: list[tuple[list[str], Configuration]]
) -> None:
    (tmp_path / "core-site.xml").write_text(Configuration({"a": "1"}).to_xml())
    given = [option[0] + str(tmp_path)] if option[0].endswith("=") else [*option, str(tmp_path)]
    main([*given, "probe"])
    assert seen[0][1].raw("a") == "1"


def test_file_of_configuration_comes_on_top(
    tmp_path: Path, seen: list[tuple[list[str], Configuration]]
) -> None:
    (tmp_path / "core-site.xml").write_text(Configuration({"a": "1", "b": "1"}).to_xml())
    (tmp_path / "more.xml").write_text(Configuration({"b": "2"}).to_xml())
    main(["--conf", str(tmp_path), "-conf", str(tmp_path / "more.xml"), "probe"])
    conf = seen[0][1]
    assert (conf.raw("a"), conf.raw("b")) == ("1", "2")


@pytest.mark.parametrize(
    "arguments", [["-D"], ["-D", "x"], ["-D=1"], ["-fs"], ["--conf"], ["status", "-D"]]
)
def test_option_without_its_value_is_wrong_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 255
    assert "needs" in capsys.readouterr().err


def test_later_directory_wins() -> None:
    options, rest = GenericOptions.take_all(["--conf", "/a", "x", "--conf", "/b"])
    assert (options.conf_dir, rest) == ("/b", ["x"])


# -- quickness ------------------------------------------------------------------------


def test_dispatching_imports_no_server_and_no_client() -> None:
    code = """
import sys
from howdah.cli.main import main
main(["help"])
ours = [m for m in sys.modules if m.startswith("howdah.") and not m.startswith("howdah.cli")]
print(ours + [m for m in ("asyncio", "logging", "google") if m in sys.modules], file=sys.stderr)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stderr.strip() == "['howdah.runtime', 'howdah.runtime.standard_streams']"


# -- usage --------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["cacheadmin", "routeradmin"])
def test_a_usage_names_the_command_as_it_was_called(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) != 0
    said = capsys.readouterr()
    assert f"Usage: howdah {command}" in said.out + said.err
