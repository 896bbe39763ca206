"""Writes the generated parts of docs/how-it-works: tables of states, and drawings.

A page has `<!-- generated: NAME -->` and `<!-- end -->` around such a part. The tables
are those of the code, and the drawing of the house is made of its imports. `./dev drawings`
writes the parts, and a test compares the pages with what would be written.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from howdah.client.state.writing import phases
from howdah.datanode.state.replicas import states as replica_states
from howdah.namenode.service.ha.states import SERVED, TRANSITIONS, HAState
from howdah.namenode.state.blocks.admin_states import ADMIN_TRANSITIONS, MEANINGS, AdminState
from howdah.namenode.state.blocks.block_states import BLOCK_TRANSITIONS, BlockPhase
from howdah.namenode.state.tree.lease_states import LEASE_TRANSITIONS, LeasePhase
from howdah.protocol.client_methods import Category
from howdah.runtime.state_table import as_markdown, as_mermaid
from tests.support import walks
from tests.support.routing import walk

HERE: Final = Path(__file__).parent
PAGES: Final = HERE / "how-it-works"
PART: Final = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def architecture() -> Any:
    """tests/unit/test_architecture.py, which reads the imports of the house. Under pytest it has
    read them already."""
    return importlib.import_module("tests.unit.test_architecture")


def drawn(diagram: str) -> str:
    return f"```mermaid\n{diagram}\n```"


def state_table(states: type[BlockPhase] | type[LeasePhase], rows: str) -> str:
    """What the states mean, and then the transitions."""
    meanings = "\n".join(f"- {state.name}: {state.value}" for state in states)
    return f"{meanings}\n\n{rows}"


def admin_table() -> str:
    """The administrative states of a datanode."""
    meanings = "\n".join(f"- {state.name}: {said}" for state, said in MEANINGS.items())
    return f"{meanings}\n\n{as_markdown(ADMIN_TRANSITIONS)}"


def roles() -> str:
    """The roles of a namenode: drawn, and what is served in each."""
    lines = ["stateDiagram-v2", f"    [*] --> {HAState.INITIALIZING.value}"]
    rows = ["| role | serves |", "|---|---|"]
    for role, following in TRANSITIONS.items():
        lines += [f"    {role.value} --> {after.value}" for after in HAState if after in following]
        served = [category.name for category in Category if category in SERVED[role]]
        rows.append(f"| {role.value} | {', '.join(served) or 'nothing'} |")
    return "\n".join([drawn("\n".join(lines)), "", *rows])


BOTTOM: Final = {"config", "native", "proto", "protocol", "runtime"}
"""What every package may import, which would hide all other arrows."""


def packages() -> str:
    """The packages, each with arrows to those that it imports and no other one leads to."""
    arrows = architecture().arrows("howdah")
    known = {name: targets - BOTTOM for name, targets in arrows.items() if name not in BOTTOM}
    lines = ["flowchart TD"]
    for name in sorted(known, key=lambda name: (-height(name, arrows), name)):
        below = {far for near in known[name] for far in reached(near, known)}
        lines += [f"    {name} --> {other}" for other in sorted(known[name] - below)]
        if not known[name]:
            lines.append(f"    {name} --> bottom")
    lines.append(f"    bottom[{', '.join(sorted(BOTTOM))}]")
    return drawn("\n".join(lines))


def reached(name: str, arrows: dict[str, set[str]]) -> set[str]:
    """The rooms to which arrows lead from this one, by way of others, too."""
    return arrows[name] | {far for near in arrows[name] for far in reached(near, arrows)}


def height(name: str, arrows: dict[str, set[str]]) -> int:
    """How many arrows lie between a room and the ground."""
    return 1 + max((height(other, arrows) for other in arrows[name]), default=-1)


def rooms() -> str:
    """The rooms of each package, from the top to the bottom."""
    house = architecture()
    lines = ["| package | rooms, from the top to the bottom |", "|---|---|"]
    for package in house.houses():
        arrows = house.arrows(package)
        if package == "howdah" or len(arrows) < 2:
            continue
        order = sorted(arrows, key=lambda name: (-height(name, arrows), name))
        down = " → ".join(f"`{room}`" for room in order)
        lines.append(f"| `{package.removeprefix('howdah.').replace('.', '/')}` | {down} |")
    return "\n".join(lines)


PARTS: Final[dict[str, Callable[[], str]]] = {
    "block diagram": lambda: drawn(
        as_mermaid(BLOCK_TRANSITIONS, BlockPhase.NONE, BlockPhase.REMOVED)
    ),
    "block table": lambda: state_table(BlockPhase, as_markdown(BLOCK_TRANSITIONS)),
    "lease diagram": lambda: drawn(as_mermaid(LEASE_TRANSITIONS, LeasePhase.NONE)),
    "admin diagram": lambda: drawn(as_mermaid(ADMIN_TRANSITIONS, AdminState.NORMAL)),
    "admin table": admin_table,
    "lease table": lambda: state_table(LeasePhase, as_markdown(LEASE_TRANSITIONS)),
    "replica": lambda: replica_states.markdown().strip(),
    "pipeline": lambda: phases.markdown().strip(),
    "roles": roles,
    "packages": packages,
    "router calls": walk.table,
    "rooms": rooms,
    "files of a create": lambda: walks.markdown(walks.files_of_create()),
    "files of a heartbeat": lambda: walks.markdown(walks.files_of_heartbeat()),
}


def filled(text: str) -> str:
    """A page with its generated parts as they should be."""
    return PART.sub(lambda found: f"{found[1]}{PARTS[found[2]]()}\n{found[3]}", text)


def main() -> None:
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(filled(path.read_text()))


if __name__ == "__main__":
    main()
