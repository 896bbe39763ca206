"""Names that stay in order while they come and go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from howdah.namenode.state.inodes import sorted_names
from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.inodes.sorted_names import SortedNames, names_after

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=3)


class Kept(RuleBasedStateMachine):
    """Against a set that is sorted each time; pieces are of two to four names."""

    def __init__(self) -> None:
        super().__init__()
        self.real = SortedNames([])
        self.model: set[str] = set()

    @rule(name=names)
    def add(self, name: str) -> None:
        if name not in self.model:
            self.model.add(name)
            self.real.add(name)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.model:
            name = data.draw(st.sampled_from(sorted(self.model)))
            self.model.remove(name)
            self.real.remove(name)

    @rule(name=st.just("") | names, limit=st.integers(1, 9))
    def look(self, name: str, limit: int) -> None:
        behind = [each for each in sorted(self.model) if each > name]
        expected = behind[:limit], len(behind) - len(behind[:limit])
        assert self.real.after(name, limit) == expected
        assert names_after(sorted(self.model), name, limit) == expected

    @invariant()
    def is_in_order(self) -> None:
        assert list(self.real) == sorted(self.model)
        assert len(self.real) == len(self.model)


class TestKept(Kept.TestCase):  # type: ignore[valid-type, misc]
    @pytest.fixture(autouse=True)
    def small_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sorted_names, "PIECE", 2)


@given(st.sets(names, max_size=30))
def test_they_begin_in_order(found: set[str]) -> None:
    assert list(SortedNames(found)) == sorted(found)


def test_a_directory_that_changes_between_pages_is_not_sorted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory = Directory(1, "", "o", "g", 0o755, 0)
    for number in range(50):
        directory.add(Directory(2 + number, f"d{number:03}", "o", "g", 0o755, 0))
    assert directory.names_after("", 10)[0] == [f"d{number:03}" for number in range(10)]

    def sort_again(*_: object) -> None:
        raise AssertionError("the names are sorted again")

    monkeypatch.setattr(sorted_names, "sorted", sort_again, raising=False)
    directory.add(Directory(99, "d009a", "o", "g", 0o755, 0))
    removed = directory.child("d010")
    assert removed is not None
    directory.remove(removed)
    assert directory.names_after("d009", 2) == (["d009a", "d011"], 38)
    directory.clear()
    monkeypatch.undo()
    assert directory.names_after("", 10) == ([], 0)
