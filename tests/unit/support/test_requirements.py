"""The plugin of our own runs: marks and the report of them."""

from __future__ import annotations

import pytest

PLUGIN = "tests.support.requirements.plugin"


@pytest.fixture(autouse=True)
def _with_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\naddopts = -p xdist -p {PLUGIN}\n")


@pytest.mark.parametrize("workers", [0, 1])
def test_report_lists_requirements_with_their_tests(
    pytester: pytest.Pytester, workers: int
) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.req("XX-002", "XX-001")
        @pytest.mark.parametrize("n", [1, 2])
        def test_a(n): pass

        @pytest.mark.req("XX-001")
        def test_b(): pass
        """
    )
    result = pytester.runpytest("--req-report", f"-n{workers}")
    result.stdout.fnmatch_lines(
        ["XX-001", "    test_it.py::test_a", "    test_it.py::test_b", "XX-002", "    *::test_a"]
    )
    assert result.stdout.str().count("test_it.py::test_a") == 2


def test_report_is_not_shown_unasked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.req('XX-001')\ndef test_a(): pass")
    assert "XX-001" not in pytester.runpytest().stdout.str()


def test_marker_without_an_id_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.req()\ndef test_a(): pass")
    result = pytester.runpytest()
    result.stderr.fnmatch_lines(["*the marker req needs an id*"])


def test_marker_is_known(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.req('XX-001')\ndef test_a(): pass")
    pytester.runpytest("--strict-markers").assert_outcomes(passed=1)
