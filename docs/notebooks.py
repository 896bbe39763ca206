"""Writes the notebooks in examples/: sections of docs/spark.md, in cells.

Text of the page becomes cells of Markdown, blocks of Python become cells of code; commands of a
shell stay text. `./dev reference` writes them, and a test compares the files with what would be
written. Notebooks have no outputs: those of a cluster that nobody else has say nothing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
PAGE: Final = HERE / "spark.md"
EXAMPLES: Final = HERE.parent / "examples"

NOTEBOOKS: Final = {
    "spark-questions.ipynb": "Questions in SQL",
    "spark-small-files.ipynb": "Small files",
    "spark-space.ipynb": "Space",
    "spark-changes.ipynb": "Changes as a stream",
    "spark-verification.ipynb": "Verification",
}
"""The sections of the page."""
_BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")
_COMMENT: Final = re.compile(r"(\S) {2,}# ")
_SESSION: Final = """\
from pyspark.sql import SparkSession

from howdah.spark import register

spark = SparkSession.builder.getOrCreate()
register(spark)
"""
_ABOUT: Final = (
    "Put the address of your namenode, Apache's or howdah's, in place of `hdfs://a:8020`. It needs "
    "Spark 4 and `pip install 'howdah[spark]'`. This notebook has the blocks of docs/spark.md."
)


def section(page: str, title: str) -> str:
    """The text of a section, without its heading. Raises KeyError if there is none."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise KeyError(title)
    return found[1]


def cells(title: str, text: str) -> list[dict[str, Any]]:
    """The cells of a section. Links of the page lead nowhere from a notebook, so only their text
    is left."""
    made = [_cell("markdown", f"# {title}\n\n{_ABOUT}"), _cell("code", _SESSION)]
    for place, part in enumerate(_BLOCK.split(text)):
        kind = "code" if place % 2 else "markdown"
        # Comments of the page are aligned, which `ruff format` undoes in notebooks.
        content = _COMMENT.sub(r"\1  # ", part) if place % 2 else _LINK.sub(r"\1", part)
        if content.strip():
            made.append(_cell(kind, content))
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    return made


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": text.strip("\n").splitlines(keepends=True),
    }
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def notebook(title: str, text: str) -> str:
    """A notebook of format 4.5, as Jupyter writes it."""
    document = {
        "cells": cells(title, text),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def notebooks() -> dict[str, str]:
    """All notebooks by their file names."""
    page = PAGE.read_text("utf-8")
    return {name: notebook(title, section(page, title)) for name, title in NOTEBOOKS.items()}


def main() -> None:
    for name, text in notebooks().items():
        (EXAMPLES / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
