"""Workers share the work of rewriting the modules of a new checkout."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.assertion import rewrite

from tests.support.requirements import pytest_precompile

TEST = "def test_it(): assert {}"


def kept(file: Path) -> Path:
    return rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)


def test_what_is_rewritten_ahead_is_what_an_import_takes(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    file = tmp_path / "test_a.py"
    file.write_text(TEST.format(1))
    pytest_precompile.rewrite_ahead(request.config, [file])
    assert rewrite._read_pyc(file, kept(file)) is not None


def test_a_module_that_is_no_python_is_left_to_its_import(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    wrong, cut, right = (tmp_path / f"test_{name}.py" for name in "abc")
    wrong.write_text("def (")
    cut.write_bytes(b"\0")
    right.write_text(TEST.format(1))
    pytest_precompile.rewrite_ahead(request.config, [wrong, cut, right])
    assert [kept(each).exists() for each in (wrong, cut, right)] == [False, False, True]


def test_what_is_kept_is_not_made_again(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    file = tmp_path / "test_a.py"
    file.write_text(TEST.format(1))
    kept(file).parent.mkdir()
    kept(file).write_bytes(b"kept")
    pytest_precompile.rewrite_ahead(request.config, [file])
    assert kept(file).read_bytes() == b"kept"


def worker(request: pytest.FixtureRequest, root: Path, number: int) -> Any:
    """The configuration of one worker of two, for a checkout at `root`."""
    real = request.config
    told = {"workerid": f"gw{number}", "workercount": 2}
    return SimpleNamespace(
        rootpath=root,
        workerinput=told,
        **{name: getattr(real, name) for name in ("pluginmanager", "stash", "getini")},
    )


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four modules of tests."""
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    directory = tmp_path / "tests" / "unit"
    directory.mkdir(parents=True)
    for name in "abcd":
        (directory / f"test_{name}.py").write_text(TEST.format(1))
    return tmp_path


def made(checkout: Path) -> str:
    files = sorted((checkout / "tests").rglob("test_*.py"))
    return "".join(each.stem[-1] for each in files if kept(each).exists())


def test_workers_have_shares(request: pytest.FixtureRequest, checkout: Path) -> None:
    pytest_precompile.pytest_configure(worker(request, checkout, 0))
    assert made(checkout) == "ac"
    pytest_precompile.pytest_configure(worker(request, checkout, 1))
    assert made(checkout) == "abcd"


def test_where_nothing_is_to_be_kept_nothing_is_made(
    request: pytest.FixtureRequest, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    pytest_precompile.pytest_configure(worker(request, checkout, 0))
    assert made(checkout) == ""
