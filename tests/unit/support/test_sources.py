"""Trees of sources are made whatever the garbage collector does."""

from __future__ import annotations

import ast
import gc

import pytest

from tests.support.requirements.sources import tree_of

# Objects enough for many collections.
SOURCE = "x = 1\n" * 20_000


class Logged:
    """Garbage that has a tree made when it is collected, as a traceback does that is logged."""

    collected = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Logged.collected += 1
        ast.parse("1")


def test_no_garbage_is_collected_while_a_tree_is_made() -> None:
    gc.collect()
    before = Logged.collected
    Logged()
    tree = tree_of(SOURCE)
    assert Logged.collected == before
    assert len(tree.body) == 20_000
    gc.collect()
    assert Logged.collected == before + 1


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_also_after_an_error(enabled: bool) -> None:
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(SyntaxError):
            tree_of("def (")
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
