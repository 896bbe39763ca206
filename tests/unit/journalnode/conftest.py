"""Journals in a directory: nobody cuts the power here but who says so, so syncs cost nothing."""

from __future__ import annotations

import os

import pytest

from howdah.runtime import disk


@pytest.fixture(autouse=True)
def _quick_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: None)
    # Looked up at each call, so that what a test puts in its place is seen.
    monkeypatch.setattr(disk, "_fdatasync", lambda descriptor: os.fdatasync(descriptor))
