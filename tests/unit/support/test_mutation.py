"""Mutants: what is changed, in which order, and who is asked whether it notices."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from howdah.testing.world import loader
from tests.support.mutation.__main__ import modules_in, worlds_in
from tests.support.mutation.judging import Verdict, Worlds, judge
from tests.support.mutation.mutants import Mutant, mutants_of, sample
from tests.support.mutation.reach import Reach, importers

_SOURCE = textwrap.dedent(
    '''
    """A text, which stays: 1 < 2."""

    LIMIT = 3


    class Store:
        def __repr__(self):
            return "none" if self.count == 0 else "some"

        def put(self, items, *, durable=True):
            """Another text."""
            assert items, "none"
            if len(items) >= LIMIT and not self.full:
                raise ValueError(f"more than {1 + 2}")
            for item in items:
                if item is None:
                    continue
                self.count += 1
            log.info("put %d", 1 + len(items))
            try:
                self.disk.sync()
            except OSError:
                self.failed = True
                raise
            return self.count - 1
    '''
)


def _named(operator: str) -> list[tuple[str, str]]:
    mutants = mutants_of("store", _SOURCE)
    return [(each.old, each.new) for each in mutants if each.operator == operator]


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        (
            "comparison flipped",
            [
                ("len(items) >= LIMIT", "(len(items) < LIMIT)"),
                ("item is None", "(item is not None)"),
            ],
        ),
        ("comparison moved by one", [("len(items) >= LIMIT", "(len(items) > LIMIT)")]),
        (
            "and for or",
            [
                (
                    "len(items) >= LIMIT and not self.full",
                    "(len(items) >= LIMIT or not self.full)",
                )
            ],
        ),
        ("statement dropped", [("self.count += 1", "pass"), ("self.failed = True", "pass")]),
        ("sync dropped", [("self.disk.sync()", "pass")]),
        ("jump dropped", [("continue", "pass")]),
        ("exception swallowed", [("self.failed = True\n            raise", "pass")]),
        ("plus for minus", [("self.count - 1", "(self.count + 1)")]),
        ("one more", [("1", "(2)"), ("1", "(2)")]),
    ],
)
def test_each_operator_changes_what_it_is_for(
    operator: str, changes: list[tuple[str, str]]
) -> None:
    assert _named(operator) == changes


def test_conditions_become_constants_and_are_negated() -> None:
    assert ("item is None", "True") in _named("condition constant")
    assert ("item is None", "False") in _named("condition constant")
    assert ("item is None", "(not (item is None))") in _named("boolean negated")


def test_each_mutant_is_another_program_in_which_other_lines_stay() -> None:
    mutants = mutants_of("store", _SOURCE)
    sources = {mutant.source(_SOURCE) for mutant in mutants}
    assert _SOURCE not in sources
    for mutant in mutants:
        changed = mutant.source(_SOURCE)
        ast.parse(changed)
        assert changed.splitlines()[: mutant.line - 1] == _SOURCE.splitlines()[: mutant.line - 1]


def test_texts_logs_assertions_and_representations_are_left_alone() -> None:
    lines = _SOURCE.splitlines()
    changed = {lines[mutant.line - 1].strip() for mutant in mutants_of("store", _SOURCE)}
    assert not any(
        line.startswith(('"""', "assert", "log.", 'return "none"', "LIMIT")) for line in changed
    )


def test_a_seed_decides_the_order_and_all_operators_come_in_turn() -> None:
    mutants = mutants_of("store", _SOURCE)
    first = sample(mutants, 1)
    assert first == sample(mutants, 1)
    assert first != sample(mutants, 2)
    assert sorted(map(str, first)) == sorted(map(str, mutants))
    operators = {mutant.operator for mutant in mutants}
    assert {mutant.operator for mutant in first[: len(operators)]} == operators


def test_a_package_has_all_its_modules_and_a_word_names_worlds() -> None:
    assert "howdah.datanode.recovery.worker" in modules_in(["howdah.datanode.recovery"])
    assert modules_in(["howdah.storage.retention"]) == ["howdah.storage.retention"]
    assert worlds_in(["rpc=2-3", "namenode=1"]) == [("rpc", 2), ("rpc", 3), ("namenode", 1)]
    with pytest.raises(ValueError, match="no scenario 'other'"):
        worlds_in(["other=1"])


def test_the_unit_tests_that_import_a_module_are_found() -> None:
    names = {path.name for path in importers(["howdah.storage.retention"])}
    assert "test_retention.py" in names
    assert "test_mutation.py" not in names


def test_what_reaches_a_line_is_read_as_it_was_written(tmp_path: Path) -> None:
    reach = Reach()
    reach.add_tests(
        {
            "slow": {"passed": True, "seconds": 2.0, "lines": {"store": [3]}},
            "fast": {"passed": True, "seconds": 1.0, "lines": {"store": [3, 4, 4]}},
            "broken": {"passed": False, "seconds": 1.0, "lines": {"store": [3]}},
        }
    )
    reach.add_world(("namenode", 1), {"store": [4]})
    reach.write(tmp_path / "reach.json")
    read = Reach.read(tmp_path / "reach.json")
    assert read.tests["store", 3] == ["fast", "slow"]
    assert read.tests["store", 4] == ["fast"]
    assert read.worlds["store", 4] == [("namenode", 1)]
    assert read.failed == ["broken"]


_TEST = "tests/unit/storage/test_retention.py"


def _judge_retention(old: str, new: str) -> Verdict:
    module = "howdah.storage.retention"
    source = loader.source_of(module)
    start = source.index(old)
    mutant = Mutant(module, 1, "one more", old, new, start, start + len(old))
    reach = Reach()
    reach.add_tests({_TEST: {"passed": True, "seconds": 1.0, "lines": {module: [1]}}})
    return judge(mutant, reach, Worlds(), most_tests_s=30.0)


def test_a_change_that_a_test_notices_is_told_with_the_test() -> None:
    verdict = _judge_retention("image.txid < kept", "image.txid > kept")
    assert verdict.noticed_by.startswith(f"{_TEST}::")


def test_a_change_that_no_test_notices_is_told() -> None:
    verdict = _judge_retention("needed = kept_txid + 1", "needed = 1 + kept_txid")
    assert not verdict.noticed_by
    assert "1 tests and 0 worlds reached the line" in str(verdict)
