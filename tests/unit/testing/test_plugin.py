"""What a pytest run of a user gets of howdah, where it is installed: a fixture, and logs."""

from __future__ import annotations

import pytest

AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
WITH_IT = ("-p", "howdah")


@pytest.fixture(autouse=True)
def _no_installed_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load ours by its name only: the import of all plugins costs more than the rest of a run."""
    monkeypatch.setenv(AUTOLOAD, "1")


@pytest.mark.parametrize("question", ["--help", "--markers"])
def test_a_users_run_has_no_option_ini_or_marker_of_ours(
    pytester: pytest.Pytester, question: str
) -> None:
    """What pytest says of itself is the same with the plugin and without it."""
    with_it = pytester.runpytest_subprocess(*WITH_IT, question)
    without = pytester.runpytest_subprocess(question)
    assert with_it.ret == without.ret == 0
    assert with_it.outlines == without.outlines
    assert "requirement" not in with_it.stdout.str()


def test_a_users_run_has_the_fixture_and_no_other(pytester: pytest.Pytester) -> None:
    def fixtures(*options: str) -> set[str]:
        lines = pytester.runpytest_subprocess("--fixtures", *options).outlines
        return {line.split()[0] for line in lines if " -- " in line}

    assert fixtures(*WITH_IT) - fixtures() == {"howdah_cluster"}


def test_a_users_run_loads_nothing_but_the_plugin(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It loads it without being told to."""
    monkeypatch.delenv(AUTOLOAD)
    pytester.makepyfile(
        """
        import sys

        def test_a():
            ours = {name for name in sys.modules if name.startswith("howdah")}
            assert ours == {"howdah", "howdah.testing", "howdah.testing.plugin"}
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_failure_on_a_cluster_shows_the_servers_logs(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from howdah.testing import MiniCluster

        class Cluster(MiniCluster):
            names = ["namenode"]
            def __init__(self):
                pass
            def log(self, name):
                return "old line\\n" * 100 + "the last line"

        @pytest.fixture
        def my_cluster():
            return Cluster()
        """
    )
    pytester.makepyfile("def test_a(my_cluster): assert False")
    result = pytester.runpytest(*WITH_IT)
    result.stdout.fnmatch_lines(["*log of namenode*", "old line", "the last line"])
    assert result.stdout.str().count("old line") == 59
