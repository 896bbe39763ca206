"""What `howdah.spark` shows to users, wherever it lives."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import howdah.spark


@pytest.mark.parametrize("name", howdah.spark.__all__)
def test_public_name_is_importable(name: str) -> None:
    assert getattr(howdah.spark, name).__name__ == name


def test_no_module_or_room_hides_a_public_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(howdah.spark.__path__)}
    assert not modules & set(howdah.spark.__all__)


@pytest.mark.parametrize("name", ["namespace_reports", "sessions"])
def test_documented_module_is_importable(name: str) -> None:
    assert importlib.import_module(f"howdah.spark.{name}")
