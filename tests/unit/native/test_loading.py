"""Which kernel runs, and why none does."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from howdah.native import loading


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("HOWDAH_KERNEL", raising=False)
    loading.kernel.cache_clear()
    yield
    monkeypatch.undo()
    loading.kernel.cache_clear()


def built(revision: int | None) -> ModuleType:
    module = ModuleType("howdah._kernel")
    if revision is not None:
        module.__dict__["REVISION"] = revision
    return module


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "it is not built for this Python"),
        (built(1), f"its revision is 1, and not {loading.REVISION}"),
        (built(None), f"its revision is unknown, and not {loading.REVISION}"),
    ],
)
def test_a_kernel_that_cannot_be_used_is_none_with_a_reason(
    found: ModuleType | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_built", lambda: found)
    assert loading.kernel() is None
    assert why in loading.why_none()
    assert why in loading.warning()
    assert "C compiler" in loading.warning()


def test_a_kernel_of_these_sources_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    module = built(loading.REVISION)
    monkeypatch.setattr(loading, "_built", lambda: module)
    assert loading.kernel() is module
    assert loading.why_none() == ""
    assert loading.warning() == ""


def test_a_kernel_that_is_switched_off_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWDAH_KERNEL", "off")
    assert loading.kernel() is None
    assert loading.why_none() == loading.SWITCHED_OFF
    assert loading.warning() == ""
