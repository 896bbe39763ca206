"""The fixtures of the pytest plugin on a cluster of processes: nothing is left between tests."""

from __future__ import annotations

import pytest

CONFTEST = """
    import pytest

    @pytest.fixture(scope="session")
    def howdah_cluster_options():
        return {"datanodes": 1, "conf": {"dfs.replication": 1}}

    @pytest.fixture(scope="session", autouse=True)
    def nothing_is_left(howdah_cluster):
        yield
        with howdah_cluster.connect() as fs:
            assert fs.ls("/howdah-tests") == []
            assert list(fs.list_open_files("/")) == []
            assert list(fs.list_snapshottable_directories()) == []
"""
TESTS = """
    def test_a(howdah_dir, howdah_cluster):
        assert len(howdah_cluster.names) == 3 - 1
        fs = howdah_dir.fs
        (howdah_dir / "f").write_text("x")
        fs.allow_snapshot(howdah_dir)
        fs.create_snapshot(howdah_dir, "s")
        fs.set_quota(howdah_dir, names=5)

    def test_b(howdah_dir):
        assert list(howdah_dir.iterdir()) == []
        left_open = (howdah_dir / "open").open("wb")
        left_open.write(b"x")
        left_open.hflush()

    def test_c(howdah_dir):
        assert [path.name for path in howdah_dir.parent.iterdir()] == [howdah_dir.name]
"""


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["one process", "xdist"])
def test_no_state_leaks_from_test_to_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    if options:
        pytest.importorskip("xdist")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    plugins = ("-p", "howdah", *(("-p", "xdist") if options else ()))
    pytester.runpytest_subprocess(*plugins, *options).assert_outcomes(passed=3)
