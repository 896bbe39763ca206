"""Records are made quickly, as `dataclasses` makes them, and print as people read them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

import howdah
from howdah.fs.objects.store import ObjectInfo
from howdah.fs.status import FileStatus, Listing
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


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


FILE = FileStatus("/docs/a", 10, False, 3, 1, 1_700_000_000_123, 0, 0o640, "ann", "staff")
DIRECTORY = FileStatus("/docs", 0, True, 0, 0, 0, 0, 0o1777, "ann", "staff", has_acl=True)
LINK = dataclasses.replace(FILE, path="/l", symlink="/docs/a", permission=0o777)


@pytest.mark.usefixtures("utc")
def test_a_status_prints_as_ls_does() -> None:
    assert str(FILE) == "-rw-r----- 3 ann staff 10 2023-11-14 22:13:20 /docs/a"
    assert str(DIRECTORY) == "drwxrwxrwt+ - ann staff 0 1970-01-01 00:00:00 /docs"
    assert str(LINK) == "lrwxrwxrwx - ann staff 10 2023-11-14 22:13:20 /l -> /docs/a"
    assert repr(FILE) == "<FileStatus -rw-r----- 3 ann staff 10 2023-11-14 22:13:20 '/docs/a'>"


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    assert "9223372036854775807 ms" in str(
        dataclasses.replace(FILE, modification_time_ms=2**63 - 1)
    )


def test_hostile_names_print_in_one_line_and_are_no_markup() -> None:
    status = dataclasses.replace(
        FILE, path="/a\n\x1b[2J<script>alert(1)</script>", owner="<b>", group="\r", symlink="<i>\n"
    )
    for text in (str(status), repr(status), status._repr_html_()):
        assert text.isprintable()
    assert "<script>" not in status._repr_html_()
    assert "<b>" not in status._repr_html_()
    assert "<i>" not in status._repr_html_()
    assert "&lt;script&gt;" in status._repr_html_()


def test_a_listing_is_a_table_of_bounded_length() -> None:
    html = Listing([FILE, DIRECTORY])._repr_html_()
    assert html.count("<tr>") == 3
    assert "<td>drwxrwxrwt+</td>" in html
    assert html.startswith("<table>")
    long = Listing([FILE] * 1200)._repr_html_()
    assert long.count("<tr>") == 1001
    assert long.endswith("and 200 more</p>")
    assert Listing([FILE]) == [FILE]


def test_listings_of_filesystems_are_tables() -> None:
    with howdah.connect("mem://listing/") as fs:
        fs.write_text("/<a>", "x")
        for listing in (fs.list_status("/"), fs.glob_status("/*")):
            assert isinstance(listing, Listing)
            assert "&lt;a&gt;" in listing._repr_html_()
