"""Passes over the syntax tree: threads that meet between statements, and marks of what has run."""

from __future__ import annotations

import ast
import textwrap
import types
from typing import Any

import pytest

from howdah.testing.world import Process, World, loader
from howdah.testing.world.instrumenting import MARKS_NAME, YIELD_NAME, Marks, with_yields

_MODULE = "howdah.testing.world"
_SOURCE = '''
"""A text."""
from __future__ import annotations

class Counter:
    """Another."""

    def __init__(self):
        self.value = 0

    def add(self):
        """A third."""
        value = self.value
        self.value = value + 1

def choose(number):
    match number:
        case 1:
            return "one"
        case _:
            try:
                raise ValueError
            except ValueError:
                return "other"
            finally:
                number = 0
'''


def _run(tree: ast.Module, **names: Any) -> dict[str, Any]:
    module = dict(names)
    exec(compile(tree, "source.py", "exec"), module)
    return module


def test_every_statement_of_a_function_lets_others_go_first() -> None:
    yields: list[int] = []
    module = _run(with_yields(ast.parse(_SOURCE)), **{YIELD_NAME: lambda: yields.append(1)})
    counter = module["Counter"]()
    counter.add()
    assert counter.value == 1
    assert len(yields) == 1 + 2
    yields.clear()
    assert module["choose"](2) == "other"
    assert len(yields) == 5
    assert module["__doc__"] == "A text."
    assert module["Counter"].add.__doc__ == "A third."


def test_line_numbers_stay_what_they_are() -> None:
    code = compile(with_yields(ast.parse(_SOURCE)), "source.py", "exec")
    plain = compile(_SOURCE, "source.py", "exec")

    def lines(code: types.CodeType) -> set[int | None]:
        own = {line for _, _, line in code.co_lines()}
        return own.union(*(lines(c) for c in code.co_consts if isinstance(c, types.CodeType)))

    assert lines(code) == lines(plain)


def test_marks_say_which_statements_have_run() -> None:
    marks = Marks()
    tree = marks.mark("source", ast.parse(_SOURCE))
    module = types.ModuleType("source")
    marks.give_to(module)
    exec(compile(tree, "source.py", "exec"), vars(module))
    assert module.choose(1) == "one"
    ran = {place.line for n, place in enumerate(marks.places) if marks.has_run(n)}
    all_lines = {place.line for place in marks.places}
    source = textwrap.dedent(_SOURCE).splitlines()
    missed = {source[line - 1].strip() for line in all_lines - ran}
    assert missed == {
        *("self.value = 0", "value = self.value", "self.value = value + 1", "try:"),
        *("raise ValueError", 'return "other"', "number = 0"),
    }
    assert MARKS_NAME in vars(module)
    assert {p.function for p in marks.places} >= {"Counter.add", "choose", "<module>"}


@pytest.mark.parametrize("meets", [False, True])
def test_a_race_between_plain_statements_is_seen_where_threads_meet(
    meets: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    path = tmp_path / "counter.py"
    path.write_text(_SOURCE)
    monkeypatch.setitem(loader._codes, "howdah.counter", loader._code_in(path, "howdah.counter"))
    monkeypatch.delitem(loader._yielding, "howdah.counter", raising=False)
    world = World(1)
    if meets:
        world.let_threads_meet_in("howdah.counter", chance=0.2)

    def race(process: Process) -> int:
        counter = process.modules.load("howdah.counter").Counter()
        threading = process.modules.load("threading")

        def add() -> None:
            for _ in range(50):
                counter.add()

        threads = [threading.Thread(target=add) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return int(counter.value)

    added = world.call(world.machine("one"), "racer", race)
    assert added < 150 if meets else added == 150


def test_marks_are_taken_by_module_and_forgotten() -> None:
    marks = Marks()
    module = types.ModuleType("counting")
    marks.give_to(module)
    exec(compile(marks.mark("counting", ast.parse(_SOURCE)), "source.py", "exec"), vars(module))
    assert marks.take()["counting"]
    vars(module)["choose"](1)
    assert sorted(marks.take()["counting"]) == [17, 19]
    assert not marks.take()


def test_processes_that_start_later_run_the_text_that_replaces_a_module() -> None:
    name = "howdah.failover.state.service"
    source = loader.source_of(name)
    try:
        loader.replace_code(name, f"{source}\nREPLACED = True\n")
        world = World(1)

        def look(process: Process) -> bool:
            return hasattr(process.modules.load(name), "REPLACED")

        assert world.call(world.machine("one"), "process", look)
        loader.change_code(name, "REPLACED = True", "REPLACED = False")
        assert loader.source_of(name) == f"{source}\nREPLACED = False\n"
    finally:
        del loader._codes[name]
        del loader._edited[name]
