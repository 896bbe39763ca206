"""A record that is made quickly is the one that `dataclasses` makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import dataclass, field

import pytest

from howdah.fs.objects.store import ObjectInfo
from howdah.fs.status import FileStatus
from howdah.native.records import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    a: int
    b: str = "b"
    c: tuple[int, ...] = field(default=(), compare=False)


class Below(Quick):
    __slots__ = ("more",)


def test_all_but_the_time_is_as_dataclasses_make_it() -> None:
    made = Quick(1, c=(2,))
    assert (made.a, made.b, made.c) == (1, "b", (2,))
    assert type(made) is Quick
    assert made == Quick(1) != Quick(2)
    assert hash(made) == hash(Quick(1))
    assert repr(made) == "Quick(a=1, b='b', c=(2,))"
    assert dataclasses.replace(made, a=3) == Quick(3)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert str(inspect.signature(Quick)).startswith("(a: 'int', b: 'str' = 'b', c: ")


def test_nothing_is_set_afterwards() -> None:
    made = Quick(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.a = 2  # type: ignore[misc]  # the point, as in the next ones
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.a
    # Python says so in different ways to different versions.
    with pytest.raises((AttributeError, TypeError)):
        made.d = 2  # type: ignore[attr-defined]


def test_wrong_arguments_are_refused() -> None:
    for wrong in ((), (1, "2", (), 4)):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            Quick(*wrong)
    with pytest.raises(TypeError, match="d"):
        Quick(1, d=2)  # type: ignore[call-arg]


def test_a_class_below_is_made_as_ever() -> None:
    made = Below(1, "2")
    assert type(made) is Below
    assert (made.a, made.b, made.c) == (1, "2", ())


def test_classes_that_want_more_than_fields_are_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Made:
        a: list[int] = field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Checked:
        a: int

        def __post_init__(self) -> None:
            pass

    for each in (Made, Checked):
        with pytest.raises(AssertionError):
            quickly_made(each)


@pytest.mark.parametrize("kind", [FileStatus, ObjectInfo])
def test_records_of_listings_have_all_their_fields_in_their_places(kind: type) -> None:
    fields = dataclasses.fields(kind)
    made = kind(*range(len(fields)))
    assert [getattr(made, each.name) for each in fields] == [*range(len(fields))]
    by_name = kind(**{each.name: place for place, each in enumerate(fields)})
    assert by_name == made
