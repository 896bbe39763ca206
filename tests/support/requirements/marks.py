"""Tests that are marked wrongly, in this process and in workers of pytest-xdist."""

from __future__ import annotations

from functools import partial

import pytest


def is_worker(config: pytest.Config) -> bool:
    """True in the processes that pytest-xdist starts."""
    return hasattr(config, "workerinput")


def refuse(item: pytest.Item, message: str) -> None:
    """End the run for a wrong mark; a worker, which cannot say why a run ends, lets the
    test fail with the message instead."""
    if not is_worker(item.config):
        raise pytest.UsageError(message)
    setattr(item, "runtest", partial(pytest.fail, message, pytrace=False))  # noqa: B010
