"""What a pytest run of a user gets of howdah, where it is installed: fixtures, and logs."""

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


def test_a_users_run_has_the_fixtures_and_no_other(pytester: pytest.Pytester) -> None:
    def fixtures(*options: str) -> set[str]:
        lines = pytester.runpytest_subprocess("--fixtures", *options).outlines
        return {line.split()[0] for line in lines if " -- " in line}

    ours = {"howdah_cluster", "howdah_cluster_options", "howdah_dir"}
    assert fixtures(*WITH_IT) - fixtures() == ours


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


IN_MEMORY = """
    import howdah, pytest

    class Cluster:
        def connect(self):
            return howdah.connect("mem://plugin")

    @pytest.fixture(scope="session")
    def howdah_cluster():
        yield Cluster()
        print("LEFT:", howdah.connect("mem://plugin").ls("/howdah-tests"))
"""


def test_each_test_has_a_directory_of_its_own_that_is_removed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(IN_MEMORY)
    pytester.makepyfile(
        """
        import howdah, pytest

        seen = set()

        @pytest.mark.parametrize("name", ["a", "a/../b [x]*", "\u00fc" * 300])
        def test_directory(howdah_dir, name):
            assert isinstance(howdah_dir, howdah.Path)
            assert list(howdah_dir.iterdir()) == []
            assert howdah_dir.parent.path == "/howdah-tests"
            assert howdah_dir not in seen
            seen.add(howdah_dir)
            (howdah_dir / "f").write_text("x")
            assert list(howdah_dir.parent.iterdir()) == [howdah_dir]

        def test_that_fails(howdah_dir):
            (howdah_dir / "sub").mkdir()
            assert False
        """
    )
    result = pytester.runpytest_subprocess(*WITH_IT, "-s")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*LEFT: []*"])


def test_a_project_chooses_the_cluster(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from howdah.testing import minicluster

        class Cluster:
            def __init__(self, **options):
                self.options = options
            def __enter__(self):
                return self
            def __exit__(self, *_):
                pass

        @pytest.fixture(scope="session", autouse=True)
        def no_processes():
            minicluster.MiniCluster = Cluster

        @pytest.fixture(scope="session")
        def howdah_cluster_options(howdah_cluster_options):
            return howdah_cluster_options | {"datanodes": 1, "secure": True}
        """
    )
    pytester.makepyfile(
        """
        def test_options(howdah_cluster):
            racks = ["/rack0", "/rack1", "/rack2"]
            assert howdah_cluster.options == {"datanodes": 1, "secure": True, "racks": racks}
        """
    )
    pytester.runpytest_subprocess(*WITH_IT).assert_outcomes(passed=1)
