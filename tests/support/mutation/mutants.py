"""The mutants of a module: what can be changed in it, by its syntax tree (pure)."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

NEGATED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BOUNDARY: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_UNWATCHED: Final = frozenset({"log", "logger", "logging", "reach", "_reach", "warnings"})
"""What nobody is to notice: lines of logs, and points at which tests stop a server."""
_UNWATCHED_FUNCTIONS: Final = frozenset({"__repr__", "__str__", "__del__"})
_LARGEST: Final = 64
"""Of a larger number, one more makes no difference that anybody should notice."""
_SYNCS: Final = ("sync", "flush")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutant:
    """Is one change of one module."""

    module: str
    line: int
    """Of the statement that is changed, or in which an expression is."""
    operator: str
    old: str
    new: str
    start: int
    end: int
    """Which bytes of the source are replaced by `new`."""

    def source(self, original: str) -> str:
        """Return the whole module with the change."""
        data = original.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.module}:{self.line} {self.operator}: {old} -> {new}"


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its text."""
    found = list(_Mutating(module, source).visit_module())
    return sorted(found, key=lambda each: (each.start, each.end, each.operator, each.new))


def sample(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Put mutants into an order that a seed decides, in which all operators come in turn."""
    dice = random.Random(seed)
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_operator.setdefault(mutant.operator, []).append(mutant)
    for of_one in by_operator.values():
        dice.shuffle(of_one)
    ordered = []
    while by_operator:
        for operator in sorted(by_operator):
            ordered.append(by_operator[operator].pop())
            if not by_operator[operator]:
                del by_operator[operator]
    return ordered


class _Mutating:
    """Goes over the functions of a module. Statements outside of functions are left alone: all
    tests run them."""

    def __init__(self, module: str, source: str) -> None:
        self._module = module
        self._source = source
        self._data = source.encode()
        self._tree = ast.parse(source)
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._line = 0

    def visit_module(self) -> Iterator[Mutant]:
        for node in _functions(self._tree):
            yield from self._block(node.body)

    # -- statements

    def _block(self, body: Sequence[ast.stmt]) -> Iterator[Mutant]:
        for statement in body:
            yield from self._statement(statement)

    def _statement(self, statement: ast.stmt) -> Iterator[Mutant]:
        if isinstance(statement, _Function | ast.ClassDef | ast.Assert) or _is_unwatched(statement):
            return  # Functions come by themselves.
        self._line = statement.lineno
        operator = _dropped_as(statement)
        if operator is not None:
            yield self._mutant(operator, statement, statement, "pass")
        match statement:
            case ast.If() | ast.While():
                yield from self._test(statement.test, is_loop=isinstance(statement, ast.While))
                yield from self._expression(statement.test)
            case ast.Try():
                for handler in statement.handlers:
                    if not all(isinstance(each, ast.Pass) for each in handler.body):
                        self._line = handler.body[0].lineno
                        yield self._mutant(
                            "exception swallowed", handler.body[0], handler.body[-1], "pass"
                        )
                    yield from self._block(handler.body)
            case ast.Match():
                for case in statement.cases:
                    yield from self._block(case.body)
            case ast.Raise():
                pass  # What it says is for people.
            case ast.AnnAssign():
                if statement.value is not None:
                    yield from self._expression(statement.value)
            case _:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        yield from self._expression(child)
        for field in ("body", "orelse", "finalbody"):
            yield from self._block(getattr(statement, field, ()))

    def _test(self, test: ast.expr, *, is_loop: bool) -> Iterator[Mutant]:
        if not isinstance(test, ast.Constant):
            text = self._text(test, test)
            yield self._mutant("boolean negated", test, test, f"(not ({text}))")
            yield self._mutant("condition constant", test, test, "False")
            if not is_loop:
                yield self._mutant("condition constant", test, test, "True")

    # -- expressions

    def _expression(self, node: ast.expr) -> Iterator[Mutant]:
        match node:
            case ast.JoinedStr() | ast.Lambda():
                return
            case ast.Compare(ops=[operator]):
                for operators, name in (
                    (NEGATED, "comparison flipped"),
                    (BOUNDARY, "comparison moved by one"),
                ):
                    if type(operator) in operators:
                        changed = copy.copy(node)
                        changed.ops = [operators[type(operator)]()]
                        yield self._mutant(name, node, node, f"({ast.unparse(changed)})")
            case ast.BoolOp():
                other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                swapped = ast.unparse(ast.BoolOp(other, node.values))
                yield self._mutant("and for or", node, node, f"({swapped})")
            case ast.UnaryOp(op=ast.Not()):
                inner = ast.unparse(node.operand)
                yield self._mutant("boolean negated", node, node, f"({inner})")
            case ast.IfExp():
                yield from self._test(node.test, is_loop=False)
            case ast.BinOp(op=ast.Add() | ast.Sub()) if not _is_text(node):
                sign = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
                changed_sum = ast.unparse(ast.BinOp(node.left, sign, node.right))
                yield self._mutant("plus for minus", node, node, f"({changed_sum})")
            case ast.Constant(value=int() as value) if (
                value is not bool(value) and abs(value) <= _LARGEST
            ):
                yield self._mutant("one more", node, node, f"({value + 1})")
            case ast.Constant(value=bool() as value):
                yield self._mutant("boolean negated", node, node, f"({not value})")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self._expression(child)
            elif isinstance(child, ast.keyword):
                yield from self._expression(child.value)
            elif isinstance(child, ast.comprehension):
                yield from self._expression(child.iter)
                for condition in child.ifs:
                    yield from self._expression(condition)

    # -- text

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> tuple[int, int]:
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        return (
            self._offset(first.lineno, first.col_offset),
            self._offset(last.end_lineno, last.end_col_offset),
        )

    def _text(self, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> str:
        start, end = self._span(first, last)
        return self._data[start:end].decode()

    def _mutant(
        self, operator: str, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr, new: str
    ) -> Mutant:
        start, end = self._span(first, last)
        old = self._data[start:end].decode()
        return Mutant(self._module, self._line, operator, old, new, start, end)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, _Function) and node.name not in _UNWATCHED_FUNCTIONS:
            yield node


def _called(node: ast.expr) -> ast.Call | None:
    """Return the call that an expression statement makes."""
    inner = node.value if isinstance(node, ast.Await) else node
    return inner if isinstance(inner, ast.Call) else None


def _is_unwatched(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    call = _called(statement.value)
    if call is None:
        return isinstance(statement.value, ast.Constant)
    names = {node.id for node in ast.walk(call.func) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(call.func) if isinstance(node, ast.Attribute)}
    return bool(names & _UNWATCHED)


def _dropped_as(statement: ast.stmt) -> str | None:
    """Name the operator that drops a statement; None where that would only break the next one."""
    match statement:
        case ast.Expr():
            call = _called(statement.value)
            if call is None:
                return None
            name = ast.unparse(call.func).rpartition(".")[2]
            return "sync dropped" if any(word in name for word in _SYNCS) else "call dropped"
        case ast.Raise():
            return "error not raised"
        case ast.AugAssign() | ast.Delete():
            return "statement dropped"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return "statement dropped"
        case ast.Return(value=None) | ast.Continue() | ast.Break():
            return "jump dropped"
    return None


def _is_small(value: int) -> bool:
    return not isinstance(value, bool) and abs(value) <= _LARGEST


def _is_text(node: ast.BinOp) -> bool:
    """Tell whether a sum puts texts, bytes or lists together."""
    return any(
        isinstance(each, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Starred)
        or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
        for each in (node.left, node.right)
    )
