"""Ports that are planned for servers: free ones, and no other process plans them as well."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from howdah.errors import InvalidConfiguration
from howdah.local import ports as local_ports
from howdah.local.ports import SHARE_PORTS, Ports, Share, share_of_this_process

ALL = range(15000, 15000 + 3 * SHARE_PORTS - 10)


def test_port_in_use_is_passed_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = Ports(Share(range(port, port + 1), None))
        with pytest.raises(InvalidConfiguration, match=f"no free port.*{port}"):
            ports.free("127.0.0.1")


def test_ports_take_turns() -> None:
    share = Share(range(20000, 20005), None)
    turns = [share.next() for _ in range(10)]
    assert sorted(turns[:5]) == list(share.ports)
    assert turns[5:] == turns[:5]


def test_a_share_is_that_of_one_process_whatever_its_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of tests side by side, each with a TMPDIR and perhaps a user of its own."""
    if not local_ports.ABSTRACT:
        pytest.skip("only Linux has names for sockets beside ports")
    one = range(61000, 61000 + SHARE_PORTS)
    mine = Share.acquire(one, tmp_path / "a")
    take = (
        "import sys, pathlib; from howdah.local.ports import Share; "
        f"share = Share.acquire({one!r}, pathlib.Path('/')); print(share._lock is not None)"
    )
    words = [sys.executable, "-c", take]
    assert subprocess.run(words, capture_output=True, timeout=100).stdout == b"False\n"
    mine.release()
    assert subprocess.run(words, capture_output=True, timeout=100).stdout == b"True\n"


def test_shares_are_apart_until_there_are_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_ports, "ABSTRACT", False)
    shares = [Share.acquire(ALL, tmp_path) for _ in range(3)]
    assert sorted(port for share in shares for port in share.ports) == list(ALL)
    assert Share.acquire(ALL, tmp_path).ports == ALL
    shares[1].release()
    shares[1].release()
    again = Share.acquire(ALL, tmp_path)
    assert again.ports == shares[1].ports
    for share in (shares[0], shares[2], again):
        share.release()


def test_a_directory_that_cannot_be_written_costs_the_share_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_ports, "ABSTRACT", False)
    assert Share.acquire(ALL, tmp_path / "not there").ports == ALL


def test_a_forked_child_plans_with_another_share() -> None:
    mine = share_of_this_process()
    assert share_of_this_process() is mine
    pid = os.fork()
    if pid == 0:
        os._exit(share_of_this_process() is mine)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
