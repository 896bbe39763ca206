"""What the kernel answers from a namespace's tables: as its twin, or it refuses. That both say
what the handlers say is held by `namenode/service/protocols/test_quick_reads.py`."""

from __future__ import annotations

import sys
from array import array
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.namenode.service.protocols.fast_path import file_status
from howdah.namenode.state.inodes.block_table import BlockState
from howdah.namenode.state.inodes.directory import Directory
from howdah.namenode.state.inodes.file_table import Traits
from howdah.namenode.state.inodes.files import File, table_of
from howdah.namenode.state.tree.path_cache import Way
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb

COMPLETE = BlockState.COMPLETE
FIXTURE = settings(
    # How long examples take to make says how busy the machine is.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None or not hasattr(found, "file_info"):
        pytest.skip("the kernel is not built here")
    return found


class Tree:
    """A file in a directory `/d`, and its tables."""

    def __init__(self) -> None:
        self.root = Directory(16385, "", "root", "supergroup", 0o755, 0)
        self.directory = Directory(16386, "d", "alice", "staff", 0o711, 0)
        self.files = table_of({each.inode_id: each for each in (self.root, self.directory)})
        for each in (self.root, self.directory):
            each.files = self.files
        self.root.add(self.directory)
        self.file = self.add(16387, "f")
        trail: list[Any] = [self.root, self.directory]
        self.ways = {"/d": Way(["d"], trail, self.directory)}

    def add(self, inode_id: int, name: str, **traits: Any) -> File:
        made = Traits(**{**DEFAULTS, **traits})
        file = self.files.new(inode_id, name, made, 5, 7)
        self.directory.add(file)
        return file

    def asked(self, request: bytes, user: str = "alice") -> tuple[Any, ...]:
        return request, self.ways, user, ("staff",), False, file_status.tables_of(self.files, {})


DEFAULTS: dict[str, Any] = {
    "owner": "alice",
    "group": "staff",
    "mode": 0o644,
    "replication": 3,
    "block_size_bytes": 128 << 20,
}


def request(path: str) -> bytes:
    return pb.GetFileInfoRequestProto(src=path).SerializeToString()


@given(
    traits=st.fixed_dictionaries(
        {
            "owner": st.text(max_size=90),
            "group": st.text(max_size=90),
            "mode": st.integers(0, 0o1777),
            "replication": st.sampled_from([0, 1, 127, 128, 512, 1 << 15]),
            "block_size_bytes": st.integers(0, (1 << 63) - 1),
        }
    ),
    times=st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * 2),
    lengths=st.lists(st.integers(0, 1 << 40), max_size=4),
    inode_id=st.sampled_from([16388, 1 << 20, 1 << 40]),
)
@FIXTURE
def test_any_file_is_shown_as_the_twin_shows_it(
    native: ModuleType,
    traits: dict[str, Any],
    times: tuple[int, int],
    lengths: list[int],
    inode_id: int,
) -> None:
    tree = Tree()
    file = tree.add(inode_id, "g", **traits)
    file.mtime_ms, file.atime_ms = times
    for number, length in enumerate(lengths):
        block = tree.files.blocks.new(1000 + 50 * number, length, 1001, inode_id, COMPLETE)
        file.blocks.append(block)
    here = file_status.file_info_here(*tree.asked(request("/d/g")))
    assert native.file_info(*tree.asked(request("/d/g"))) == here
    long = len(traits["owner"].encode()) + len(traits["group"].encode()) > 160
    assert (here is None) is long
    if here is not None:
        status = pb.GetFileInfoResponseProto.FromString(here).fs
        assert status.IsInitialized()
        assert (status.owner, status.length) == (traits["owner"], sum(lengths))


BYTES = st.binary(max_size=30) | st.sampled_from(
    [
        b"/d/f",
        b"/d/\xff",
        b"/d/\xed\xa0\x80",
        b"/d//f",
        b"/d/.f",
        b"/d/f/",
        b"/\xff/f",
        b"/d",
        b"d/f",
    ]
)
REQUESTS = st.one_of(
    st.binary(max_size=40),
    BYTES.map(lambda path: b"\x0a" + bytes((len(path),)) + path),
    BYTES.map(lambda path: b"\x0a" + bytes((len(path) | 0x80, 0)) + path),
    BYTES.map(lambda path: b"\x0a" + bytes((len(path) + 1,)) + path),
    st.sampled_from([100, 128, 300, 16_383, 20_000]).map(lambda n: request("/d/" + "x" * n)),
)


@given(body=REQUESTS, user=st.sampled_from(["alice", "bob"]))
@FIXTURE
def test_any_bytes_are_a_request_or_not(native: ModuleType, body: bytes, user: str) -> None:
    tree = Tree()
    here = file_status.file_info_here(*tree.asked(body, user))
    assert native.file_info(*tree.asked(body, user)) == here


@given(
    owner=st.text(max_size=90),
    group=st.text(max_size=90),
    mode=st.integers(0, 0o1777),
    times=st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * 2),
    children=st.integers(0, 300),
)
@FIXTURE
def test_any_directory_is_shown_as_the_twin_shows_it(
    native: ModuleType,
    owner: str,
    group: str,
    mode: int,
    times: tuple[int, int],
    children: int,
) -> None:
    tree = Tree()
    made = Directory(1 << 20, "e", owner, group, mode, times[0])
    made.atime_ms = times[1]
    made.entries.update({str(number): number for number in range(children)})
    tree.directory.add(made)
    here = file_status.file_info_here(*tree.asked(request("/d/e")))
    assert native.file_info(*tree.asked(request("/d/e"))) == here
    long = len(owner.encode()) + len(group.encode()) > 160
    assert (here is None) is long
    if here is not None:
        assert pb.GetFileInfoResponseProto.FromString(here).fs.childrenNum == children
    asked = (*tree.asked(request("/d/e"))[:5], file_status.tables_of(tree.files, {1 << 20: None}))
    assert native.file_info(*asked) is file_status.file_info_here(*asked) is None


WRONG: Any = object()


@pytest.mark.parametrize(
    "attribute",
    ["features", "owner", "group", "mode", "mtime_ms", "atime_ms", "inode_id", "entries"],
)
def test_a_directory_of_wrong_parts_is_refused(native: ModuleType, attribute: str) -> None:
    tree = Tree()
    made = Directory(1 << 20, "e", "alice", "staff", 0o755, 1)
    tree.directory.add(made)
    setattr(made, attribute, WRONG)
    with pytest.raises(ERRORS):
        native.file_info(*tree.asked(request("/d/e")))


def test_blocks_that_are_gone_are_left_to_others(native: ModuleType) -> None:
    tree = Tree()
    tree.file.block_ids = [1 << 30]
    asked = tree.asked(request("/d/f"))
    assert native.file_info(*asked) is file_status.file_info_here(*asked) is None
    tree.file.block_ids = [1 << 30, 1 << 31]
    assert native.file_info(*asked) is file_status.file_info_here(*asked) is None


def test_a_row_that_was_removed_is_left_to_others(native: ModuleType) -> None:
    tree = Tree()
    tree.add(16388, "stays")
    tree.files.remove(16387)
    asked = tree.asked(request("/d/f"))
    assert native.file_info(*asked) is file_status.file_info_here(*asked) is None


ERRORS = (TypeError, ValueError, OverflowError, AttributeError, IndexError)


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("bad", [None, 1 << 70, "x", b"\x0a\x04/d/f", (), [], {}, 1.5])
def test_wrong_arguments_are_refused(native: ModuleType, place: int, bad: Any) -> None:
    arguments = list(Tree().asked(request("/d/f")))
    arguments[place] = bad
    try:
        found = native.file_info(*arguments)
    except ERRORS:
        return
    # Another request, no way, another user, no groups, or one who may do anything.
    assert place in (0, 1, 2, 3, 4)
    assert found is None or found == native.file_info(*Tree().asked(request("/d/f")))


@pytest.mark.parametrize(
    "way",
    [
        (),
        (1, 2),
        (1, 2, 3),
        (1, [1], 3),
        (1, [], 3),
        (1, [None], 3),
        (1, [object()], object()),
        [1, [], 3],
    ],
)
def test_a_wrong_way_is_refused(native: ModuleType, way: Any) -> None:
    tree = Tree()
    tree.ways["/d"] = way
    with pytest.raises(ERRORS):
        native.file_info(*tree.asked(request("/d/f")))


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize(
    "bad", [None, 1, {}, {256: 1}, {256: b"short"}, {256: array("q", [1] * 16)}, [], [1]], ids=repr
)
def test_wrong_tables_are_refused(native: ModuleType, place: int, bad: Any) -> None:
    tree = Tree()
    tables = list(file_status.tables_of(tree.files, {}))
    tables[place] = bad
    arguments = (*tree.asked(request("/d/f"))[:5], tuple(tables))
    try:
        found = native.file_info(*arguments)
    except ERRORS:
        return
    assert found is None or bad == {} or place in (2, 3, 4, 5)


@pytest.mark.parametrize(
    "wrong",
    [(), ("o", "g", 1, 2), ("o", "g", -1, 2, 3), ("o", "g", 1, 2, 1 << 70), (1, "g", 1, 2, 3)],
)
def test_wrong_traits_are_refused(native: ModuleType, wrong: Any) -> None:
    tree = Tree()
    tree.files.traits[:] = [wrong]
    with pytest.raises(ERRORS):
        native.file_info(*tree.asked(request("/d/f")))


def test_no_reference_stays(native: ModuleType) -> None:
    runs = 500
    tree = Tree()
    tree.add(16388, "several").block_ids = [1 << 30, 1 << 31]
    tree.files.features[16389] = tree.files.features.get(
        0, file_status.tables_of(tree.files, {})[6]
    )
    tree.directory.entries["special"] = 16389
    inner = Directory(1 << 20, "e", "alice", "staff", 0o755, 1)
    tree.directory.add(inner)
    names = ("f", "several", "special", "none", "\ud7ff", "e")
    bodies = [request(f"/d/{name}") for name in names]
    bodies += [b"\x0a\x04/d/\xff", request("/d"), request("/none/f")]
    watched = [
        *(tree.ways, tree.ways["/d"], tree.directory, tree.root, tree.files.traits[0]),
        *(tree.directory.entries, tree.files.rows.pages[16387 >> 6], *bodies),
        *(tree.directory.owner, tree.directory.group, inner, inner.entries),
    ]
    before = [sys.getrefcount(each) for each in watched]
    asked = [tree.asked(body, user) for body in bodies for user in ("alice", "bob", "carol")]
    tables = [each[5] for each in asked]
    for number in range(runs):
        for each in asked:
            native.file_info(*each)
        wrong = list(asked[0])
        wrong[number % 6] = 1.5
        try:
            native.file_info(*wrong)
        except ERRORS:
            continue
    del asked, tables, wrong, each
    after = [sys.getrefcount(each) for each in watched]
    grown = [late - early for early, late in zip(before, after, strict=True)]
    assert max(grown) < runs / 20


def test_what_is_returned_is_let_go(native: ModuleType) -> None:
    found = native.file_info(*Tree().asked(request("/d/f")))
    assert sys.getrefcount(found) == 2
