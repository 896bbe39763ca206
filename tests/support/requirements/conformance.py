"""Which test proves which requirement, for which kind of streams: a table and its page.

Pure but for `load`: given the table of requirements (TOML, see `tests/requirements.toml`)
and what came of the tests, `render` makes the page. `recording` gathers the outcomes.

A test proves its requirements, for the kinds that it is about, if all its parameters
that ran have passed; a test that failed, was skipped or was never run proves nothing. A
check of the contract that is skipped because its subject does not claim the feature is
marked as such: other checks say that the feature is refused then.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PASSED, FAILED, SKIPPED, NOT_CLAIMED = "passed", "failed", "skipped", "not claimed"
CONTRACT = "contract: "

_ID = re.compile(r"([A-Z]+)-(\d{3})")
_LEGEND = """\
A column is a kind of stream: ✔ proved by a test that passed; – about something that this
kind does not claim to offer, and refuses; ✘ there are tests, and none has passed; ○ there
is no test yet; blank: does not apply. Rows without any mark need no test; the reason
stands with them."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A row of the table. `untested` is why there is no test, if there need be none."""

    id: str
    level: str
    kinds: tuple[str, ...]
    title: str
    untested: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The requirements, the kinds of streams, and the kinds of each test by its path."""

    requirements: Mapping[str, Requirement]
    kinds: Mapping[str, str]
    where: Mapping[str, tuple[str, ...]]

    def kinds_of(self, path: str) -> tuple[str, ...]:
        """What the tests of a file are about, unless they say otherwise."""
        fitting = [beginning for beginning in self.where if path.startswith(beginning)]
        return self.where[max(fitting, key=len)] if fitting else ()


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that names requirements: what it is called, what it is about, what came of it."""

    test: str
    requirements: frozenset[str]
    kinds: tuple[str, ...]
    outcome: str


def load(path: Path) -> Table:
    """Read the table; `ValueError` for one that is not in order."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    kinds: dict[str, str] = content["kinds"]
    groups = {**content["groups"], **{kind: [kind] for kind in kinds}}
    requirements = {}
    for name, row in content["requirements"].items():
        if not _ID.fullmatch(name) or not 3 <= len(row) <= 4:
            raise ValueError(f"{path}: {name} is not a requirement: {row}")
        unknown = [kind for kind in row[1].split() if kind not in groups]
        if unknown:
            raise ValueError(f"{path}: {name} is about unknown kinds: {unknown}")
        named = {kind for group in row[1].split() for kind in groups[group]}
        chosen = tuple(kind for kind in kinds if kind in named)
        requirements[name] = Requirement(name, row[0], chosen, *row[2:])
    where = {beginning: tuple(about) for beginning, about in content["where"].items()}
    return Table(requirements, kinds, where)


def render(table: Table, proofs: Iterable[Proof], command: str) -> str:
    """The page. `command` is what makes it."""
    by_requirement: dict[str, list[Proof]] = {name: [] for name in table.requirements}
    for proof in proofs:
        for name in proof.requirements & by_requirement.keys():
            by_requirement[name].append(proof)
    rows = [_row(table, each, by_requirement[each.id]) for each in table.requirements.values()]
    heading = ["Id", "Level", "What", *table.kinds]
    return "\n".join(
        (
            "# Conformance",
            "",
            "The requirements, and the tests that prove them.",
            f"Made by `{command}` from the marks and outcomes of the tests; not to be edited.",
            "",
            *_summary(table, by_requirement),
            "",
            _LEGEND,
            "",
            *(f"- **{kind}**: {meaning}" for kind, meaning in table.kinds.items()),
            "",
            "| " + " | ".join(heading) + " |",
            "|" + "---|" * len(heading),
            *rows,
            "",
            "## Proofs",
            "",
            f"`{CONTRACT}NAME` is a check of `howdah.testing.contract`, held against each kind.",
            "",
            *_proofs(table, by_requirement),
            "",
        )
    )


def _proved(proofs: Iterable[Proof], kind: str) -> bool:
    return any(proof.outcome == PASSED and kind in proof.kinds for proof in proofs)


def _mark(requirement: Requirement, proofs: list[Proof], kind: str) -> str:
    if _proved(proofs, kind):
        return "✔"
    if kind not in requirement.kinds or requirement.untested:
        return ""
    outcomes = {proof.outcome for proof in proofs if kind in proof.kinds}
    if not outcomes:
        return "○"
    return "–" if outcomes == {NOT_CLAIMED} else "✘"


def _row(table: Table, requirement: Requirement, proofs: list[Proof]) -> str:
    title = requirement.title
    if requirement.untested:
        title += f" (no test: {requirement.untested})"
    marks = [_mark(requirement, proofs, kind) for kind in table.kinds]
    return "| " + " | ".join((requirement.id, requirement.level, title, *marks)) + " |"


def _summary(table: Table, proofs: Mapping[str, list[Proof]]) -> list[str]:
    wanted = [each for each in table.requirements.values() if not each.untested]
    whole = [
        each
        for each in wanted
        if not {"✘", "○"} & {_mark(each, proofs[each.id], kind) for kind in each.kinds}
    ]
    without = len(table.requirements) - len(wanted)
    return [
        f"{len(table.requirements)} rows: {without} need no test, {len(whole)} are proved for "
        f"every kind that they apply to, {len(wanted) - len(whole)} are not (yet)."
    ]


def _proofs(table: Table, proofs: Mapping[str, list[Proof]]) -> list[str]:
    lines = []
    for name in table.requirements:
        kinds_of: dict[str, set[str]] = {}
        for proof in proofs[name]:
            if proof.outcome == PASSED:
                kinds_of.setdefault(proof.test, set()).update(proof.kinds)
        lines.append(f"- {name}" + ("" if kinds_of else ": –"))
        for test in sorted(kinds_of):
            about = ", ".join(kind for kind in table.kinds if kind in kinds_of[test])
            lines.append(f"  - `{test}`" + (f" ({about})" if about else ""))
    return lines
