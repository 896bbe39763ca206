"""The stream contract through a router: nobody can tell it from a namenode."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from howdah.fs.registry import connect
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.store.factory import store_at
from howdah.testing import MiniCluster
from howdah.testing.contract import Check, Subject, Traits, contract_parameters, run
from howdah.testing.contract.machine import check_against_model
from tests.support.routers import Routers

pytestmark = [pytest.mark.kind("hdfs"), pytest.mark.timeout(180)]

BLOCK_BYTES = 1 << 20


@pytest.fixture(scope="module")
def subject(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """Two destinations in one namespace, over which files are spread."""
    directory = tmp_path_factory.mktemp("routers")
    root = f"/routed-{uuid.uuid4().hex[:8]}"
    places = Destination("east", f"{root}/1"), Destination("west", f"{root}/2")
    store = store_at(directory / "store")
    store.prepare()
    store.add_mount(MountEntry("/m", places, Order.HASH_ALL))
    clusters = {"east": howdah_cluster, "west": howdah_cluster}
    conf = howdah_cluster.conf.with_values({"dfs.blocksize": str(BLOCK_BYTES)})
    with Routers(directory, clusters) as routers, howdah_cluster.connect() as direct:
        for place in places:
            direct.mkdirs(place.path)
        uri = routers.start()
        with connect(uri, conf=conf) as fs, connect(uri, conf=conf) as other:
            traits = Traits(flush_shows_nothing=True, several_clients=True)
            fs.mkdirs("/m/contract")
            yield Subject(fs, "/m/contract", other=other, traits=traits)
        direct.delete(root, recursive=True)


REFUSED = {
    "concat_moves_files_to_the_end_of_another": "the files may be in different nameservices",
    "a_path_handle_is_good_for_the_same_file_only": "a file's number belongs to one namenode",
}
"""What a router refuses by name."""


@pytest.mark.torture
@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    if check.name in REFUSED:
        pytest.skip(REFUSED[check.name])
    run(check, subject)


@pytest.mark.req("LM-020")
def test_any_history_of_streams_is_one_of_the_models(subject: Subject) -> None:
    check_against_model(subject, examples=6, steps=15)
