"""Compiled modules are found if they are those of the sources, and not else."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from howdah.native import compiled
from tests.support.requirements.sources import tree_of


def libraries(package: Path) -> list[Path]:
    place = package / compiled.DIRECTORY
    return [place / f"{name}{EXTENSION_SUFFIXES[0]}" for name in ("howdah__mypyc", "howdah__made")]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a module `howdah.made` that was compiled, and one that it imports."""
    (tmp_path / compiled.DIRECTORY).mkdir()
    lines = []
    for kind, name in (("compiled", "made"), ("imported", "other")):
        source = tmp_path / f"{name}.py"
        source.write_text("VALUE = 1\n")
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        lines.append(f"{kind} howdah.{name} {source.name} {digest}\n")
    (tmp_path / compiled.DIRECTORY / compiled.SOURCES).write_text("".join(lines))
    for library in libraries(tmp_path):
        library.touch()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(compiled, "_state", "")
    monkeypatch.delenv("HOWDAH_COMPILED", raising=False)
    return tmp_path


def test_a_fresh_build_is_found(package: Path) -> None:
    assert compiled.use(package)
    assert compiled.state() == "1 modules are compiled"
    assert compiled.is_used()
    finder = sys.meta_path[0]
    assert isinstance(finder, compiled.Finder)
    shared, made = libraries(package)
    for name, library in (("howdah.made", made), ("howdah__mypyc", shared)):
        spec = finder.find_spec(name)
        assert spec is not None
        assert spec.origin == str(library)
    assert finder.find_spec("howdah.other") is None
    assert compiled.use(package), "once is enough"
    assert sys.meta_path.count(finder) == 1


def test_a_list_of_sources_that_is_cut_off_is_not_believed(package: Path) -> None:
    listed = package / compiled.DIRECTORY / compiled.SOURCES
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[:1]) + "imported how")
    assert not compiled.use(package)
    assert "is cut off: build it again" in compiled.state()


@pytest.mark.parametrize("name", ["made.py", "other.py"])
def test_a_source_that_was_changed_is_not_shadowed(package: Path, name: str) -> None:
    (package / name).write_text("VALUE = 2\n")
    assert not compiled.use(package)
    expected = f"the sources run: {name} is another one than when modules were compiled"
    assert compiled.state() == expected
    assert not compiled.is_used()


def test_a_source_that_is_gone_is_a_changed_one(package: Path) -> None:
    (package / "other.py").unlink()
    assert not compiled.use(package)
    assert "other.py is another one" in compiled.state()


def test_a_build_for_another_python_is_left_alone(package: Path) -> None:
    libraries(package)[1].unlink()
    assert not compiled.use(package)
    assert "for another Python than this one" in compiled.state()


def test_without_a_build_the_sources_run(tmp_path: Path, package: Path) -> None:
    assert not compiled.use(tmp_path / "elsewhere")
    assert compiled.state() == "the sources run: no module is compiled"


def test_out_of_a_zip_the_sources_run(tmp_path: Path, package: Path) -> None:
    archive = tmp_path / "howdah.zip"
    archive.touch()
    assert not compiled.use(archive / "howdah")
    assert compiled.state() == "the sources run: no module is compiled"


def test_none_is_used_when_one_was_imported_before(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "howdah.made", sys)
    assert not compiled.use(package)
    assert compiled.state() == "the sources run: howdah.made was imported before"


def test_it_can_be_switched_off(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWDAH_COMPILED", "off")
    assert not compiled.use(package)
    assert compiled.state() == "the sources run: HOWDAH_COMPILED=off is set"


def test_a_program_that_must_run_compiled_modules_ends_where_there_are_none(
    tmp_path: Path,
) -> None:
    for name in ("howdah/__init__.py", "howdah/native/__init__.py", "howdah/native/compiled.py"):
        copy = tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes((Path(compiled.__file__).parents[2] / name).read_bytes())
    ran = subprocess.run(
        [sys.executable, "-P", "-c", "import howdah"],
        env={"PYTHONPATH": str(tmp_path), "HOWDAH_COMPILED": "on"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert ran.stderr.endswith(
        "ImportError: HOWDAH_COMPILED=on is set, but the sources run: no module is compiled\n"
    )


def test_a_build_without_them_has_none_of_an_earlier_one(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    left = tmp_path / "lib" / "howdah" / compiled.DIRECTORY / compiled.SOURCES
    left.parent.mkdir(parents=True)
    left.touch()
    subprocess.run(
        [
            *(sys.executable, "setup.py", "--quiet", "build_ext"),
            *("--build-lib", str(tmp_path / "lib"), "--build-temp", str(tmp_path / "temp")),
        ],
        cwd=root,
        # The kernel is not wanted here, and may be missing.
        env={**os.environ, "CC": "false", "HOWDAH_COMPILE": ""},
        capture_output=True,
        check=True,
    )
    assert not left.exists()


def test_classes_of_compiled_modules_have_their_bases_there() -> None:
    """mypyc wants a class's bases compiled with it, where they are ours; that costs a minute to
    find out by the compiler (`test_compiled_build.py`)."""
    root = Path(__file__).parents[3]
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    modules = settings["tool"]["howdah"]["compiled"]
    elsewhere = set()
    for module in modules:
        text = root.joinpath("src", *module.split(".")).with_suffix(".py").read_text()
        homes: dict[str, str] = {}
        tree = tree_of(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                homes |= {alias.asname or alias.name: node.module for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes_of_bases = {homes.get(ast.unparse(base), "") for base in node.bases}
                ours = {home for home in homes_of_bases if home.startswith("howdah.")}
                elsewhere |= {(f"{module}.{node.name}", home) for home in ours - set(modules)}
    assert elsewhere == set()
