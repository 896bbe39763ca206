"""A quorum for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.quorum import VERSION, Quorum


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[Quorum]:
    nodes = Quorum(tmp_path)
    nodes.log().format(VERSION)
    yield nodes
    nodes.close()
