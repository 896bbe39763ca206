"""What is exempt from the figure of the statements that run in worlds."""

from __future__ import annotations

from pathlib import Path

import howdah
from howdah.testing.world.coverage import exemption_of, exemptions, shells, sort
from howdah.testing.world.instrumenting import Statement

ROOT = Path(howdah.__file__).parent


def test_a_module_a_package_a_class_and_a_function_may_be_exempt() -> None:
    known = exemptions(
        "# a comment\n"
        "howdah.one it is native\n"
        "howdah.two:Class.method it needs a terminal\n"
        "howdah.two:other it needs a terminal, too\n"
    )
    for place, name in (
        (Statement("howdah.one", 1, "<module>"), "howdah.one"),
        (Statement("howdah.one.below", 1, "run"), "howdah.one"),
        (Statement("howdah.two", 1, "Class.method"), "howdah.two:Class.method"),
        (Statement("howdah.two", 1, "other.inner"), "howdah.two:other"),
        (Statement("howdah.two", 1, "Class"), None),
        (Statement("howdah.oneself", 1, "run"), None),
    ):
        assert exemption_of(place, known) == name


def test_an_exemption_of_what_runs_or_is_not_there_is_named() -> None:
    known = {"howdah.one:ran": "", "howdah.one:gone": "", "howdah.one:idle": ""}
    ran = [Statement("howdah.one", 2, "ran")]
    rest = [Statement("howdah.one", 3, "ran"), Statement("howdah.one", 7, "idle")]
    coverage = sort(ran, rest, known)
    assert coverage.idle_exemptions == ("howdah.one:ran", "howdah.one:gone")
    assert coverage.exempt == tuple(rest)


def test_what_is_exempt_is_in_the_shells() -> None:
    modules = [*shells()]
    for name in exemptions():
        module, _, function = name.partition(":")
        assert any(each == module or each.startswith(f"{module}.") for each in modules), name
        path = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
        last = function.rpartition(".")[2]
        if function:
            text = path.read_text("utf-8")
            assert f"def {last}(" in text or f"class {last}" in text, name
