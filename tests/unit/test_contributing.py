"""CONTRIBUTING.md names files and directories that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", PAGE)))


@pytest.mark.parametrize("path", PATHS)
def test_path_on_the_page_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(howdah\.[\w.]+)`", PAGE))))
def test_module_on_the_page_exists(name: str) -> None:
    parts = name.split(".")
    found = (ROOT.joinpath("src", *parts[:end]) for end in (len(parts), len(parts) - 1))
    assert any(path.is_dir() or path.with_suffix(".py").exists() for path in found)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)", PAGE))))
def test_link_on_the_page_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_name_on_the_page_is_defined_in_the_code() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "src" / "howdah").rglob("*.py"))
    names = set(re.findall(r"`([A-Z]\w*[a-z_A-Z])`", PAGE))
    defined = set(re.findall(r"^\s*(?:class )?(\w+)(?:\(.*)?\s*[:=]", source, re.MULTILINE))
    assert names - defined == set()
