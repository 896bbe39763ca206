"""`pipx run howdah up`: the first try of somebody who has nothing installed.

The wheel is made of this tree; pipx, and what the wheel needs, come from an index of packages.
Where there is none the test is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
BUILD = "import sys, setuptools.build_meta as b; b.build_wheel(sys.argv[1])"
TIMEOUT_S = 500

pytestmark = [pytest.mark.torture, pytest.mark.timeout(3 * TIMEOUT_S)]


def run(
    *words: object, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        # Of the caller's modules nobody takes any: neither pipx nor what it installs.
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | (env or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


@pytest.fixture(scope="module")
def pipx(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which `python -m pipx` runs, and keeps what it makes."""
    place = tmp_path_factory.mktemp("pipx")
    words = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--target"]
    done = run(*words, place / "lib", "pipx", cwd=place)
    if done.returncode:
        pytest.skip(f"pipx cannot be had of an index of packages: {done.stderr[-300:]}")
    return {
        "PYTHONPATH": str(place / "lib"),
        "PIPX_HOME": str(place / "home"),
        "PIPX_BIN_DIR": str(place / "bin"),
        "USE_EMOJI": "0",
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    leave = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", place / "source" / "src", ignore=leave)
    for name in FILES:
        shutil.copy(ROOT / name, place / "source" / name)
    done = run("-c", BUILD, place, cwd=place / "source")
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = place.glob("*.whl")
    return made


def test_a_cluster_is_up_without_an_installation(
    pipx: dict[str, str], wheel: Path, tmp_path: Path
) -> None:
    words = ("-P", "-m", "pipx", "run", "--spec", wheel, "howdah")
    place = ("--dir", tmp_path / "cluster")
    up = run(*words, "up", *place, "--datanodes", "1", "--json", cwd=tmp_path, env=pipx)
    try:
        assert up.returncode == 0, up.stdout + up.stderr
        uri = json.loads(up.stdout)["uri"]
        source = tmp_path / "greeting"
        source.write_text("hello\n")
        put = run(*words, "dfs", "-fs", uri, "-put", source, "/greeting", cwd=tmp_path, env=pipx)
        assert put.returncode == 0, put.stderr
        shown = run(*words, "dfs", "-fs", uri, "-cat", "/greeting", cwd=tmp_path, env=pipx)
        assert shown.stdout == "hello\n"
    finally:
        down = run(*words, "down", *place, cwd=tmp_path, env=pipx)
    assert down.returncode == 0, down.stderr
