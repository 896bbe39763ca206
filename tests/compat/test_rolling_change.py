"""A cluster changes from SIMPLE to Kerberos server by server, and nobody notices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.failover.state.service import ServiceState
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import Kdc
from tests.support.security.rolling import Phase, RollingQuorum
from tests.support.security.secured_quorum import NAMENODES

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]


@pytest.fixture
def small(kdc: Kdc, tmp_path: Path) -> Iterator[RollingQuorum]:
    """Two namenodes that share a directory, and two datanodes."""
    with kdc.in_environment():
        cluster = RollingQuorum(tmp_path / "cluster", kdc, journal_nodes=0, datanodes=2)
    yield cluster
    cluster.close()


def change_namenodes(cluster: RollingQuorum, phase: Phase) -> None:
    """The standby first."""
    active = cluster.active()
    standby = next(name for name in NAMENODES if name != active)
    assert active is not None
    cluster.change(standby, phase)
    wait_until(lambda: cluster.state(standby) is ServiceState.STANDBY, 60)
    cluster.fail_over()
    cluster.change(active, phase)
    wait_until(lambda: cluster.state(active) is ServiceState.STANDBY, 60)


def test_clients_of_both_kinds_work_through_the_change(small: RollingQuorum) -> None:
    with small.simple_client() as fs:
        fs.write_bytes("/user/alice/before", b"kept")
    for name in small.datanodes:
        small.change(name, Phase.BOTH)
    change_namenodes(small, Phase.BOTH)
    for make in (small.simple_client, small.changing_client, small.secured_client):
        with make() as fs:
            fs.write_bytes(f"/user/alice/{make.__name__}", b"new")
            assert fs.read_bytes("/user/alice/before") == b"kept"
    for name in small.datanodes:
        small.change(name, Phase.KERBEROS)
    change_namenodes(small, Phase.KERBEROS)
    with small.simple_client() as fs, pytest.raises(errors.AccessDenied, match="SIMPLE"):
        fs.read_bytes("/user/alice/before")
    with small.secured_client() as fs:
        assert fs.read_bytes("/user/alice/before") == b"kept"
