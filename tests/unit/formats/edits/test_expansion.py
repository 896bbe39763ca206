"""The sources that the compiler reads make the same classes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.formats.edits import cache_edits
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import BODIES
from howdah.formats.edits.expansion import MODULES, expanded
from howdah.formats.edits.packing import METHOD, values_getter
from howdah.native import compiled

pytestmark = pytest.mark.skipif(compiled.is_used(), reason="expands sources: they are compiled")

PACKED_BY_NAMELESS_FUNCTIONS = {
    cache_edits.AddCacheDirectiveOp,
    cache_edits.AddCachePoolOp,
    cache_edits.ModifyCacheDirectiveOp,
    cache_edits.ModifyCachePoolOp,
}


@pytest.fixture(scope="module")
def classes() -> dict[str, type[ed.Edit]]:
    """The classes of the expanded modules, by name."""
    found: dict[str, type[ed.Edit]] = {}
    for module in MODULES:
        made = ModuleType(module.__name__)
        exec(expanded(module, Path(module.__file__ or "").read_text()), vars(made))
        found |= vars(made)
    return found


@given(data=st.data())
def test_an_expanded_edit_has_the_same_fields_and_values_to_pack(
    classes: dict[str, type[ed.Edit]], any_edit: st.SearchStrategy[ed.Edit], data: st.DataObject
) -> None:
    edit = data.draw(any_edit)
    kind = type(edit)
    fields = {field.name: getattr(edit, field.name) for field in dataclasses.fields(edit)}
    made = classes[kind.__name__](**fields)
    assert {name: getattr(made, name) for name in fields} == fields
    if fields and kind not in PACKED_BY_NAMELESS_FUNCTIONS:
        assert getattr(made, METHOD)() == values_getter(kind, BODIES[kind])(edit)


def test_an_expanded_class_has_its_methods(classes: dict[str, type[ed.Edit]]) -> None:
    for kind in BODIES:
        has_fields = bool(dataclasses.fields(kind))
        methods = vars(classes[kind.__name__])
        assert ("__init__" in methods) or not has_fields
        assert methods["__dataclass_params__"].init is not has_fields
        is_listed = has_fields and kind not in PACKED_BY_NAMELESS_FUNCTIONS
        assert (METHOD in methods) is is_listed
