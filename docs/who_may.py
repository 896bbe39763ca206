"""Writes docs/who-may.md, which `tests.support.security.who_may` makes of the code. `./dev
reference` runs it, and a test compares the page with what would be written."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.security.who_may.page import page

PAGE: Final = Path(__file__).with_name("who-may.md")

if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
