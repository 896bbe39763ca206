"""How classes of values are made that are made for every call (pure).

An edit is never changed. Python's frozen dataclasses see to that at run time, and set each field
by a call of `object.__setattr__`: for the two edits of a file's creation that is a tenth of what
the namenode does for them. So these are frozen for the type checker, who reads all that is
written here, and at run time they are plain; equal and hashed by their fields either way.

Where they are compiled, mypyc hands a class variable on as if it were a field. `base.Edit` has
those that are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(
        *, frozen: bool, slots: bool, kw_only: bool = False, init: bool = True
    ) -> Callable[[type], type]:
        """As `dataclasses.dataclass`, without what keeps a field from being set."""
        assert frozen, "they are values"
        make = dataclasses.dataclass(slots=slots, kw_only=kw_only, init=init, unsafe_hash=True)

        def made(cls: type) -> type:
            for name in ("opcode", "record_tail", "xml_tail"):
                cls.__annotations__.pop(name, None)
            return make(cls)

        return made


__all__ = ["dataclass"]
