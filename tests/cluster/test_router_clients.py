"""Namenodes that know where a router's clients are (`dfs.namenode.ip-proxy-users`).

Every datanode is on a loopback address of its own, 127.0.0.11 to 127.0.0.14, and so is the
client: what is near it is on one of them.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator

import pytest

from howdah.errors import AuthorizationFailed
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.routers import Routers
from tests.support.routing.sources import calls_from

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(180)]

ME = getpass.getuser()
FILES = 6
KEY = "dfs.namenode.ip-proxy-users"


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf: dict[str, str | int] = {
        KEY: ME,
        f"hadoop.proxyuser.{ME}.users": "alice",
        f"hadoop.proxyuser.{ME}.hosts": "*",
        "dfs.permissions.enabled": False,
    }
    with MiniCluster(datanodes=4, conf=conf) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def routers(cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routers]:
    """Of them `telling` says where its clients are, as that key has it do."""
    directory = tmp_path_factory.mktemp("routers")
    with Routers(directory, {"east": cluster}) as found:
        store = store_at(directory / "store")
        store.prepare()
        store.add_mount(MountEntry("/m", (Destination("east", "/m"),)))
        found.start("silent")
        found.values[KEY] = ME
        found.start("telling")
        yield found


@pytest.mark.parametrize("user", [None, "alice"], ids=["the router's user", "another user"])
@pytest.mark.parametrize("source", ["127.0.0.12", "127.0.0.14"])
def test_a_block_is_written_and_read_at_the_datanode_of_a_routers_client(
    cluster: MiniCluster, routers: Routers, source: str, user: str | None
) -> None:
    top = f"/m/{source}-{user}"
    with calls_from(source), routers.connect("telling", user) as fs:
        for number in range(FILES):
            with fs.create(f"{top}/{number}", replication=1) as out:
                out.write(b"near")
        first = {fs.block_locations(f"{top}/{number}")[0].names[0] for number in range(FILES)}
        assert [each.partition(":")[0] for each in first] == [source]
        # Nearest first, also of what is everywhere.
        with fs.create(f"{top}/everywhere", replication=4) as out:
            out.write(b"far and near")
        wait_until(lambda: len(fs.block_locations(f"{top}/everywhere")[0].names) == 4, 60)
        for _ in range(FILES):
            (block,) = fs.block_locations(f"{top}/everywhere")
            assert block.names[0].partition(":")[0] == source
        assert fs.get_file_status(f"{top}/0").owner == (user or ME)


def test_without_the_key_a_router_says_nothing_of_its_clients(
    cluster: MiniCluster, routers: Routers
) -> None:
    with calls_from("127.0.0.12"), routers.connect("silent", "bob") as fs:
        for number in range(2 * FILES):
            with fs.create(f"/m/silent/{number}", replication=1) as out:
                out.write(b"anywhere")
        places = {
            fs.block_locations(f"/m/silent/{number}")[0].names[0] for number in range(2 * FILES)
        }
    assert len(places) > 1


def test_a_router_acts_for_no_user_that_it_may_not_act_for(routers: Routers) -> None:
    with (
        routers.connect("telling", "bob") as fs,
        pytest.raises(AuthorizationFailed, match=f"User: {ME} is not allowed to impersonate bob"),
    ):
        fs.exists("/m")
