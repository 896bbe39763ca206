"""How many examples a property is tried with: some of them in each run, many in the long ones.

`./dev test` tries two fifths of the number that stands at a property (Hypothesis's 100 where
there is none), always the same ones. `./dev torture` runs all properties, too, with four times the
number (`HOWDAH_TORTURE=10`: forty times). A property that is long itself (marked `torture`) has a
number of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest
from hypothesis import settings

from tests.support.torture import times

LONG: Final = 4
LEAST: Final = 20
"""So many are tried in short runs, too, where so many are stated."""
_SETTINGS: Final = "_hypothesis_internal_use_settings"


def short_count(stated: int) -> int:
    """How many examples `./dev test` tries.

    >>> short_count(100), short_count(30), short_count(8)
    (40, 20, 8)
    """
    return min(stated, max(LEAST, stated * 2 // 5))


def long_count(stated: int) -> int:
    """How many examples `./dev torture` tries.

    >>> long_count(100)
    400
    """
    return times(stated * LONG)


def set_examples(items: Iterable[pytest.Item], limit_s: float | None = None) -> None:
    """Set the number of examples of all properties among `items`. In a long run, where a test may
    take `limit_s`, mark those that are not long themselves `torture`, so that they are part of
    it."""
    count = short_count if limit_s is None else long_count
    done = set[object]()
    for item in items:
        holder = _holder(item)
        if holder is None or item.get_closest_marker("torture"):
            continue
        if limit_s is not None:
            item.add_marker(pytest.mark.torture)
            item.add_marker(pytest.mark.timeout(limit_s), append=False)
        if holder not in done:
            done.add(holder)
            name = "settings" if isinstance(holder, type) else _SETTINGS
            stated = getattr(holder, name)
            new = settings(stated, max_examples=count(stated.max_examples))
            setattr(holder, name, new)


def _holder(item: pytest.Item) -> object | None:
    """What has the settings of a property: its function, or the class of its state machine."""
    test = getattr(item, "obj", None)
    function = getattr(test, "__func__", test)
    if not getattr(function, "is_hypothesis_test", False):
        return None
    if hasattr(function, "_hypothesis_state_machine_class"):
        owner: object = getattr(item, "cls", None)
        return owner
    assert hasattr(function, _SETTINGS), "Hypothesis keeps its settings elsewhere by now"
    return function
