"""A wheel and a source distribution are made, have all that is needed, and a cluster runs from
what was installed of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.unpacking import unpack

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
BUILD = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1200)]


def run(*words: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1000,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the source distribution: what is missing there is missing in it."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    shutil.copytree(
        ROOT / "src",
        source / "src",
        ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"),
    )
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    run("-c", BUILD, "build_sdist", place, cwd=source)
    (archive,) = place.glob("*.tar.gz")
    unpack(archive, place / "unpacked")
    (unpacked,) = (place / "unpacked").iterdir()
    run("-c", BUILD, "build_wheel", place, cwd=unpacked)
    (made,) = place.glob("*.whl")
    return made


def test_the_wheel_has_the_kernel_for_every_later_python(wheel: Path) -> None:
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("a C compiler is not installed")
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert "howdah/native/_kernel.abi3.so" in names
    assert "howdah/py.typed" in names
    assert not [name for name in names if name.startswith("tests/")]


def test_a_cluster_runs_from_what_was_installed(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    found = {"PYTHONPATH": str(site)}
    where = run(
        "-P", "-c", "import howdah.native._kernel as k; print(k.__file__)", cwd=tmp_path, **found
    )
    assert Path(where.strip()).parent == site / "howdah" / "native"
    howdah = ("-P", "-m", "howdah")
    up = run(*howdah, "up", "--dir", tmp_path / "c", "--json", cwd=tmp_path, **found)
    try:
        uri = json.loads(up)["uri"]
        run(*howdah, "dfs", "-fs", uri, "-mkdir", "/a", cwd=tmp_path, **found)
        shown = run(*howdah, "dfs", "-fs", uri, "-ls", "/", cwd=tmp_path, **found)
        assert " /a\n" in shown
    finally:
        run(*howdah, "down", "--dir", tmp_path / "c", cwd=tmp_path, **found)


def test_what_build_makes_runs_in_a_bare_environment(wheel: Path, tmp_path: Path) -> None:
    """As a user gets it: built apart from this environment, with its dependencies from an index."""
    pytest.importorskip("build")
    source = wheel.parent / "source"
    place = str(tmp_path / "any")
    index = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", place, "h11"]
    if subprocess.run(index, capture_output=True, check=False, timeout=300).returncode:
        pytest.skip("no index of packages can be reached")
    run("-m", "build", "--outdir", tmp_path / "made", ".", cwd=source)
    (made,) = (tmp_path / "made").glob("*.whl")
    assert made.name == wheel.name
    assert len(list((tmp_path / "made").glob("*.tar.gz"))) == 1
    run("-m", "venv", tmp_path / "bare", cwd=tmp_path)
    python = tmp_path / "bare" / "bin" / "python"
    howdah = tmp_path / "bare" / "bin" / "howdah"
    for words in (
        [python, "-m", "pip", "install", "-q", made],
        [howdah, "up", "--dir", tmp_path / "c", "--datanodes", "1"],
        [howdah, "down", "--dir", tmp_path / "c"],
    ):
        done = subprocess.run(
            list(map(str, words)), cwd=tmp_path, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
