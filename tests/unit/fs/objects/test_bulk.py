"""Bulk deletes in object stores: what is a directory is no file, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs.objects.bulk import ObjectBulkDelete
from tests.support.objects.keys import Keys, tree_of

NAMES = st.sampled_from(["x", "x-1", "x!", "x ", "x/", "x/y", "x-1/z", "x.", "x0", "a", "x-/", "é"])


class Files:
    """What deletes directories: one by one, and only empty ones."""

    def __init__(self, store: Keys) -> None:
        self.store = store
        self.asked: list[str] = []

    def resolve(self, path: object) -> str:
        return str(path)

    def delete(self, path: object, recursive: bool = False) -> bool:
        key = f"{str(path)[1:]}/"
        self.asked.append(str(path))
        if any(each.startswith(key) and each != key for each in self.store.keys):
            raise errors.DirectoryNotEmpty(f"{path} is not empty")
        self.store.delete_many([key])
        return True


def directories_of(keys: set[str], targets: list[str]) -> set[str]:
    """The targets that are directories and no files."""
    return {
        path
        for path in targets
        if path[1:] not in keys and any(key.startswith(f"{path[1:]}/") for key in keys)
    }


@given(
    keys=st.sets(st.tuples(st.sampled_from(["", "d/"]), NAMES).map("".join), max_size=12),
    targets=st.lists(
        st.tuples(st.sampled_from(["/", "/d/"]), NAMES).map(lambda both: "".join(both).rstrip("/")),
        min_size=1,
        max_size=6,
        unique=True,
    ),
    page_keys=st.integers(1, 5),
    sorts_keys=st.booleans(),
)
@example(keys={"a", "x", "x/"}, targets=["/x"], page_keys=1, sorts_keys=False)
@example(keys={"x", "x/"}, targets=["/x", "/x-1"], page_keys=1, sorts_keys=True)
def test_directories_among_the_targets_are_found_in_any_page(
    keys: set[str], targets: list[str], page_keys: int, sorts_keys: bool
) -> None:
    store = Keys(keys, page_keys, sorts_keys=sorts_keys)
    files = Files(store)
    ObjectBulkDelete(files, tree_of(store), "/", 1000).delete(targets)
    assert set(files.asked) == directories_of(keys, targets)


@pytest.mark.parametrize("siblings", [10, 1500])
@pytest.mark.parametrize("sorts_keys", [True, False])
def test_directory_behind_a_page_of_siblings_is_not_deleted_as_a_file(
    siblings: int, sorts_keys: bool
) -> None:
    store = Keys(
        ["d/x/inner", *(f"d/x-{n:05}" for n in range(siblings))], 1000, sorts_keys=sorts_keys
    )
    bulk = ObjectBulkDelete(Files(store), tree_of(store), "/d", 1000)
    ((path, error),) = bulk.delete(["/d/x", "/d/x-00001"])
    assert path == "/d/x"
    assert isinstance(error, errors.DirectoryNotEmpty)
    assert "d/x-00001" not in store.keys
    assert "d/x/inner" in store.keys


def test_few_files_of_many_cost_few_requests() -> None:
    store = Keys([f"d/{n:06}" for n in range(100_000)], 1000)
    bulk = ObjectBulkDelete(Files(store), tree_of(store), "/d", 1000)
    assert bulk.delete(["/d/000001", "/d/099999"]) == []
    assert store.calls <= 6
    assert len(store.keys) == 99_998


@pytest.mark.parametrize("page_keys", [1, 2, 3])
def test_a_directory_whose_first_page_is_its_marker_is_not_empty(page_keys: int) -> None:
    tree = tree_of(Keys(["d/", "d/x", "e/", "f"], page_keys))
    assert tree.has_entries("/d")
    assert not tree.has_entries("/e")


@pytest.mark.parametrize("sorts_keys", [True, False])
@pytest.mark.parametrize("page_keys", [1, 2, 3, 10])
def test_a_file_is_no_directory_though_keys_lie_below_it_on_another_page(
    page_keys: int, sorts_keys: bool
) -> None:
    """A copy would refuse to have both."""
    tree = tree_of(
        Keys(["t/d", "t/d!", "t/d-", "t/d/x", "t/e/x"], page_keys, sorts_keys=sorts_keys)
    )
    listed = {status.path: status.is_directory for status in tree.entries("/t", lambda: None)}
    assert listed == {"/t/d": False, "/t/d!": False, "/t/d-": False, "/t/e": True}
    assert len(list(tree.entries("/t", lambda: None))) == 4
