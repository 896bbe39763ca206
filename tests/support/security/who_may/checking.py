"""Whether what was heard is what a table says (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from tests.support.security.who_may.addresses import FORBIDDEN, OK, UNAUTHORIZED
from tests.support.security.who_may.calls import ANSWERED, REFUSALS

Who = TypeVar("Who", bound=Enum)


def check_answers(found: Mapping[Who, str], wanted: Mapping[Who, str]) -> None:
    """Of calls, by the Java class of the exception: all that is no refusal counts as an answer."""
    wrong = {
        who.name: (answer, wanted[who])
        for who, answer in found.items()
        if wanted[who] != answer and (wanted[who] != ANSWERED or answer in REFUSALS)
    }
    assert not wrong, "; ".join(f"{n}: {a}, not {w}" for n, (a, w) in wrong.items())


def check_statuses(found: Mapping[Who, int], wanted: Mapping[Who, int]) -> None:
    """Of requests over HTTP: all that is no refusal counts as an answer."""
    refusals = (UNAUTHORIZED, FORBIDDEN)
    wrong = {
        who.name: (found[who], wanted[who])
        for who in found
        if wanted[who] not in (found[who], OK) or (wanted[who] == OK and found[who] in refusals)
    }
    assert not wrong, "; ".join(f"{n}: {a}, not {w}" for n, (a, w) in wrong.items())
