"""A strategy for edits, made from the dataclasses themselves, and a log that a
Hadoop 3.5.0 namenode wrote."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import sys
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import howdah
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import BODIES

# Numbers, by the kernel's letters.
_BITS = {b"q": 64, b"Q": 64, b"i": 32, b"h": 16, b"b": 8}


def _values(name: str, hint: Any, owner: type, bits: int) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*[_values(name, kind, owner, bits) for kind in arguments])
    if origin is tuple:
        return st.lists(_values(name, arguments[0], owner, bits), max_size=4).map(tuple)
    if origin in (typing.Union, types.UnionType):
        present = _values(name, arguments[0], owner, bits)
        if owner is ed.SetOwnerOp:
            present = present.filter(bool)  # On disk an empty name is None.
        return st.none() | present
    if hint is bool:
        return st.booleans()
    if hint is int and name == "mode":
        return st.integers(0, 0o1777)
    if hint is int and name == "permission":
        return st.integers(0, 7)
    if hint is int:
        limit = 1 << bits - 1
        return st.integers(-limit, limit - 1)
    if hint is str:
        return st.text(max_size=40)
    if name == "rpc_client_id":
        return st.just(b"") | st.binary(min_size=16, max_size=16)
    if hint is bytes:
        return st.binary(max_size=20)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    if dataclasses.is_dataclass(hint):
        return instances(typing.cast(type, hint))
    raise AssertionError(f"no strategy for {owner.__name__}.{name}: {hint}")


@functools.cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    source = Path(howdah.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    nodes = ast.parse(source.read_text()).body
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def _hints(kind: type) -> dict[str, Any]:
    """The types of a class's fields, as its source has them: of a compiled class Python knows no
    more than `tuple`."""
    return {
        node.target.id: eval(ast.unparse(node.annotation), vars(sys.modules[each.__module__]))
        for each in reversed(kind.__mro__[:-1])
        for node in _classes(each.__module__)[each.__name__].body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def instances(kind: type) -> st.SearchStrategy[Any]:
    if kind is ed.EditBlock:
        # Differences between neighbours have to fit into a long, too.
        return st.builds(kind, *[st.integers(-(1 << 61), 1 << 61)] * 3)
    hints = _hints(kind)
    values = {
        field.name: _values(field.name, hints[field.name], kind, _bits(field))
        for field in dataclasses.fields(kind)
    }
    return st.builds(kind, **values)


def _bits(field: dataclasses.Field[Any]) -> int:
    if field.name in ("rpc_call_id", "key_id", "master_key_id", "sequence_number"):
        return 32
    return _BITS.get(field.metadata["form"].codec.codes, 64) if field.metadata else 64


@pytest.fixture(scope="session")
def any_edit() -> st.SearchStrategy[ed.Edit]:
    return st.sampled_from(sorted(BODIES, key=lambda kind: kind.opcode)).flatmap(instances)


@pytest.fixture(scope="session")
def hadoop_log() -> Path:
    """A segment of 85 transactions, written by a namenode of Hadoop 3.5.0."""
    return Path(__file__).parent / "golden" / "edits_0000000000000000001-0000000000000000085"
