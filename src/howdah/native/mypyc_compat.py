"""What a module says to mypyc, which may compile it (pure; see `compiled`).

mypyc's own names come from a package that only who compiles has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    T = TypeVar("T")

    def mypyc_attr(**attributes: bool) -> Callable[[type[T]], type[T]]:
        """A mark at a class; at run time it says nothing."""
        return lambda marked: marked
