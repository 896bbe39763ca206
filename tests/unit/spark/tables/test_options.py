"""Options of tables: what is unknown or makes no sense is refused by its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from howdah import errors
from howdah.spark.tables.options import TableOptions

KNOWN = ("path", "fromTxid", "malformed", "since")


def options(**given: object) -> TableOptions:
    return TableOptions("howdah.edits", given, KNOWN)


def test_names_have_no_case() -> None:
    assert options(FROMTXID="7").number("fromTxid") == 7


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.IllegalArgument) as raised:
        options(fromTxId_="7")
    assert str(raised.value) == (
        "howdah.edits has no option 'fromTxId_' (did you mean fromTxid?); it has: "
        "path, fromTxid, malformed, since"
    )


READ: dict[str, Callable[[TableOptions], object]] = {
    "fromTxid": lambda given: given.count("fromTxid", 5),
    "malformed": lambda given: given.choice("malformed", ("keep", "drop")),
    "since": lambda given: given.moment_ms("since"),
}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("fromTxid", "many", "is not a whole number"),
        ("fromTxid", "0", "is less than 1"),
        ("malformed", "burn", "is none of: keep, drop"),
        ("since", "yesterday", "is neither a time"),
    ],
)
def test_values_that_make_no_sense_are_refused(name: str, value: str, problem: str) -> None:
    given = options(**{name: value})
    with pytest.raises(errors.IllegalArgument, match=f"option {name} = '{value}' {problem}"):
        READ[name](given)


def test_what_is_needed_is_named() -> None:
    with pytest.raises(errors.IllegalArgument, match="needs the option path: a file"):
        options().required("path", "a file")


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("1500", 1500),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01 00:00:01.5", 1500),
        ("1970-01-01T01:00:01.5+01:00", 1500),
    ],
)
def test_moments_are_milliseconds_or_texts(text: str, moment_ms: int) -> None:
    assert options(since=text).moment_ms("since") == moment_ms


def test_flags_are_true_or_false() -> None:
    assert options(malformed="TRUE").flag("malformed")
    assert not options().flag("malformed")
    with pytest.raises(errors.IllegalArgument, match="is neither true nor false"):
        options(malformed="1").flag("malformed")


def test_words_are_between_commas() -> None:
    assert options(path=" a, b ,").words("path") == ("a", "b")
