"""The notebooks in examples/ are those that docs/spark.md makes, and Jupyter can read them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def maker() -> Any:
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs/notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notebooks_are_as_the_page_says() -> None:
    made = maker().notebooks()
    assert {path.name for path in (ROOT / "examples").glob("*.ipynb")} == set(made)
    for name, text in made.items():
        assert (ROOT / "examples" / name).read_text("utf-8") == text, "run ./dev reference"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.name)
def test_cells_are_code_that_compiles_or_text(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
    codes = ["".join(c["source"]) for c in document["cells"] if c["cell_type"] == "code"]
    assert len(codes) > 1
    for code in codes:
        compile(code, path.name, "exec")
    for cell in document["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []


def test_a_section_that_the_page_lacks_is_told() -> None:
    with pytest.raises(KeyError):
        maker().section("## Space\ntext\n", "Time")
