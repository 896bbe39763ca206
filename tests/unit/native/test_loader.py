"""Which kernel runs, and why none does."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from howdah.native import loader


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("HOWDAH_KERNEL", raising=False)
    loader.kernel.cache_clear()
    yield
    monkeypatch.undo()
    loader.kernel.cache_clear()


def built(revision: int | None) -> ModuleType:
    module = ModuleType("howdah.native._kernel")
    if revision is not None:
        module.__dict__["REVISION"] = revision
    return module


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "it is not built for this Python"),
        (built(1), f"its revision is 1, and not {loader.REVISION}"),
        (built(None), f"its revision is unknown, and not {loader.REVISION}"),
    ],
)
def test_a_kernel_that_cannot_be_used_is_none_with_a_reason(
    found: ModuleType | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "_built", lambda: found)
    assert loader.kernel() is None
    assert why in loader.why_none()
    assert why in loader.warning()
    assert "C compiler" in loader.warning()


def test_a_kernel_of_these_sources_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    module = built(loader.REVISION)
    monkeypatch.setattr(loader, "_built", lambda: module)
    assert loader.kernel() is module
    assert loader.why_none() == ""
    assert loader.warning() == ""


def test_a_kernel_that_is_switched_off_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWDAH_KERNEL", "off")
    assert loader.kernel() is None
    assert loader.why_none() == loader.SWITCHED_OFF
    assert loader.warning() == ""
