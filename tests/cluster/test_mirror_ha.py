"""Mirrors between highly available clusters whose active namenodes die, with Kerberos and without,
and of what a router shows."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.local.kdc import NoKdc
from howdah.mirror import Settings, mirror_once, promote, verify
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.security.server_checks import is_secured
from howdah.testing import MiniCluster
from howdah.testing.trees import make_tree, read_tree
from tests.support.mirrors import AFTER, BEFORE, change_tree
from tests.support.routers import Routers

pytestmark = [pytest.mark.torture, pytest.mark.timeout(400)]

SIDES = ("a", "b")


@pytest.fixture(scope="module", params=[False, True], ids=["simple", "kerberos"])
def cluster(request: pytest.FixtureRequest) -> Iterator[MiniCluster]:
    """Two nameservices of two namenodes each."""
    conf = {"dfs.namenode.acls.enabled": True}
    try:
        made = MiniCluster(
            datanodes=1, namenodes=2, nameservices=SIDES, conf=conf, secure=request.param
        )
    except NoKdc as error:
        pytest.skip(error.message)
    with made:
        yield made


def test_rounds_go_on_after_failovers_of_both_sides(
    cluster: MiniCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_secured(cluster.conf):
        for name, value in cluster.environment(getpass.getuser()).items():
            monkeypatch.setenv(name, value)
    source, target = (f"{cluster.uri_of(side)}/mirrored" for side in SIDES)
    settings = Settings(interval_s=1)
    killed = []
    with (
        cluster.connect(nameservice="a") as here,
        cluster.connect(nameservice="b") as there,
    ):
        make_tree(here, "/mirrored", BEFORE)
        first = mirror_once(source, target, settings, conf=cluster.conf)
        assert first.common is not None
        assert read_tree(there, "/mirrored") == BEFORE
        change_tree(here, "/mirrored")
        for side in SIDES:
            killed.append(cluster.active(nameservice=side))
            cluster.kill(killed[-1])
        second = mirror_once(source, target, settings, conf=cluster.conf)
        assert second.common != first.common
        assert read_tree(there, "/mirrored") == AFTER
        assert verify(target, conf=cluster.conf).is_equal
        for name in killed:
            cluster.start(name)
        cluster.wait_ready()
        # And back, the other way round.
        promote(target, conf=cluster.conf)
        there.write_bytes("/mirrored/later", b"later")
        mirror_once(target, source, settings, conf=cluster.conf)
        assert here.read_bytes("/mirrored/later") == b"later"


def test_what_a_router_shows_is_mirrored(howdah_cluster: MiniCluster, tmp_path: Path) -> None:
    """Both directories are reached by it, each in a nameservice of its own."""
    with (
        MiniCluster(datanodes=1) as other,
        Routers(tmp_path, {"a": howdah_cluster, "b": other}) as routers,
        howdah_cluster.connect() as here,
        other.connect() as there,
    ):
        store = store_at(tmp_path / "store")
        store.prepare()
        for side, fs in (("a", here), ("b", there)):
            store.add_mount(MountEntry(f"/{side}", (Destination(side, "/of-routers"),)))
            fs.mkdirs("/of-routers")
        uri = routers.start()
        make_tree(here, "/of-routers/src", BEFORE)
        source, target = f"{uri}/a/src", f"{uri}/b/dst"
        mirror_once(source, target)
        assert read_tree(there, "/of-routers/dst") == BEFORE
        change_tree(here, "/of-routers/src")
        mirror_once(source, target)
        assert read_tree(there, "/of-routers/dst") == AFTER
        assert verify(target).is_equal
        for snapshot in list(here.list_status("/of-routers/src/.snapshot")):
            here.delete_snapshot("/of-routers/src", snapshot.name)
        here.delete("/of-routers", recursive=True)
