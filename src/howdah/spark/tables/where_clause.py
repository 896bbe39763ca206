"""The option `where`: a condition in SQL that a table evaluates where it makes its rows (pure).

    path like '/data/%' and owner in ('ann', 'bob') and length >= 1000000

A conjunction of comparisons of columns with literals: `=`, `<>`, `!=`, `<`, `<=`, `>`, `>=`,
`between`, and `like`, `in` and `is null`, also with `not`. `like` has `%` at the beginning, at the
end or both. Literals are whole numbers, `'texts'`, `true`, `false` and
`timestamp'2026-11-30 04:00:00'` (UTC, if it names no zone).

Spark has a way to hand filters to Python sources. It is not used: as of Spark 4.3 all queries on
one frame share what was planned for one of them, so a query without a filter gets the rows of the
last one that had one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from howdah import errors
from howdah.spark.tables.predicates import Condition

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<number>-?\d+)(?![\w.])
      | `(?P<quoted>[^`]+)`
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><=|>=|<>|!=|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_SIGNS: Final = {
    "=": ("EqualTo", False),
    "<>": ("EqualTo", True),
    "!=": ("EqualTo", True),
    "<": ("LessThan", False),
    "<=": ("LessThanOrEqual", False),
    ">": ("GreaterThan", False),
    ">=": ("GreaterThanOrEqual", False),
}
_FLAGS: Final = {"true": True, "false": False}
_WORDS: Final = frozenset(("and", "not", "like", "in", "between", "is", "null", "timestamp", "or"))
_Token = tuple[str, str]


def parse_where(text: str) -> tuple[Condition, ...]:
    """The conditions of a text, all of which have to be true. Raises IllegalArgument."""
    parser = _Parser(text)
    found = list(parser.conjunction())
    return tuple(found)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0

    def conjunction(self) -> Iterator[Condition]:
        yield from self._comparison()
        while self._at < len(self._tokens):
            self._expect_word("and")
            yield from self._comparison()

    def _comparison(self) -> Iterator[Condition]:
        column = self._column()
        kind, value = self._next("a comparison")
        if kind == "sign" and value in _SIGNS:
            operator, is_negated = _SIGNS[value]
            yield Condition(operator, column, self._literal(), is_negated)
            return
        word = value.lower() if kind == "word" else ""
        is_negated = word == "not"
        if is_negated:
            kind, value = self._next("like, in or between")
            word = value.lower() if kind == "word" else ""
        if word == "like":
            yield self._like(column, is_negated)
        elif word == "in":
            yield Condition("In", column, self._list(), is_negated)
        elif word == "between" and not is_negated:
            yield Condition("GreaterThanOrEqual", column, self._literal())
            self._expect_word("and")
            yield Condition("LessThanOrEqual", column, self._literal())
        elif word == "is" and not is_negated:
            yield self._null(column)
        else:
            raise self._refused(f"{value!r} is no comparison")

    def _like(self, column: str, is_negated: bool) -> Condition:
        pattern = self._literal()
        if not isinstance(pattern, str):
            raise self._refused("like compares with a text")
        inner = pattern.removeprefix("%").removesuffix("%")
        if any(sign in inner for sign in "%_\\"):
            raise self._refused(f"like {pattern!r} has more than % at its beginning and end")
        begins, ends = not pattern.startswith("%"), not pattern.endswith("%")
        operator = {
            (True, True): "EqualTo",
            (True, False): "StringStartsWith",
            (False, True): "StringEndsWith",
            (False, False): "StringContains",
        }[begins, ends]
        return Condition(operator, column, inner, is_negated)

    def _null(self, column: str) -> Condition:
        kind, value = self._next("null")
        is_negated = (kind, value.lower()) == ("word", "not")
        if is_negated:
            kind, value = self._next("null")
        if (kind, value.lower()) != ("word", "null"):
            raise self._refused(f"{value!r} is not null")
        return Condition("IsNotNull" if is_negated else "IsNull", column)

    def _list(self) -> tuple[Any, ...]:
        self._expect_sign("(")
        values = [self._literal()]
        while (token := self._next(", or )")) == ("sign", ","):
            values.append(self._literal())
        if token != ("sign", ")"):
            raise self._refused(f"{token[1]!r} is not expected in a list")
        return tuple(values)

    def _column(self) -> str:
        kind, value = self._next("a column")
        if kind == "quoted" or (kind == "word" and value.lower() not in _WORDS):
            return value
        raise self._refused(f"{value!r} is no column")

    def _literal(self) -> Any:
        kind, value = self._next("a value")
        if kind == "number":
            return int(value)
        if kind == "text":
            return _plain(value)
        word = value.lower()
        if kind == "word" and word in _FLAGS:
            return _FLAGS[word]
        if kind == "word" and word == "timestamp":
            return self._moment()
        raise self._refused(f"{value!r} is no value: texts are in quotes")

    def _moment(self) -> datetime:
        kind, value = self._next("a time in quotes")
        try:
            moment = datetime.fromisoformat(_plain(value) if kind == "text" else "")
        except ValueError:
            raise self._refused(f"{value!r} is no time") from None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    def _next(self, expected: str) -> _Token:
        if self._at == len(self._tokens):
            raise self._refused(f"{expected} is missing at its end")
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _expect_word(self, word: str) -> None:
        kind, value = self._next(word)
        if (kind, value.lower()) != ("word", word):
            raise self._refused(f"{word} is expected, not {value!r}")

    def _expect_sign(self, sign: str) -> None:
        token = self._next(sign)
        if token != ("sign", sign):
            raise self._refused(f"{sign} is expected, not {token[1]!r}")

    def _refused(self, problem: str) -> errors.IllegalArgument:
        return errors.IllegalArgument(f"where {self._text!r}: {problem}")


def _plain(quoted: str) -> str:
    return quoted[1:-1].replace("''", "'")


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise errors.IllegalArgument(f"where {text!r}: {text[at:].strip()!r} is not understood")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()
