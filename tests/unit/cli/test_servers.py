from __future__ import annotations

import json
import logging
import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from howdah.cli import servers
from howdah.cli.main import main
from howdah.cli.servers import log_to_stderr
from howdah.runtime.process_identity import descriptors_after_raise


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["-confKey", "dfs.blocksize"], "134217728"),
        (["-D", "dfs.block.size=1m", "-confKey", "dfs.blocksize"], "1m"),
        (["-D", "a=${b}", "-D", "b=c", "-confKey", "a"], "c"),
        (["-fs", "hdfs://h:9", "-namenodes"], "h"),
        (["-fs", "hdfs://h", "-nnRpcAddresses"], "h:8020"),
        (["-D", "dfs.hosts=/etc/hosts.in", "-includeFile"], "/etc/hosts.in"),
        (["-D", "dfs.hosts.exclude=/etc/hosts.out", "-excludeFile"], "/etc/hosts.out"),
    ],
)
def test_getconf_prints(
    arguments: list[str], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["getconf", *arguments]) == 0
    assert capsys.readouterr().out == f"{printed}\n"


def test_getconf_lists_the_namenodes_of_all_nameservices(
    capsys: pytest.CaptureFixture[str],
) -> None:
    values = {
        "dfs.nameservices": "a,b",
        "dfs.ha.namenodes.a": "nn1,nn2",
        "dfs.namenode.rpc-address.a.nn1": "one:1",
        "dfs.namenode.rpc-address.a.nn2": "two:2",
        "dfs.namenode.rpc-address.b": "three:3",
    }
    options = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
    assert main([*options, "getconf", "-namenodes"]) == 0
    assert main([*options, "getconf", "-nnRpcAddresses"]) == 0
    assert capsys.readouterr().out == "one two three\none:1\ntwo:2\nthree:3\n"


PAIR = {
    "dfs.nameservices": "a",
    "dfs.ha.namenodes.a": "nn1,nn2",
    "dfs.namenode.rpc-address.a.nn1": "one:1",
    "dfs.namenode.rpc-address.a.nn2": "two:2",
    "dfs.namenode.shared.edits.dir": "qjournal://j1:8485;j2:8485;j3:8485/a",
    "dfs.namenode.shared.edits.dir.a.nn2": "qjournal://j3:8485;j4/a",
    "dfs.namenode.secondary.http-address.a.nn2": "second:9868",
}


@pytest.mark.parametrize(
    ("option", "code", "printed", "complained"),
    [
        ("-namenodes", 0, "one two\n", ""),
        ("-NameNodes", 0, "one two\n", ""),
        ("-nnRpcAddresses", 0, "one:1\ntwo:2\n", ""),
        ("-journalNodes", 0, "j1 j2 j3 j4\n", ""),
        ("-secondaryNameNodes", 0, "second\n", ""),
        (
            "-backupNodes",
            255,
            "",
            "Incorrect configuration: backup node address dfs.namenode.backup.address is not "
            "configured.\n",
        ),
        ("-confKey", 255, "", "usage: -confKey [key]\n"),
    ],
)
def test_getconf_knows_the_servers_of_a_nameservice(
    option: str, code: int, printed: str, complained: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for name, value in PAIR.items() for word in ("-D", f"{name}={value}")]
    assert main([*options, "getconf", option]) == code
    assert capsys.readouterr() == (printed, complained)


def test_getconf_names_no_journal_nodes_where_the_log_is_in_a_directory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = "dfs.namenode.shared.edits.dir=file:///shared"
    assert main(["-D", shared, "getconf", "-journalNodes"]) == 0
    assert capsys.readouterr().out == "\n"


@pytest.mark.parametrize("arguments", [["-confKey", "no.such.key"], ["-includeFile"]])
def test_getconf_says_what_is_missing(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["getconf", *arguments]) == 255
    assert "is missing." in capsys.readouterr().err


def test_getconf_wants_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["getconf"]) == 255
    assert "-confKey" in capsys.readouterr().err


def test_force_without_format_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["namenode", "-force"]) == 255
    assert "go with -format" in capsys.readouterr().err


def test_format_makes_the_directories(tmp_path: Path) -> None:
    assert main(["namenode", "-format", "-D", f"dfs.namenode.name.dir={tmp_path}/name"]) == 0
    assert (tmp_path / "name" / "current" / "VERSION").is_file()


def test_format_leaves_alone_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["namenode", "-format", "-D", f"dfs.namenode.name.dir={tmp_path}/name"]
    main(command)
    before = (tmp_path / "name" / "current" / "VERSION").read_text()
    assert main(command) == 1
    assert (tmp_path / "name" / "current" / "VERSION").read_text() == before


def test_format_by_force_makes_another_namespace(tmp_path: Path) -> None:
    command = ["namenode", "-format", "-D", f"dfs.namenode.name.dir={tmp_path}/name"]
    main(command)
    before = (tmp_path / "name" / "current" / "VERSION").read_text()
    assert main([*command, "-force", "-clusterid", "CID-mine"]) == 0
    after = (tmp_path / "name" / "current" / "VERSION").read_text()
    assert after != before
    assert "clusterID=CID-mine" in after


def test_log_has_one_line_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("INFO")
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logging.getLogger("x").exception("failed")
    starts = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(" ")]
    assert len(starts) == 1


def test_log_is_json_if_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("INFO", "json")
    logging.getLogger("howdah.x").warning("of %s\n\udcff", "/a")
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logging.getLogger("x").exception("failed")
    plain, failed = map(json.loads, capsys.readouterr().err.splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", plain.pop("time"))
    assert plain == {
        "level": "WARNING",
        "logger": "howdah.x",
        "message": "of /a\n\udcff",
        "process": os.getpid(),
        "thread": "MainThread",
    }
    assert (failed["error"], failed["message"]) == ("ValueError", "failed")
    assert failed["traceback"].endswith("ValueError: first\nsecond")


@pytest.mark.parametrize("chosen", [["--log", "json"], []])
def test_servers_log_in_the_form_that_is_chosen(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    chosen: list[str],
) -> None:
    if not chosen:
        monkeypatch.setenv("HOWDAH_LOG", "json")
    name = f"dfs.namenode.name.dir={tmp_path}/name"
    assert main(["namenode", "-format", *chosen, "-D", name]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["level"] for line in lines if "formatted" in line] == ["INFO"]


def test_form_of_logs_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datanode", "--log", "xml"]) != 0
    assert "xml" in capsys.readouterr().err


def test_environment_that_names_no_form_of_logs_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOWDAH_LOG", "xml")
    assert main(["datanode"]) != 0
    assert "HOWDAH_LOG is xml, and can be text or json" in capsys.readouterr().err


def test_format_can_be_forbidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    allowed = "dfs.namenode.support.allow.format=false"
    command = ["namenode", "-format", "-D", f"dfs.namenode.name.dir={tmp_path}/name"]
    assert main([*command, "-D", allowed, "-force"]) == 1
    assert "dfs.namenode.support.allow.format" in capsys.readouterr().err
    assert not (tmp_path / "name").exists()


def test_a_server_names_keys_that_have_no_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["namenode", "-format", "-D", f"dfs.namenode.name.dir={tmp_path}/name"]
    assert main([*command, "-D", "dfs.namenode.handler.count=64"]) == 0
    assert "dfs.namenode.handler.count (from command line) has no effect" in capsys.readouterr().err


@pytest.fixture
def few_files() -> Iterator[int]:
    """A soft limit below the hard one; put back afterwards."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = descriptors_after_raise() - 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
    yield few
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    "server",
    [
        *("namenode", "datanode", "secondarynamenode", "journalnode", "zkfc", "router", "httpfs"),
        *("s3", "sps"),
    ],
)
def test_a_server_opens_as_many_files_as_the_system_lets_it(
    server: str, few_files: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([server, "-D", "dfs.replication=three"]) == 1  # and so ends at once
    told = capfd.readouterr().err
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == few_files + 1
    assert f"this server may open {few_files + 1} files: its soft limit was {few_files}" in told


def test_a_server_that_may_not_raise_its_limit_says_so_and_goes_on(
    few_files: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuses)
    assert main(["journalnode", "-D", "dfs.replication=three"]) == 1
    monkeypatch.undo()
    told = capfd.readouterr().err
    assert "the soft limit of open files stays as it is (ulimit -n): not allowed" in told
    assert "dfs.replication = 'three'" in told


@pytest.mark.parametrize("server", ["namenode", "datanode", "secondarynamenode"])
@pytest.mark.parametrize(
    ("key", "value"),
    [("dfs.namenode.http-address", "foo:x"), ("dfs.replication", "three")],
)
def test_a_bad_value_is_told_with_its_key_before_anything_is_done(
    server: str, key: str, value: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "name"
    arguments = ["-D", f"{key}={value}", "-D", f"dfs.namenode.name.dir={directory}"]
    assert main([server, *arguments]) == 1
    told = capfd.readouterr().err
    assert f"{key} = '{value}' (from command line)" in told
    assert not directory.exists()


def test_a_misspelt_key_is_in_a_servers_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.config._warned", set())
    name_dir = f"dfs.namenode.name.dir={tmp_path / 'name'}"
    assert main(["namenode", "-format", "-D", name_dir, "-D", "dfs.replicatoin=2"]) == 0
    told = capfd.readouterr().err
    assert "WARNING howdah.config: dfs.replicatoin (from command line) is no key" in told
    assert "was dfs.replication meant?" in told


def test_a_misspelt_key_is_told_to_who_types_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.config._warned", set())
    main(["getconf", "-confKey", "dfs.replication", "-D", "fs.trash.intervall=1"])
    assert "was fs.trash.interval meant?" in caplog.text


SEVERAL = (
    *("-D", "dfs.nameservices=ns", "-D", "dfs.ha.namenodes.ns=a,b", "-D", "dfs.ha.namenode.id=a"),
    *("-D", "dfs.namenode.rpc-address.ns.a=127.0.0.1:1", "-D", "fs.defaultFS=hdfs://ns"),
    *("-D", "dfs.namenode.rpc-address.ns.b=127.0.0.1:2"),
)


@pytest.mark.parametrize(
    "command",
    [
        ("namenode", "-upgrade"),
        ("namenode", "-rollback"),
        ("namenode", "-finalize"),
        ("namenode", "-importCheckpoint"),
        ("secondarynamenode",),
        ("secondarynamenode", "-checkpoint", "force"),
    ],
    ids=" ".join,
)
def test_what_a_namenode_does_alone_is_refused_to_one_of_several(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], *SEVERAL, *command[1:]]) == 1
    assert "is not supported for a namenode that shares its log with b" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-skipSharedEditsCheck"], "goes with -bootstrapStandby"),
        (["-bootstrapStandby", "-clusterid", "x"], "-clusterid goes with -format"),
        (["-bootstrapStandby", "-initializeSharedEdits"], "only one of"),
        (["-force"], "go with -format, -bootstrapStandby and"),
    ],
)
def test_options_of_formats_go_with_them(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["namenode", *options]) != 0
    assert message in capsys.readouterr().err


def test_a_new_standby_that_reaches_nobody_exits_as_hadoops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = f"dfs.namenode.shared.edits.dir=file://{tmp_path}/shared"
    fencing = "dfs.ha.fencing.methods=shell(/bin/true)"
    name = f"dfs.namenode.name.dir={tmp_path}/name"
    arguments = [*SEVERAL, "-D", shared, "-D", fencing, "-D", name, "-bootstrapStandby"]
    assert main(["namenode", *arguments]) == 2
    assert "none of the other namenodes can be asked: b:" in capsys.readouterr().err


def test_a_server_says_words_to_those_who_wait_in_lines_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logger = logging.getLogger("howdah.rpc.wait_notices")
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    monkeypatch.setattr(servers, "log_to_stderr", lambda *_: None)
    monkeypatch.setattr("howdah.runtime.process_identity.raise_descriptor_limit", lambda: (1, 1))
    servers.begin(SimpleNamespace(log_level="INFO", log="line"))  # type: ignore[arg-type]
    assert logger.level == logging.ERROR
