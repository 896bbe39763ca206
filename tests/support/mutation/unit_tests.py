"""Runs unit tests over changed code of some modules.

    python -m tests.support.mutation.unit_tests CHANGES [ARGUMENT OF PYTEST]...

CHANGES is a file of JSON: `sources` has the text of each module that is changed, by its name;
`marked` names modules whose statements mark that they have run, and `reached` the file that gets
what each test reached.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from howdah.testing.world.instrumenting import Marks, compiled


class ChangedCode(importlib.abc.MetaPathFinder):
    """Finds modules of which other code is to run than that of their files."""

    def __init__(self, sources: Mapping[str, str], marked: Iterable[str]) -> None:
        self._sources = sources
        self._marked = frozenset(marked)
        self.marks = Marks()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._sources and fullname not in self._marked:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None, f"there is no module {fullname}"
        assert spec.origin is not None, f"{fullname} has no file"
        spec.loader = _Loader(fullname, spec.origin, self)
        return spec

    def code(self, name: str, path: Path) -> types.CodeType:
        if name in self._marked:
            return compiled(path, functools.partial(self.marks.mark, name))
        code: types.CodeType = compile(self._sources[name], str(path), "exec", dont_inherit=True)
        return code


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, changed: ChangedCode) -> None:
        super().__init__(fullname, path)
        self._changed = changed

    def get_code(self, fullname: str) -> types.CodeType:
        return self._changed.code(fullname, Path(self.path))

    def exec_module(self, module: types.ModuleType) -> None:
        self._changed.marks.give_to(module)
        super().exec_module(module)


class Reached:
    """Notes which lines each test reached, whether it passed, and how long it took."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._marks.take()
        self.tests[item.nodeid] = {"passed": True, "seconds": 0.0}
        try:
            return (yield)
        finally:
            self.tests[item.nodeid]["lines"] = self._marks.take()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests[report.nodeid]
        test["seconds"] += report.duration
        test["passed"] &= report.passed


def main() -> int:
    changes = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    finder = ChangedCode(changes.get("sources", {}), changes.get("marked", ()))
    sys.meta_path.insert(0, finder)
    reached = Reached(finder.marks)
    plugins = [reached] if "reached" in changes else []
    status = pytest.main(sys.argv[2:], plugins)
    if "reached" in changes:
        Path(changes["reached"]).write_text(json.dumps(reached.tests), "utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
