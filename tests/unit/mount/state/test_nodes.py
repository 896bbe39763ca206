"""The files that the kernel knows, by number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from howdah.mount.protocol.operations import ROOT_ID
from howdah.mount.state.nodes import Node, Nodes


def looked_up(
    nodes: Nodes, parent: Node, name: str, file_id: int = 0, *, is_directory: bool = False
) -> Node:
    return nodes.looked_up(parent, name, is_directory=is_directory, file_id=file_id)


def test_paths_follow_the_directories_above() -> None:
    nodes = Nodes("/data/")
    a = looked_up(nodes, nodes.root, "a", is_directory=True)
    b = looked_up(nodes, a, "b", is_directory=True)
    f = looked_up(nodes, b, "f")
    assert nodes.path_of(nodes.root) == "/data"
    assert nodes.path_of(f) == "/data/a/b/f"
    nodes.renamed(a, "b", nodes.root, "c")
    assert nodes.path_of(f) == "/data/c/f"
    nodes.removed(nodes.root, "c")
    assert nodes.path_of(f) is None


def test_the_root_of_a_filesystem_has_the_shortest_path() -> None:
    nodes = Nodes("/")
    assert nodes.path_of(nodes.root) == "/"
    assert nodes.path_of(looked_up(nodes, nodes.root, "a")) == "/a"


def test_a_name_that_another_file_has_taken_is_another_node() -> None:
    nodes = Nodes("/")
    old = looked_up(nodes, nodes.root, "a", 1)
    assert looked_up(nodes, nodes.root, "a", 1) is old
    new = looked_up(nodes, nodes.root, "a", 2)
    assert new.node_id != old.node_id
    assert nodes.path_of(old) is None
    assert nodes.path_of(new) == "/a"
    assert nodes.get(old.node_id) is old
    directory = looked_up(nodes, nodes.root, "a", is_directory=True)
    assert directory is not new


def test_a_node_is_known_until_all_lookups_are_taken_back() -> None:
    nodes = Nodes("/")
    for _ in range(3):
        node = looked_up(nodes, nodes.root, "a")
    nodes.forget(node.node_id, 2)
    assert nodes.get(node.node_id) is node
    nodes.forget(node.node_id, 1)
    assert nodes.get(node.node_id) is None
    assert nodes.child(nodes.root, "a") is None
    assert len(nodes) == 1


def test_a_forgotten_directory_stays_while_something_below_is_known() -> None:
    nodes = Nodes("/")
    a = looked_up(nodes, nodes.root, "a", is_directory=True)
    f = looked_up(nodes, a, "f")
    nodes.forget(a.node_id, 1)
    assert nodes.path_of(f) == "/a/f"
    nodes.forget(f.node_id, 1)
    assert len(nodes) == 1


def test_numbers_that_nobody_knows_are_ignored() -> None:
    nodes = Nodes("/")
    nodes.forget(4711, 1)
    nodes.forget(ROOT_ID, 1 << 60)
    node = looked_up(nodes, nodes.root, "a")
    nodes.forget(node.node_id, 1 << 60)
    assert list(nodes) == [nodes.root]


def test_a_rename_over_a_file_leaves_that_one_without_a_place() -> None:
    nodes = Nodes("/")
    new, old = looked_up(nodes, nodes.root, "new", 1), looked_up(nodes, nodes.root, "old", 2)
    assert nodes.renamed(nodes.root, "new", nodes.root, "old") is old
    assert nodes.path_of(new) == "/old"
    assert nodes.path_of(old) is None
    assert nodes.renamed(nodes.root, "old", nodes.root, "old") is None
    assert nodes.path_of(new) == "/old"


def test_what_nobody_has_looked_up_may_be_renamed_and_removed() -> None:
    nodes = Nodes("/")
    a = looked_up(nodes, nodes.root, "a")
    assert nodes.renamed(nodes.root, "unknown", nodes.root, "a") is a
    assert nodes.path_of(a) is None
    assert nodes.removed(nodes.root, "unknown") is None


NAMES = st.sampled_from("abc")


class KernelAndTable(RuleBasedStateMachine):
    """The table beside a kernel that counts its own lookups and knows where it put what."""

    directories = Bundle("directories")
    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.nodes = Nodes("/")
        self.lookups: dict[int, int] = {}
        self.by_id: dict[int, Node] = {}
        self.seen: set[int] = {ROOT_ID}

    @rule(target=directories)
    def root(self) -> Node:
        return self.nodes.root

    @rule(target=known, parent=directories, name=NAMES, file_id=st.integers(0, 3))
    def look_up_file(self, parent: Node, name: str, file_id: int) -> int:
        return self._found(looked_up(self.nodes, parent, name, file_id))

    @rule(target=directories, parent=directories, name=NAMES)
    def look_up_directory(self, parent: Node, name: str) -> Node:
        node = looked_up(self.nodes, parent, name, is_directory=True)
        self._found(node)
        return node

    def _found(self, node: Node) -> int:
        assert node.node_id not in self.seen or self.by_id[node.node_id] is node
        self.seen.add(node.node_id)
        self.by_id[node.node_id] = node
        self.lookups[node.node_id] = self.lookups.get(node.node_id, 0) + 1
        return node.node_id

    @rule(node_id=consumes(known), count=st.integers(1, 3))
    def forget(self, node_id: int, count: int) -> None:
        self.nodes.forget(node_id, count)
        self.lookups[node_id] = max(self.lookups.get(node_id, 0) - count, 0)

    @rule(parent=directories, name=NAMES)
    def remove(self, parent: Node, name: str) -> None:
        self.nodes.removed(parent, name)

    @rule(parent=directories, name=NAMES, new_parent=directories, new_name=NAMES)
    def rename_file(self, parent: Node, name: str, new_parent: Node, new_name: str) -> None:
        node = self.nodes.child(parent, name)
        if node is None or not node.is_directory:
            self.nodes.renamed(parent, name, new_parent, new_name)
            if node is not None and new_parent is not parent:
                assert self.nodes.child(new_parent, new_name) is node

    @invariant()
    def whatever_the_kernel_knows_is_known(self) -> None:
        for node_id, count in self.lookups.items():
            if count:
                assert self.nodes.get(node_id) is self.by_id[node_id]

    @invariant()
    def names_and_places_agree(self) -> None:
        for node in self.nodes:
            for name, child in node.children.items():
                assert (child.name, child.parent) == (name, node)
                assert self.nodes.get(child.node_id) is child
            if node is not self.nodes.root:
                assert node.lookups or node.children


TestKernelAndTable = KernelAndTable.TestCase


@given(st.lists(st.tuples(NAMES, st.integers(1, 2)), max_size=20))
def test_all_is_forgotten_in_the_end(steps: list[tuple[str, int]]) -> None:
    nodes = Nodes("/")
    found = [looked_up(nodes, nodes.root, name, file_id) for name, file_id in steps]
    for node in found:
        nodes.forget(node.node_id, 1)
    assert len(nodes) == 1
