"""docs/how-it-works: its tables are those of the code, and what it names exists."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "how-it-works").glob("*.md"))
CODE = ROOT / "src" / "howdah"
TOP = {path.name for path in CODE.iterdir()} | {"docs", "tests", "src", "bench", "examples"}


@pytest.fixture(scope="module")
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("how_it_works", ROOT / "docs/how_it_works.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def paths_in(text: str) -> Iterator[str]:
    """What stands in backquotes and looks like a path below src/howdah, or from the top."""
    for quoted in re.findall(r"`([^`\n]+)`", text):
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", quoted) and quoted.split("/")[0] in TOP:
            yield quoted.rstrip("/")


def exists(path: str) -> bool:
    return any(
        candidate.exists()
        for base in (CODE, ROOT)
        for candidate in (base / path, base / f"{path}.py")
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_those_of_the_code(page: Path, generator: Any) -> None:
    text = page.read_text()
    assert generator.filled(text) == text, "./dev drawings writes it"


def test_every_generated_part_is_on_one_page(generator: Any) -> None:
    found = Counter(
        name for page in PAGES for _, name, _ in generator.PART.findall(page.read_text())
    )
    assert found == dict.fromkeys(generator.PARTS, 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    assert [path for path in paths_in(page.read_text()) if not exists(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target, section in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", page.read_text()):
        other = page.parent / target if target else page
        assert other.exists(), target
        if section:
            headings = re.findall(r"(?m)^#+ (.+)$", other.read_text())
            slugs = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
            assert section in slugs, f"{target}#{section}"


def test_the_list_of_pages_names_each_page() -> None:
    listed = re.findall(r"\(how-it-works/([\w-]+\.md)\)", (ROOT / "docs/README.md").read_text())
    assert sorted(listed) == [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_story_has_a_drawing(page: Path) -> None:
    assert page.name == "glossary.md" or "```mermaid" in page.read_text()


def house_section(heading: str) -> str:
    text = (ROOT / "docs/how-it-works/house.md").read_text()
    _, _, rest = text.partition(f"\n{heading}\n")
    return re.split(r"(?m)^#{2,3} ", rest)[0]


@pytest.mark.parametrize(
    "walk", ["A `create`", "A written packet", "A heartbeat", "A block report", "A restart"]
)
def test_a_walk_through_the_house_is_short(walk: str) -> None:
    steps = re.findall(r"(?m)^\d+\. .*$", house_section(f"### {walk}"))
    assert 3 < len(steps) < 10
    assert all(list(paths_in(step)) for step in steps)


def test_the_house_says_where_to_change_what() -> None:
    rows = house_section("## To change X, open Y").strip().splitlines()[2:]
    changes = [row for row in rows if row.startswith("|")]
    assert len(changes) >= 20
    assert all(list(paths_in(row)) or re.search(r"`\w+\.py`", row) for row in changes)
