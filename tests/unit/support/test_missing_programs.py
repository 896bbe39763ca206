"""The end of a run names the programs that its skipped tests needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.requirements.missing_programs import missing

PLUGIN = "tests.support.requirements.missing_programs"
TESTS = Path(__file__).parents[2]


def test_reasons_that_name_something_missing_are_counted() -> None:
    found = missing(
        [
            "Skipped: curl is not installed",
            "Skipped: curl is not installed",
            "Skipped: could not import 'dask.bag': No module named 'dask'",
            "Skipped: not claimed: close",
        ]
    )
    assert found == {"curl is not installed": 2, "the module dask.bag is not installed": 1}


def test_run_ends_with_the_list(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_a():
            pytest.importorskip('no_such_module')

        @pytest.mark.skipif(True, reason="the program fish is not installed")
        def test_b():
            pass

        def test_c():
            pytest.skip("not claimed: close")
        """
    )
    lines = [line for line in pytester.runpytest("-p", PLUGIN).outlines if line]
    start = next(n for n, line in enumerate(lines) if "missing on this machine" in line)
    assert lines[start + 1 : start + 3] == [
        "1 test: the module no_such_module is not installed",
        "1 test: the program fish is not installed",
    ]
    assert "not claimed" not in lines[start + 3]


@pytest.mark.parametrize("words", ["is not here", "there is no curl", "there is no openssl"])
def test_no_test_says_otherwise_that_a_program_is_missing(words: str) -> None:
    """The list would not have it."""
    own = Path(__file__)
    reason = re.compile(rf"(skip\(|reason=)f?\"[^\"]*{words}")
    found = [
        str(path) for path in TESTS.rglob("*.py") if path != own and reason.search(path.read_text())
    ]
    assert not found
