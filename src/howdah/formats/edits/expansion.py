"""What the compiler reads instead of the modules of edits: with the methods written out (pure).

mypyc compiles the methods of a class's source, and neither the `__init__` that `dataclass` makes
nor the function of `packing`, which would run in the interpreter. So `setup.py` has the compiler
read what `expanded` gives: the same source, in which each class of values has its `__init__`, and
each edit its `packing.METHOD`, but for those whose values are packed by a function without a name.
"""

from __future__ import annotations

import ast
import dataclasses
from types import ModuleType
from typing import Any, Final

from howdah.formats.edits import base, cache_edits, edits, field_codecs, values
from howdah.formats.edits.codec import BODIES
from howdah.formats.edits.packing import METHOD, is_packed_by_codec, values_source

MODULES: Final = (values, base, edits, cache_edits)

# The type checker would refuse the methods what it refuses everybody, to set a field of a frozen
# class.
_HEAD: Final = '# mypy: disable-error-code="misc"\n'
_PLAIN: Final = "@dataclass(frozen=True, slots=True"
_FUTURE: Final = "from __future__ import annotations\n"
_CODECS: Final = "from howdah.formats.edits import field_codecs\n"


def expanded(module: ModuleType, source: str) -> str:
    """The source of a module, with the methods of its classes."""
    lines = source.splitlines(keepends=True)
    for node in reversed(ast.parse(source).body):
        if not isinstance(node, ast.ClassDef):
            continue
        kind = getattr(module, node.name)
        assert isinstance(kind, type), kind
        if not dataclasses.is_dataclass(kind) or not dataclasses.fields(kind):
            continue
        assert node.end_lineno is not None
        lines.insert(node.end_lineno, _methods(kind))
        decorator = node.lineno - 2
        assert lines[decorator].startswith(_PLAIN), lines[decorator]
        lines[decorator] = lines[decorator].replace(_PLAIN, f"{_PLAIN}, init=False")
    text = _HEAD + "".join(lines)
    return text.replace(_FUTURE, _FUTURE + _CODECS) if METHOD in text else text


def _methods(kind: type[Any]) -> str:
    fields = dataclasses.fields(kind)
    parameters = [_parameter(field) for field in fields if not field.kw_only]
    by_name = [_parameter(field) for field in fields if field.kw_only]
    if by_name:
        parameters += ["*", *by_name]
    text = f"\n    def __init__(self, {', '.join(parameters)}) -> None:\n"
    text += "".join(f"        self.{field.name} = {field.name}\n" for field in fields)
    parts = BODIES.get(kind, ())
    packers = [part.codec.pack.__name__ for part in parts if is_packed_by_codec(part.codec)]
    if parts and all(hasattr(field_codecs, packer) for packer in packers):
        listed = values_source(parts, [f"field_codecs.{p.codec.pack.__name__}" for p in parts])
        text += f"\n    def {METHOD}(self) -> list[object]:\n        return {listed}\n"
    return text


def _parameter(field: dataclasses.Field[Any]) -> str:
    default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
    return f"{field.name}: {field.type}{default}"
