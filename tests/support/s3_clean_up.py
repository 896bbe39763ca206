"""A plugin for Ceph's s3-tests: what a test leaves is deleted as the superuser.

The suite empties the buckets that a user is shown, which with other servers are only his own.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

import howdah


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    suite: Any = importlib.import_module("s3tests.functional")
    fs = howdah.connect(os.environ["S3TEST_CLUSTER"])

    def teardown() -> None:
        for status in fs.list_status("/s3"):
            fs.delete(status.path, recursive=True)

    suite.setup = lambda: None
    suite.teardown = teardown
