"""Code of howdah's modules with calls or marks between its statements.

Two passes over the syntax tree of a module, for worlds that ask for them:

- *yields*: before each statement of a function, other threads may go first. Without it threads meet
  at locks, sockets and files alone, and a race between two plain statements is never seen;
- *marks*: each statement marks that it has run, in memory that all processes of all worlds share.

Line numbers stay what they are, so tracebacks and stories read as before.
"""

from __future__ import annotations

import ast
import mmap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

YIELD_NAME: Final = "__let_others_go_first__"
MARKS_NAME: Final = "__marks__"
_MOST_STATEMENTS: Final = 1 << 18

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _BeforeStatements(ast.NodeTransformer):
    """Puts a statement before each statement of a function, or of a module."""

    def __init__(self, make: Callable[[ast.stmt], ast.stmt | None], *, only_functions: bool):
        self._make = make
        self._only_functions = only_functions
        self._depth = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        is_function = isinstance(node, _Function)
        if is_function and self._only_functions and node.name == "__del__":  # type: ignore[attr-defined]
            return node  # It may run while another thread is being switched to.
        self._depth += is_function
        super().generic_visit(node)
        if self._depth or not self._only_functions:
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    has_text = field == "body" and _may_have_text(node)
                    setattr(node, field, self._block(block, has_text=has_text))
        self._depth -= is_function
        return node

    def _block(self, block: list[ast.stmt], *, has_text: bool) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for place, statement in enumerate(block):
            before = None
            if not (has_text and place == 0 and _is_text(statement)) and not _is_fixed(statement):
                before = self._make(statement)
            if before is not None:
                ast.copy_location(before, statement)
                before.end_lineno, before.end_col_offset = statement.lineno, statement.col_offset
                ast.fix_missing_locations(before)
                made.append(before)
            made.append(statement)
        return made


def _may_have_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Module | ast.ClassDef | _Function)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_fixed(statement: ast.stmt) -> bool:
    """Tell whether nothing may stand before it, or nothing happens there."""
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    return is_future or isinstance(statement, ast.Global | ast.Nonlocal)


def with_yields(tree: ast.Module) -> ast.Module:
    """Let others go first before each statement of each function."""

    def make(statement: ast.stmt) -> ast.stmt:
        return ast.Expr(ast.Call(ast.Name(YIELD_NAME, ast.Load()), [], []))

    changed: ast.Module = _BeforeStatements(make, only_functions=True).visit(tree)
    return changed


@dataclass(frozen=True, slots=True)
class Statement:
    """Says where a statement is."""

    module: str
    line: int
    function: str


class Marks:
    """Notes which statements have run, in this process and in those that it forks."""

    def __init__(self) -> None:
        self._seen = mmap.mmap(-1, _MOST_STATEMENTS)
        self.places: list[Statement] = []
        self._known: set[str] = set()

    def mark(self, name: str, tree: ast.Module) -> ast.Module:
        """Let each statement of a module mark that it has run."""
        assert name not in self._known, f"{name} is marked already"
        self._known.add(name)
        functions = {
            id(statement): owner for owner, statement in _owned_statements(tree, "<module>")
        }

        never = {id(statement) for statement in _for_type_checkers(tree)}

        def make(statement: ast.stmt) -> ast.stmt | None:
            if id(statement) in never or _is_text(statement):
                return None  # It is for type checkers, or for readers.
            number = len(self.places)
            assert number < _MOST_STATEMENTS, "there are too many statements"
            self.places.append(Statement(name, statement.lineno, functions[id(statement)]))
            target = ast.Subscript(
                ast.Name(MARKS_NAME, ast.Load()), ast.Constant(number), ast.Store()
            )
            return ast.Assign([target], ast.Constant(1))

        changed: ast.Module = _BeforeStatements(make, only_functions=False).visit(tree)
        return changed

    def give_to(self, module: types.ModuleType) -> None:
        """Let a module's code find the memory."""
        vars(module)[MARKS_NAME] = self._seen

    def has_run(self, number: int) -> bool:
        return bool(self._seen[number])

    def take(self) -> dict[str, list[int]]:
        """Return the lines of the statements that have run, by module, and forget them."""
        seen, lines = self._seen[: len(self.places)], dict[str, list[int]]()
        number = seen.find(1)
        while number >= 0:
            self._seen[number] = 0
            place = self.places[number]
            lines.setdefault(place.module, []).append(place.line)
            number = seen.find(1, number + 1)
        return lines


def _owned_statements(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.stmt]]:
    """Go over all statements, each with the function or class in which it stands."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield owner, child
        inner = owner
        if isinstance(child, ast.ClassDef | _Function):
            inner = child.name if owner == "<module>" else f"{owner}.{child.name}"
        yield from _owned_statements(child, inner)


def _for_type_checkers(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.body:
                yield from (each for each in ast.walk(statement) if isinstance(each, ast.stmt))


def compiled(path: Path, change: Callable[[ast.Module], ast.Module]) -> types.CodeType:
    """Compile a file behind a pass over its syntax tree."""
    tree = change(ast.parse(path.read_text("utf-8"), str(path)))
    code: Any = compile(tree, str(path), "exec", dont_inherit=True)
    assert isinstance(code, types.CodeType), f"{path} has no code"
    return code
