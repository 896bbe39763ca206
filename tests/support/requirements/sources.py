"""Syntax trees of sources, for tests that look through them."""

from __future__ import annotations

import ast
import gc


def tree_of(source: str) -> ast.Module:
    """As `ast.parse`, which fails in Python before 3.11.8 if another tree is made meanwhile: of
    a line in a traceback, for one, that the garbage collector has a destructor log. So there is
    no collection here."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if was_enabled:
            gc.enable()
