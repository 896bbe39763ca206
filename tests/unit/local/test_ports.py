"""Ports that are planned for servers: free ones, and no other process plans them as well."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from howdah.errors import InvalidConfiguration
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


def test_shares_are_apart_until_there_are_no_more(tmp_path: Path) -> None:
    shares = [Share.take(ALL, tmp_path) for _ in range(3)]
    assert sorted(port for share in shares for port in share.ports) == list(ALL)
    assert Share.take(ALL, tmp_path).ports == ALL
    shares[1].release()
    shares[1].release()
    again = Share.take(ALL, tmp_path)
    assert again.ports == shares[1].ports
    for share in (shares[0], shares[2], again):
        share.release()


def test_a_directory_that_cannot_be_written_costs_the_share_and_nothing_else(
    tmp_path: Path,
) -> None:
    assert Share.take(ALL, tmp_path / "not there").ports == ALL


def test_a_forked_child_plans_with_another_share() -> None:
    mine = share_of_this_process()
    assert share_of_this_process() is mine
    pid = os.fork()
    if pid == 0:
        os._exit(share_of_this_process() is mine)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
