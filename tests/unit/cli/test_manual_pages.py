"""Every command has a manual page, which says what the command says, and that groff can set."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from howdah.cli.main import COMMANDS

SCRIPT = Path(__file__).parents[3] / "docs" / "manual_pages.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("manual_pages", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def written(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pages: list[Path] = script.write(tmp_path_factory.mktemp("man"))
    return pages


def test_every_command_has_a_page(written: list[Path]) -> None:
    there = {f"howdah-{name}.1" for name, command in COMMANDS.items() if command.target}
    assert {path.name for path in written} == there | {"howdah.1"}
    for path in written:
        assert path.read_text().strip()


def test_a_page_has_the_options_of_its_command(written: list[Path]) -> None:
    pages = {path.name: path.read_text() for path in written}
    assert r"\-\-machines" in pages["howdah-init.1"]
    assert r"\-\-strict" in pages["howdah-doctor.1"]
    assert r"\-bandwidth" in pages["howdah-sync.1"]
    assert pages["howdah-fs.1"] == ".so man1/howdah-dfs.1\n"


def test_groff_sets_every_page_without_a_warning(written: list[Path]) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    pages = [path for path in written if not path.read_text().startswith(".so")]
    done = subprocess.run(
        # A long line of a command's own text cannot be broken.
        [groff, "-man", "-ww", "-Wbreak", "-z", "-Kutf8", "-Tutf8", *pages],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_roff_would_take_for_its_own_is_quoted(script: ModuleType) -> None:
    assert script.quoted(".br") == r"\&.br"
    assert script.quoted("'so") == r"\&'so"
    assert script.quoted("a\\b -c…") == r"a\(rsb \-c\[u2026]"
