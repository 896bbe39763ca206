"""The namenode against a dict: any sequence of operations does the same to both.

And what was logged on the way makes the same namespace again: from every prefix of the
log, from logs that end in the middle of a record, from images, from real directories.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from howdah.testing.namespaces.attributes import AttributeHistories
from howdah.testing.namespaces.changes import ChangeHistories
from howdah.testing.namespaces.survival import check_survival
from howdah.testing.namespaces.tree import TreeHistories


class NamespaceHistories(TreeHistories, ChangeHistories, AttributeHistories):
    """All operations."""


class ThoroughHistories(NamespaceHistories):
    """Torn at every byte."""

    def teardown(self) -> None:
        check_survival(self.namenode, thorough=True)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.req("FS-022", "FS-023")
def test_long_histories() -> None:
    run_state_machine_as_test(
        ThoroughHistories,
        settings=settings(
            max_examples=1000,
            stateful_step_count=100,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


TestNamespace = NamespaceHistories.TestCase
TestNamespace.settings = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
