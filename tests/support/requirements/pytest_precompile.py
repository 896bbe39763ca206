"""A pytest plugin: in a new checkout the workers of a run compile each module once.

`./dev test` loads it with `-p`. pytest rewrites the assertions of modules, which takes longer
than to compile them, and keeps what came of it beside the source. Workers import the same
modules in the same order at the same time, so where nothing has been run yet each of them did
the work of all. Here each begins with a share of its own, and finds the rest done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

PACKAGE = "howdah"


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    # What pytest-xdist tells its workers; the first process imports no tests.
    told = getattr(config, "workerinput", None)
    if told is None or sys.dont_write_bytecode:
        return
    number, count = int(told["workerid"].removeprefix("gw")), int(told["workercount"])
    rewrite_ahead(config, modules(config)[number::count])


def modules(config: pytest.Config) -> list[Path]:
    """Of the checkout, those whose assertions are rewritten when they are imported."""
    root = config.rootpath
    found = [*(root / "tests").rglob("test_*.py"), *(root / "tests").rglob("conftest.py")]
    hook = config.pluginmanager.rewrite_hook
    # Installed for development, our package is rewritten as a whole: it has a plugin for users.
    if isinstance(hook, rewrite.AssertionRewritingHook) and hook._is_marked_for_rewrite(
        PACKAGE, config.stash[rewrite.assertstate_key]
    ):
        found += (root / "src" / PACKAGE).rglob("*.py")
    return sorted(found)


def rewrite_ahead(config: pytest.Config, files: Iterable[Path]) -> None:
    """Rewrite and keep these, as their import would. What is kept already stays, out of date or
    not, and what is wrong with a source its import will say."""
    for file in files:
        kept = rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)
        if kept.exists() or not rewrite.try_makedirs(kept.parent):
            continue
        try:
            source_hash, code = rewrite._rewrite_test(file, config)
        except (SyntaxError, ValueError):
            continue
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, kept)
