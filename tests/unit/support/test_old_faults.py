"""Each old fault can be put back: its text is in the source, once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import howdah
from tests.support.old_faults import FAULTS, KNOWN, OldFault

SOURCE = Path(howdah.__file__).parent.parent
GUIDE = SOURCE.parent / "docs" / "simulation.md"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_change_that_puts_a_fault_back_fits_the_source(fault: OldFault) -> None:
    for change in fault.changes:
        path = SOURCE.joinpath(*change.module.split(".")).with_suffix(".py")
        source = path.read_text()
        assert source.count(change.old) == 1, f"{change.module}: {change.old!r}"
        ast.parse(source.replace(change.old, change.new))


def test_each_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 25


def test_each_fault_that_was_found_is_in_the_table_of_the_guide() -> None:
    assert KNOWN.keys() <= {fault.name for fault in FAULTS}
    rows = [line.split(" | ") for line in GUIDE.read_text().splitlines() if line.startswith("| `")]
    listed = {row[0].strip("|` "): row for row in rows if row[0].strip("|` ") in KNOWN}
    assert listed.keys() == KNOWN.keys()
    for name, known in KNOWN.items():
        assert listed[name][2] == f"`{known.scenario}`"
        assert listed[name][3] == str(known.worlds)
        assert listed[name][4].rstrip(" |") == known.learned
