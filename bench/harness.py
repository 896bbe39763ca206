"""What the scripts of figures share: figures, repeats, the table, CPU time.

A script defines `measure(options) -> Iterator[Figure | Skipped]` and ends with
`harness.main(measure)`; alone or under `run.py` it takes the same options.

A figure is the median of its repeats. Its peer, where there is one, is measured
in the same run and in turn with it (subject, peer, subject, peer …), so that
what disturbs the machine disturbs both. Nothing here passes or fails by time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache"
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """What a script is asked for."""

    quick: bool
    dir: Path

    def repeats(self, thorough: int, quick: int) -> int:
        return quick if self.quick else thorough


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, with a value for each repeat.

    `peers` are named measurements of the same thing done by somebody else.
    `target` is what the project asks of itself.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    peers: Mapping[str, tuple[float, ...]]
    target: str = ""

    @property
    def value(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be measured here, and why."""

    name: str
    why: str


Results = Iterator[Figure | Skipped]


def figure(
    name: str,
    unit: str,
    values: Sequence[float],
    peers: Mapping[str, Sequence[float]] | None = None,
    *,
    target: str = "",
) -> Figure:
    """A figure; peers without values (skipped ones) are left out."""
    named = {peer: tuple(found) for peer, found in (peers or {}).items() if found}
    return Figure(name, unit, tuple(values), named, target)


def in_turn(
    runs: Mapping[str, Callable[[], float]],
    repeats: int,
    *,
    warm_up: int = 1,
    both_ways: bool = False,
) -> dict[str, list[float]]:
    """Each of `runs` once a round: rounds to warm up, then rounds that count. `both_ways`: every
    second round is the other way round, so that none always comes behind the same one, which may
    leave it cold caches."""
    values: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(warm_up + repeats):
        order = list(runs.items())
        for name, run in reversed(order) if both_ways and number % 2 else order:
            value = run()
            if number >= warm_up:
                values[name].append(value)
    return values


def progress(text: str) -> None:
    """A line for whoever waits; never on stdout, where the figures go."""
    print(f"  … {text}", file=sys.stderr, flush=True)


@contextmanager
def scratch(options: Options, what: str) -> Iterator[Path]:
    """A directory that is removed afterwards."""
    made = Path(tempfile.mkdtemp(prefix=f"howdah-bench-{what}-", dir=options.dir))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


# -- CPU time (Linux) -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU seconds that processes have used."""

    user_s: float
    system_s: float

    @property
    def total_s(self) -> float:
        return self.user_s + self.system_s

    def __sub__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_s - other.user_s, self.system_s - other.system_s)


def group_cpu(pid: int) -> CpuTime | None:
    """What the process group that `pid` leads has used so far; None off Linux.

    Processes of the group that have ended are counted where their parent, one of
    the group too, has waited for them.
    """
    if sys.platform != "linux":
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    user = system = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we were looking
        # The second field is the name in brackets and may have blanks in it.
        fields = text.rpartition(")")[2].split()
        if int(fields[2]) == pid:
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
    return CpuTime(user / ticks, system / ticks)


# -- output -------------------------------------------------------------------------


def table(results: Iterable[Figure | Skipped]) -> str:
    """Figures for people: a line each, and one for each further peer."""
    rows = [("figure", "value", "unit", "range", "target", "peer", "its value", "ratio")]
    for found in results:
        if isinstance(found, Skipped):
            rows.append((found.name, "-", "", "", "", f"skipped: {found.why}", "", ""))
            continue
        first = (
            found.name,
            _number(found.value),
            found.unit,
            f"{_number(min(found.values))}–{_number(max(found.values))}",
            found.target,
        )
        if not found.peers:
            rows.append((*first, "", "", ""))
        for peer, values in found.peers.items():
            theirs = statistics.median(values)
            ratio = f"{found.value / theirs:.2f}" if theirs else ""
            rows.append((*first, peer, _number(theirs), ratio))
            first = ("", "", "", "", "")
    widths = [max(len(row[column]) for row in rows) for column in range(7)]
    right = {1, 3, 6}
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[7]]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def against(results: Iterable[Figure | Skipped], names: Sequence[str]) -> str:
    """Ratios alone, of the figures that have a peer whose name has one of `names` in it.

    A ratio says how many times as good as the peer we are, whether more or less of the unit is
    better; its spread is that of each round beside the peer's of the same round.
    """
    rows = [("figure", "times as good", "spread", "howdah", "the peer", "unit", "peer")]
    behind = counted = 0
    for found in results:
        if isinstance(found, Skipped):
            rows.append((found.name, "-", "", "", "", "", f"skipped: {found.why}"))
            continue
        for peer, values in found.peers.items():
            if not any(name in peer for name in names) or not all((*values, *found.values)):
                continue
            more = found.unit.endswith("/s")
            own, theirs = found.value, statistics.median(values)
            ratios = [
                ours / its if more else its / ours
                for ours, its in zip(found.values, values, strict=False)
            ]
            ratio = statistics.median(ratios)
            counted += 1
            behind += ratio < 1
            spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
            numbers = (f"{ratio:.2f}", spread, _number(own), _number(theirs))
            rows.append((found.name, *numbers, found.unit, peer))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = [
        "  ".join(
            [
                cell.rjust(width) if 0 < column < 5 else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=False))
            ]
            + [row[6]]
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join([*lines, "", f"{counted} ratios, {behind} of them below 1"])


def line(found: Figure | Skipped) -> str:
    """One result as it comes: a long run that is broken off leaves what it had."""
    if isinstance(found, Skipped):
        return f"{found.name}: skipped: {found.why}"
    ratios = [
        f"{found.value / theirs:.2f} × {peer}"
        for peer, values in found.peers.items()
        if (theirs := statistics.median(values))
    ]
    return ", ".join([f"{found.name}: {_number(found.value)} {found.unit}", *ratios])


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def to_json(found: Figure | Skipped) -> str:
    """One result as one line."""
    kind = "figure" if isinstance(found, Figure) else "skipped"
    more = {"value": found.value} if isinstance(found, Figure) else {}
    return json.dumps({"kind": kind, **asdict(found), **more})


def from_json(line: str) -> Figure | Skipped:
    data = json.loads(line)
    if data.pop("kind") == "skipped":
        return Skipped(**data)
    del data["value"]
    peers = {peer: tuple(values) for peer, values in data.pop("peers").items()}
    return Figure(**{**data, "values": tuple(data["values"]), "peers": peers})


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="less data, fewer repeats")
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(tempfile.gettempdir()),
        help="where clusters and data go (default: %(default)s)",
    )
    return parser


def main(measure: Callable[[Options], Results]) -> None:
    """Run one script by itself."""
    asked = arguments((sys.modules["__main__"].__doc__ or "").split("\n")[0]).parse_args()
    found = []
    for result in measure(Options(asked.quick, asked.dir)):
        progress(line(result))
        if asked.json:
            print(to_json(result), flush=True)
        found.append(result)
    if not asked.json:
        print(table(found))
