"""A real Chromium without a window, driven by Playwright; skipped by name where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser. While it is there an event loop is said to run in this thread, which other
    modules would not bear."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"Chromium is not installed ({', '.join(_NAMES)})")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            # A sandbox of its own wants privileges that containers do not give; it opens
            # nothing but pages of this test's cluster.
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A tab in which nothing may go wrong unseen: what a page's script or policy complains about
    fails the test."""
    context = chromium.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(30_000)
    tab = context.new_page()
    said: list[str] = []
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on(
        "console",
        lambda message: said.append(message.text) if "Content Security" in message.text else None,
    )
    yield tab
    context.close()
    assert said == []
