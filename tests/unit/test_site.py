"""The pages: every link leads somewhere, the site builds, and named files exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/*.md"),
     *ROOT.glob("packages/*/README.md")]
)  # fmt: skip
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub and MkDocs name them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE):
        plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "").strip().lower())
        found.add(re.sub(r"\s", "-", plain))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        is_wrong = not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        )
        if is_wrong:
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", ["docs/compatibility.md", "CHANGELOG.md", "SECURITY.md"])
def test_files_that_are_named_exist(page: str) -> None:
    named = re.findall(r"`((?:tests|docs|src|deploy)/[\w./-]*)`", (ROOT / page).read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_newest_change_is_of_this_version() -> None:
    from howdah import __version__

    (first, *_) = re.findall(r"^## (\S+?),", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first == __version__
    package = ROOT / "packages" / "howdah-hdfs-command" / "pyproject.toml"
    assert tomllib.loads(package.read_text())["project"]["version"] == __version__


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "how-it-works" / "house.html").exists()
