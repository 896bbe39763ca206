"""Where blocks are, by the kernel: as its twin, or it refuses. That both say what the handler says
is held by `namenode/service/protocols/test_quick_reads.py`."""

from __future__ import annotations

import sys
from array import array
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.fast_path import file_status, locations
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity, Storage
from howdah.namenode.state.inodes.block_table import BlockState
from howdah.namenode.state.inodes.directory import Directory
from howdah.namenode.state.inodes.file_table import Traits
from howdah.namenode.state.inodes.files import table_of
from howdah.namenode.state.tree.path_cache import Way
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb

FIXTURE = settings(
    # How long examples take to make says how busy the machine is.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)
FILE_ID = 16387
BLOCK_ID = 1 << 30
PATH = "/d/f"


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None or not hasattr(found, "block_locations"):
        pytest.skip("the kernel is not built here")
    return found


class Cluster:
    """A file in a directory, its blocks, and datanodes."""

    def __init__(self, lengths: tuple[int, ...] = (5, 7), nodes: int = 3) -> None:
        root = Directory(16385, "", "root", "supergroup", 0o755, 0)
        directory = Directory(16386, "d", "alice", "staff", 0o711, 0)
        self.files = files = table_of({16385: root, 16386: directory})
        root.files = directory.files = files
        root.add(directory)
        self.file = files.new(FILE_ID, "f", Traits("alice", "staff", 0o640, 3, 1 << 20), 5, 7)
        directory.add(self.file)
        self.ways: dict[str, Any] = {"/d": Way(["d"], [root, directory], directory)}
        self.nodes = [node(number) for number in range(nodes)]
        self.blocks = []
        for number, length in enumerate(lengths):
            block = files.blocks.new(
                BLOCK_ID + 60 * number, length, 1001, FILE_ID, BlockState.COMPLETE
            )
            self.file.blocks.append(block)
            block.replicas = [one.storage("DS-" + one.name, 1) for one in self.nodes]
            self.blocks.append(block)

    def view(self, **changes: Any) -> tuple[Any, ...]:
        view = locations.View(
            "BP-1",
            self.files.blocks.storages,
            self.files.blocks.extras,
            {},
            "/rack0",
            "10.0.0.99",
            {"/rack1": 4},
            1000,
            500,
            AdminState.NORMAL,
            12345,
            0,
        )
        return view._replace(**changes)

    def asked(
        self, request: bytes | None = None, user: str = "alice", **changes: Any
    ) -> tuple[Any, ...]:
        return (
            *(where() if request is None else request, self.ways, user, ("staff",), False),
            *(file_status.tables_of(self.files, {}), self.view(**changes)),
        )


def node(number: int) -> Datanode:
    identity = DatanodeIdentity(f"uuid{number}", f"10.0.0.{number}", f"dn{number}", 1, 2, 3)
    made = Datanode(identity, f"/rack{number % 2}", 600)
    encoders.describe(made)
    return made


def where(offset: int = 0, length: int = 1 << 40, path: str = PATH) -> bytes:
    return pb.GetBlockLocationsRequestProto(
        src=path, offset=offset, length=length
    ).SerializeToString()


def test_the_answer_of_a_file(native: ModuleType) -> None:
    cluster = Cluster()
    found = native.block_locations(*cluster.asked())
    assert found == locations.block_locations_here(*cluster.asked())
    shown = pb.GetBlockLocationsResponseProto.FromString(found).locations
    assert (shown.fileLength, len(shown.blocks)) == (12, 2)
    assert shown.lastBlock == shown.blocks[1]
    assert [place.id.datanodeUuid for place in shown.blocks[0].locs][-1] == "uuid1"


@given(
    lengths=st.lists(st.integers(0, 1 << 50), max_size=5).map(tuple),
    nodes=st.integers(0, 4),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "pool_id": st.text(max_size=300),
            "location": st.sampled_from(["/rack0", "/rack1", "/other", ""]),
            "name": st.sampled_from(["uuid0", "uuid1", ""]),
            "far": st.sampled_from([{}, {"/rack0": 2, "/rack1": 4}, {"/rack0": 0}]),
            "now_ms": st.sampled_from([0, 1100, 1101, 1 << 62]),
            "dice": st.integers(0, (1 << 64) - 1),
            "touched_before_ms": st.sampled_from([-(1 << 63), 7, 8]),
            "cached": st.sampled_from([{}, {BLOCK_ID: 1}]),
        },
    ),
    asked=st.tuples(st.sampled_from([0, 1, 5, 6, 1 << 62]), st.sampled_from([0, 1, 7, 1 << 63])),
    user=st.sampled_from(["alice", "bob"]),
    cut=st.integers(0, 30),
)
@FIXTURE
def test_any_cluster_is_told_as_the_twin_tells_it(
    native: ModuleType,
    lengths: tuple[int, ...],
    nodes: int,
    changes: dict[str, Any],
    asked: tuple[int, int],
    user: str,
    cut: int,
) -> None:
    cluster = Cluster(lengths, nodes)
    body = where(*asked)
    for data in (body, body[: len(body) - cut], body + body[:cut]):
        here = locations.block_locations_here(*cluster.asked(data, user, **changes))
        assert native.block_locations(*cluster.asked(data, user, **changes)) == here


@given(data=st.binary(max_size=40) | st.binary(max_size=24).map(lambda end: where()[:6] + end))
@FIXTURE
def test_any_bytes_are_a_request_or_not(native: ModuleType, data: bytes) -> None:
    cluster = Cluster()
    here = locations.block_locations_here(*cluster.asked(data))
    assert native.block_locations(*cluster.asked(data)) == here


def change_stamp(cluster: Cluster) -> None:
    cluster.blocks[-1].state = BlockState.COMMITTED


def scatter(cluster: Cluster) -> None:
    cluster.blocks[0].replicas = [Storage(f"DS{n}", 1, node(n)) for n in range(5)]


def share(cluster: Cluster) -> None:
    one = cluster.nodes[0]
    cluster.blocks[0].replicas = [one.storage("DS-x", 1), one.storage("DS-y", 1)]


def lose(cluster: Cluster) -> None:
    cluster.blocks[0].replicas = []


def note_corrupt(cluster: Cluster) -> None:
    cluster.blocks[0].corrupt = (cluster.nodes[0].storage("DS-x", 1),)


def forget(cluster: Cluster) -> None:
    cluster.file.block_ids = [BLOCK_ID + (1 << 20)]


def forget_all(cluster: Cluster) -> None:
    cluster.files.block_lists.clear()


def leave(cluster: Cluster) -> None:
    cluster.nodes[0].admin_state = AdminState.DECOMMISSIONED
    encoders.describe(cluster.nodes[0])


@pytest.mark.parametrize(
    "happens", [change_stamp, scatter, share, lose, note_corrupt, forget, forget_all, leave]
)
def test_what_is_rare_is_left_to_others(native: ModuleType, happens: Any) -> None:
    cluster = Cluster()
    happens(cluster)
    asked = cluster.asked()
    assert native.block_locations(*asked) is None
    assert locations.block_locations_here(*asked) is None


@pytest.mark.parametrize(
    "attribute", ["last_heartbeat_ms", "registrations", "location", "identity", "upgrade_domain"]
)
def test_what_has_changed_of_a_datanode_is_lacking(native: ModuleType, attribute: str) -> None:
    cluster = Cluster()
    changed = cluster.nodes[1]
    new: dict[str, Any] = {
        "last_heartbeat_ms": 700,
        "registrations": 500,
        "location": "/new",
        "identity": node(7).identity,
        "upgrade_domain": "ud",
    }
    setattr(changed, attribute, new[attribute])
    for by in (native.block_locations, locations.block_locations_here):
        assert by(*cluster.asked()) is changed
    encoders.describe(changed)
    for by in (native.block_locations, locations.block_locations_here):
        found = by(*cluster.asked(far={"/rack1": 4, "/new": 6}))
        assert isinstance(found, bytes)


def test_a_rack_that_was_not_measured_is_lacking(native: ModuleType) -> None:
    for by in (native.block_locations, locations.block_locations_here):
        assert by(*Cluster().asked(far={})) == "/rack1"


ERRORS = (TypeError, ValueError, OverflowError, AttributeError, IndexError, RecursionError)
BAD: list[Any] = [None, 1 << 70, -1, "x", b"x", (), [], {}, {"/rack1": "far"}, 1.5, [1], [None]]


@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("bad", BAD)
def test_a_wrong_view_is_refused(native: ModuleType, place: int, bad: Any) -> None:
    cluster = Cluster()
    asked = list(cluster.asked())
    view = list(asked[-1])
    view[place] = bad
    asked[-1] = tuple(view)
    try:
        native.block_locations(*asked)
    except ERRORS:
        return
    # An empty dictionary, a text or a number of another meaning; no state of that kind.
    assert bad == {} or isinstance(bad, dict | str | int) or place == 9


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("bad", BAD)
def test_wrong_arguments_are_refused(native: ModuleType, place: int, bad: Any) -> None:
    asked = list(Cluster().asked())
    asked[place] = bad
    try:
        native.block_locations(*asked)
    except ERRORS:
        return
    assert place < 5


@pytest.mark.parametrize(
    ("attribute", "wrong"),
    [
        ("shown", None),
        ("shown", ()),
        ("shown", (1, 2, 3)),
        ("shown", ((), 2, b"")),
        ("shown", ((1, 2, 3, 4, 5, 6), 2, b"")),
    ],
)
def test_a_datanode_that_is_not_described_is_lacking(
    native: ModuleType, attribute: str, wrong: Any
) -> None:
    cluster = Cluster()
    setattr(cluster.nodes[0], attribute, wrong)
    assert native.block_locations(*cluster.asked()) is cluster.nodes[0]


def spoil(name: str, value: Any) -> Any:
    """A change of the first storage."""
    return lambda cluster: setattr(cluster.files.blocks.storages[0], name, value)


@pytest.mark.parametrize(
    "change",
    [
        spoil("storage_type", -1),
        spoil("storage_type", "x"),
        spoil("storage_id", 7),
        spoil("node", None),
        lambda cluster: cluster.files.blocks.storages.clear(),
        lambda cluster: setattr(cluster.nodes[0], "shown", (*cluster.nodes[0].shown[:2], "text")),
        lambda cluster: cluster.files.blocks.storages.__setitem__(0, object()),
        lambda cluster: cluster.files.blocks.rows.pages.update({BLOCK_ID >> 6: array("q", [1])}),
        lambda cluster: cluster.files.block_lists.update({FILE_ID: [BLOCK_ID]}),
        lambda cluster: cluster.files.traits.clear(),
    ],
)
def test_objects_of_another_kind_are_refused(native: ModuleType, change: Any) -> None:
    cluster = Cluster()
    change(cluster)
    with pytest.raises(ERRORS):
        native.block_locations(*cluster.asked())


def test_no_reference_stays(native: ModuleType) -> None:
    runs = 300
    cluster = Cluster()
    bodies = [where(), where(1 << 50), where(0, 0), where(path="/d/none"), where()[:-1]]
    views: list[dict[str, Any]] = [{}, {"far": {}}, {"cached": {BLOCK_ID: 1}}, {"dice": 77}]
    asked = [
        cluster.asked(body, user, **changes)
        for body in bodies
        for user in ("alice", "bob")
        for changes in views
    ]
    watched = [
        *(cluster.ways, cluster.files.traits[0], cluster.nodes, *cluster.nodes, *bodies),
        *(each.shown for each in cluster.nodes),
        *(each.location for each in cluster.nodes),
        *(each.identity for each in cluster.nodes),
        *(storage for each in cluster.nodes for storage in each.storages.values()),
        *cluster.files.blocks.rows.pages.values(),
    ]
    before = [sys.getrefcount(each) for each in watched]
    for number in range(runs):
        for one in asked:
            native.block_locations(*one)
        wrong = list(asked[0])
        wrong[number % len(wrong)] = 1.5
        try:
            native.block_locations(*wrong)
        except ERRORS:
            continue
    del one, wrong
    after = [sys.getrefcount(each) for each in watched]
    grown = [late - early for early, late in zip(before, after, strict=True)]
    assert max(grown) < runs / 20


def test_what_is_returned_is_let_go(native: ModuleType) -> None:
    found = native.block_locations(*Cluster().asked())
    assert sys.getrefcount(found) == 2
