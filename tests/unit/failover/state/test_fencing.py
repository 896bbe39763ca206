"""Fencing methods: how they are configured, and what they do (FS-070, FS-072, FS-074)."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.failover.fencing_methods import Fencer
from howdah.failover.state.fencing import ShellFence, SshFence, environment, parse_methods
from howdah.failover.state.service import Target
from howdah.testing.waiting import wait_until


def target(fencing: str, host: str = "nn1.example.com") -> Target:
    return Target("east", "nn1", (host, 8020), 8019, True, fencing)


# -- as they are configured


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("sshfence", [SshFence()]),
        ("sshfence(hdfs)", [SshFence("hdfs")]),
        ("sshfence(hdfs:2222)", [SshFence("hdfs", 2222)]),
        ("sshfence(:2222)", [SshFence(None, 2222)]),
        ("shell(/bin/true)", [ShellFence("/bin/true")]),
        ("shell(a (b) c)", [ShellFence("a (b) c")]),
        ("org.apache.hadoop.ha.SshFenceByTcpPort(x)", [SshFence("x")]),
        ("\n  sshfence  \n\n shell(x) # last\n# nothing\n", [SshFence(), ShellFence("x")]),
    ],
)
def test_methods_are_read_a_line_each(text: str, methods: list[object]) -> None:
    assert list(parse_methods(text)) == methods


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no fencing method is configured"),
        ("  # none\n", "no fencing method is configured"),
        ("shell", "No argument passed to 'shell' fencing method"),
        ("shell(", "Unable to parse line: 'shell('"),
        ("powershell(x)", "Could not find configured fencing method powershell"),
        ("sshfence(a:b)", "Unable to parse user and SSH port: a:b"),
        ("sshfence(a:99999)", "Unable to parse user and SSH port"),
        ("sshfence(-oProxyCommand=x)", "Unable to parse user and SSH port"),
    ],
)
def test_what_is_no_method_is_refused(text: str | None, message: str) -> None:
    with pytest.raises(errors.BadFencingConfiguration, match=message.replace("(", "[(]")):
        parse_methods(text)


@given(st.text())
def test_any_text_is_methods_or_refused(text: str) -> None:
    try:
        assert parse_methods(text)
    except errors.BadFencingConfiguration:
        pass


def test_a_command_is_told_of_the_configuration_and_of_the_namenode() -> None:
    found = environment([("dfs.ha.namenodes.east", "nn1,nn2"), ("a=b", "x")], target("shell(x)"))
    assert found == {
        "dfs_ha_namenodes_east": "nn1,nn2",
        "target_host": "nn1.example.com",
        "target_port": "8020",
        "target_address": "nn1.example.com:8020",
        "target_nameserviceid": "east",
        "target_namenodeid": "nn1",
    }


# -- what they do


@pytest.mark.req("FS-074")
def test_methods_are_tried_in_order_until_one_succeeds(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    lines = [f"echo {n} >> {trace}; {end}" for n, end in (("a", "exit 7"), ("b", ""), ("c", ""))]
    Fencer(Configuration()).fence(target("\n".join(f"shell({line})" for line in lines)))
    assert trace.read_text().split() == ["a", "b"]


def test_a_command_fails_at_its_first_failure() -> None:
    with pytest.raises(errors.ServiceFailed):
        Fencer(Configuration()).fence(target("shell(false; true)"))


@pytest.mark.req("FS-070", "FS-074")
def test_when_no_method_succeeds_each_says_why_and_what_follows() -> None:
    with pytest.raises(errors.ServiceFailed) as told:
        Fencer(Configuration()).fence(target("shell(exit 3)\nshell(exit 4)"))
    assert str(told.value).startswith(
        "Unable to fence NameNode at nn1.example.com:8020, which may still be active: "
        "shell(exit 3): exit code 3; shell(exit 4): exit code 4. No other namenode becomes active"
    )


def test_a_command_that_hangs_is_ended_with_all_that_it_started_and_the_next_is_tried(
    tmp_path: Path,
) -> None:
    begun, late = tmp_path / "begun", tmp_path / "late"
    conf = Configuration({"howdah.ha.fencing.timeout.ms": "500ms"})
    # The inner shell ends when it is killed with the outer one, and writes nothing.
    hangs = f"echo $$ > {begun}; (read -t 60 < <(sleep 60); touch {late}) & wait"
    Fencer(conf).fence(target(f"shell({hangs})\nshell(true)"))
    group = int(begun.read_text())
    wait_until(lambda: not group_is_there(group), what="nothing of the command is left")
    assert not late.exists()


def test_a_command_whose_words_nobody_could_read_is_ended_and_the_next_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def recorded(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **kwargs))
        return started[-1]

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", recorded)
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(errors.ServiceFailed, match="there is no thread for what it says"):
            Fencer(Configuration()).fence(target("shell(sleep 60)"))
    assert [process.returncode for process in started] == [-signal.SIGKILL]
    assert not group_is_there(started[0].pid)


def group_is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_command_may_leave_something_running(tmp_path: Path) -> None:
    left = tmp_path / "left"
    Fencer(Configuration()).fence(target(f"shell(sleep 60 & echo $! > {left})"))
    os.kill(int(left.read_text()), signal.SIGKILL)


def test_a_command_that_hangs_says_so() -> None:
    conf = Configuration({"howdah.ha.fencing.timeout.ms": "100"})
    with pytest.raises(errors.ServiceFailed, match=r"it did not end within 0\.1 s"):
        Fencer(conf).fence(target("shell(sleep 60)"))


def test_what_a_command_says_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    Fencer(Configuration()).fence(target("shell(echo out; echo $target_host >&2)"))
    said = [record.getMessage() for record in caplog.records if "command" in record.getMessage()]
    assert any(text.endswith("stdout: out") for text in said)
    assert any(text.endswith("stderr: nn1.example.com") for text in said)


class Ssh:
    """In the place of ssh: remembers its words, and exits as a test wants."""

    def __init__(self, directory: Path) -> None:
        self._trace = directory / "trace"
        self.program = directory / "ssh"

    def answer(self, *codes: int) -> None:
        """Exit codes, one a call."""
        (self.program.parent / "codes").write_text("".join(f"{code}\n" for code in codes))
        codes_file = self.program.parent / "codes"
        self.program.write_text(
            "#!/bin/bash\n"
            f'printf "%s|" "$@" >> {self._trace}; echo >> {self._trace}\n'
            f"code=$(head -1 {codes_file}); sed -i 1d {codes_file}; exit $code\n"
        )
        os.chmod(self.program, 0o755)

    @property
    def calls(self) -> list[list[str]]:
        return [line.rstrip("|").split("|") for line in self._trace.read_text().splitlines()]


@pytest.fixture
def ssh(tmp_path: Path) -> Ssh:
    return Ssh(tmp_path)


def fence_by_ssh(ssh: Ssh, method: str = "sshfence(hdfs:2222)") -> None:
    conf = Configuration(
        {
            "dfs.ha.fencing.ssh.connect-timeout": "2500",
            "dfs.ha.fencing.ssh.private-key-files": "/keys/a,/keys/b",
        }
    )
    Fencer(conf, ssh_program=str(ssh.program)).fence(target(method))


@pytest.mark.req("FS-072", "FS-074")
def test_sshfence_kills_what_listens_at_the_port(ssh: Ssh) -> None:
    ssh.answer(0)
    fence_by_ssh(ssh)
    (words,) = ssh.calls
    assert words[:5] == ["-T", "-p", "2222", "-l", "hdfs"]
    assert "ConnectTimeout=3" in words
    assert words[words.index("-i") :][:4] == ["-i", "/keys/a", "-i", "/keys/b"]
    kill = "PATH=$PATH:/sbin:/usr/sbin fuser -v -k -n tcp 8020"
    assert words[-3:] == ["--", "nn1.example.com", kill]


def test_sshfence_succeeds_where_nobody_listens(ssh: Ssh) -> None:
    ssh.answer(1, 1)
    fence_by_ssh(ssh)
    assert ssh.calls[1][-1] == "nc -z nn1.example.com 8020"


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ((255,), "no connection"),
        ((127,), "fuser failed"),
        ((1, 0), "it is running but we cannot kill it"),
        ((1, 127), "whether it runs is not known"),
        ((1, 255), "whether it runs is not known"),
    ],
)
def test_sshfence_fails_unless_the_namenode_is_down_for_certain(
    codes: tuple[int, ...], reason: str, ssh: Ssh
) -> None:
    ssh.answer(*codes)
    with pytest.raises(errors.ServiceFailed, match=reason):
        fence_by_ssh(ssh)


def test_sshfence_without_ssh_says_so(tmp_path: Path) -> None:
    with pytest.raises(errors.ServiceFailed, match="cannot be run"):
        fence_by_ssh(Ssh(tmp_path / "nowhere"))
