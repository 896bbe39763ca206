"""The examples say what they need before they start anything."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from howdah.java import NoJava

DIRECTORY = Path(__file__).parents[2] / "examples"
EXAMPLES = [DIRECTORY / "flights_demo.py", DIRECTORY / "lake.py"]


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module beside the examples, which they import as programs do."""
    monkeypatch.syspath_prepend(DIRECTORY)
    monkeypatch.delitem(sys.modules, "nycflights", raising=False)
    return importlib.import_module("nycflights")


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example as a module that must not start a cluster."""
    name = f"{request.param.stem}_of_examples"
    spec = importlib.util.spec_from_file_location(name, request.param)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)

    def start(*_: Any, **__: Any) -> None:
        pytest.fail("a cluster was started")

    monkeypatch.setattr(module, "MiniCluster", start)
    monkeypatch.setattr(sys, "argv", [request.param.name])
    return module


def test_missing_packages_are_named_at_once(
    example: ModuleType, shared: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in example.PACKAGES:

        def find(name: str, missing: str = package) -> ModuleSpec | None:
            return None if name == missing else ModuleSpec(name, None)

        monkeypatch.setattr(shared, "find_spec", find)
        with pytest.raises(SystemExit, match=f"pip install {package}$"):
            example.main()


def test_missing_java_is_named_at_once(
    example: ModuleType, shared: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find() -> Path:
        raise NoJava("Java 17 or newer is needed")

    monkeypatch.setattr(shared, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr(shared, "find_java_home", find)
    with pytest.raises(SystemExit, match="Java 17 or newer is needed"):
        example.main()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--days", "0"], "--days must be at least 1"),
        (["--page", "/nowhere/lake.html"], "/nowhere is not a directory"),
    ],
)
def test_lake_refuses_its_options_at_once(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lake = next(path for path in EXAMPLES if path.stem == "lake")
    spec = importlib.util.spec_from_file_location("lake_of_options", lake)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lake_of_options", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["lake.py", *arguments])
    with pytest.raises(SystemExit):
        module.main()
    assert said in capsys.readouterr().err
