"""Each old fault can be put back: its text is in the source, once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import howdah
from tests.support.old_faults import FAULTS, OldFault

SOURCE = Path(howdah.__file__).parent.parent


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_change_that_puts_a_fault_back_fits_the_source(fault: OldFault) -> None:
    for change in fault.changes:
        path = SOURCE.joinpath(*change.module.split(".")).with_suffix(".py")
        source = path.read_text()
        assert source.count(change.old) == 1, f"{change.module}: {change.old!r}"
        ast.parse(source.replace(change.old, change.new))


def test_each_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 25
