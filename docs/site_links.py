"""A hook of MkDocs: files of the repository that are no pages are named on the site, not linked.

A link to `../CONTRIBUTING.md` or to a test works in the repository, and leads nowhere on the site.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page without links that lead out of `docs/`."""
    here = posixpath.dirname(page.file.src_uri)

    def shown(link: re.Match[str]) -> str:
        leads_out = posixpath.normpath(posixpath.join(here, link[2])).startswith("..")
        return link[1] if leads_out else link[0]

    return _LINK.sub(shown, markdown)
