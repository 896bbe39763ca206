"""What is wrong with a page for those who see little, or use no mouse: the rules of axe-core."""

from __future__ import annotations

from typing import Any

import pytest

COLOUR_RULES = ("color-contrast", "link-in-text-block")
"""The rules of axe-core that look at colours: the others see the same in light and dark."""


def violations(page: Any, *rules: str) -> list[str]:
    """What axe-core finds against the accessibility of the page, by all rules or some."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = axe.run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {each['help']}: " + "; ".join(node["html"][:200] for node in each["nodes"])
        for each in found
    ]
