"""What the kernel packs of an edit: its values in the order of the record (pure).

`codec` packs hundreds of thousands of edits a second, so the values are not looked for by name: a
function is written for each class, as `dataclass` writes its methods. In a compiled namenode the
class has it as a method (`expansion`), which reads the fields by their places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from howdah.formats.edits.base import Edit, Part
from howdah.formats.edits.field_codecs import Codec

METHOD: Final = "record_values"
_EMPTY_ONLY: Final = (b"l", b"x")
"""What the kernel packs if it is empty, as it is of nearly every edit."""


def values_getter(kind: type[Edit], parts: tuple[Part, ...]) -> Callable[[Any], list[object]]:
    """What gives the values of such edits. It raises what packing raises where one does not
    fit."""
    method: Callable[[Any], list[object]] | None = getattr(kind, METHOD, None)
    if method is not None:
        return method
    known: dict[str, Any] = {f"pack_{place}": part.codec.pack for place, part in enumerate(parts)}
    names = [f"pack_{place}" for place in range(len(parts))]
    exec(f"def {METHOD}(self): return {values_source(parts, names)}", known)
    made: Callable[[Any], list[object]] = known[METHOD]
    return made


def is_packed_by_codec(codec: Codec) -> bool:
    """Whether the kernel leaves it to Python, always or sometimes."""
    return not codec.codes or codec.codes in _EMPTY_ONLY


def values_source(parts: tuple[Part, ...], packers: list[str]) -> str:
    """The list of an edit's values, where `self` is the edit and `packers` are what packs the
    parts that the kernel leaves to Python."""
    return f"[{', '.join(map(_value_source, parts, packers))}]"


def _value_source(part: Part, packer: str) -> str:
    codec = part.codec
    names = [f"self.{name}" for name in part.fields]
    if codec.codes in _EMPTY_ONLY:
        return f"{packer}({names[0]}) if {names[0]} else {names[0]}"
    if codec.attributes:
        return ", ".join(f"{names[0]}.{attribute}" for attribute in codec.attributes)
    if codec.codes:
        return ", ".join(names)
    return f"{packer}({names[0]})" if codec.width == 1 else f"{packer}(({', '.join(names)}))"
