"""The hot modules of a namenode are compiled, and do what their sources do: their own tests, the
reference model and the simulated quorum run against the build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = (
    "tests/unit/rpc",
    "tests/unit/formats/edits",
    "tests/unit/runtime/metrics",
    "tests/unit/namenode/state/blocks",
    "tests/unit/namenode/service/calls",
    "tests/unit/namenode/server/ha",
    "tests/unit/namenode/state/inodes",
    "tests/unit/namenode/service/protocols",
    "tests/unit/namenode/state/tree",
    "tests/unit/namenode/service/writing",
    "tests/model",
)
REPLACED = (
    "tests/model/test_following.py",
    "tests/unit/namenode/service/calls/test_broken.py",
    "tests/unit/namenode/service/calls/test_reencryption.py"
    "::test_work_pauses_when_its_share_is_used_up[",
    "tests/unit/namenode/service/calls/test_reencryption.py"
    "::test_work_goes_on_as_soon_as_its_share_allows",
    "tests/unit/namenode/server/ha/test_defects.py"
    "::test_defect_in_apply_ends_the_process_and_nothing_of_it_is_acknowledged_or_kept",
    "tests/unit/namenode/server/ha/test_defects.py"
    "::test_defect_in_a_duty_is_counted_for_jmx_and_everybody_is_served_on",
    "tests/unit/namenode/server/ha/test_observer.py::test_a_client_sees_its_own_changes_at_an_observer",
    "tests/unit/namenode/server/ha/test_observer.py::test_msync_shows_what_others_have_done",
    "tests/unit/namenode/server/ha/test_observer.py"
    "::test_a_read_that_waits_when_the_role_changes_is_answered_by_the_active",
    "tests/unit/namenode/server/ha/test_observer.py"
    "::test_a_client_that_knows_of_no_observers_is_sent_to_the_active",
    "tests/unit/namenode/service/ha/test_roles.py"
    "::test_calls_that_wait_for_datanodes_are_refused_when_the_role_ends",
    "tests/unit/namenode/state/blocks/test_standby.py::test_the_oldest_truncations_are_forgotten",
    "tests/unit/namenode/state/inodes/test_group_table.py::test_holders_are_those_that_were_added[3-",
    "tests/unit/namenode/server/ha/test_takeover.py::test_a_standby_sorts_the_blocks_that_changed",
    "tests/unit/namenode/server/ha/test_transitions.py"
    "::test_a_defect_after_the_log_was_begun_ends_the_process",
    "tests/unit/namenode/state/tree/test_path_cache.py::test_what_is_kept_is_bounded",
    "tests/unit/namenode/service/writing/test_complete.py"
    "::test_a_defect_while_one_file_is_closed_is_told_to_its_caller_alone",
    "tests/unit/namenode/service/writing/test_pending_appends.py"
    "::test_a_defect_while_an_append_is_looked_at_is_told_to_its_caller",
    "tests/unit/namenode/service/writing/test_lease_recovery.py"
    "::test_recovery_of_a_committed_block_is_a_log_that_hadoop_takes",
    "tests/unit/namenode/service/writing/test_pipelines.py::test_call_that_an_edit_carries_is_known_to_the_standby",
    "tests/unit/namenode/service/writing/test_pipelines.py"
    "::test_maps_are_equal_whether_reports_come_before_the_new_stamp_or_after",
    "tests/unit/namenode/service/writing/test_pipelines.py"
    "::test_stale_replica_does_not_count_at_a_standby_that_nobody_told_of_the_pipeline",
    "tests/unit/namenode/service/writing/test_states.py",
    "tests/unit/rpc/test_server.py"
    "::test_a_connection_is_served_no_further_with_too_many_long_answers_under_way",
)
"""They put a function or a number of their own in the place of one that is compiled."""

pytestmark = [pytest.mark.torture, pytest.mark.timeout(5400)]


def run(*words: str, cwd: Path, **environment: str) -> str:
    """With what is to be used as it is by itself, whatever it is for these tests."""
    own = {name: value for name, value in os.environ.items() if name != "HOWDAH_COMPILED"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env={**own, "PYTHONPATH": str(cwd / "src"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources and tests in a directory of their own, with the modules compiled."""
    pytest.importorskip("mypyc", reason="mypyc is not installed")
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("a C compiler is not installed")
    place = tmp_path_factory.mktemp("compiled")
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info", "_compiled")
    for name in ("src", "tests", "bench", "docs"):
        shutil.copytree(ROOT / name, place / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place / name)
    run("setup.py", "--quiet", "build_ext", "--inplace", cwd=place, HOWDAH_COMPILE="1")
    return place


def test_the_program_says_that_modules_are_compiled(tree: Path) -> None:
    said = run("-P", "-m", "howdah", "version", "--verbose", cwd=tree).splitlines()
    assert said[-1].startswith("hot modules of a namenode: ")
    assert said[-1].endswith(" modules are compiled")


def test_tests_of_compiled_modules_pass(tree: Path) -> None:
    left_out = [f"--deselect={name}" for name in REPLACED]
    words = ("-m", "pytest", "-q", "-n", "2", "-m", "not torture", "-p", "no:cacheprovider")
    said = run(*words, *left_out, *TESTS, cwd=tree, HOWDAH_COMPILED="on")
    assert " passed" in said


def test_a_source_that_is_changed_runs_from_then_on(tree: Path) -> None:
    source = tree / "src" / "howdah" / "protocol" / "rpc" / "wire.py"
    text = source.read_text()
    try:
        source.write_text(text + "\n# changed\n")
        said = run("-P", "-m", "howdah", "version", "--verbose", cwd=tree)
    finally:
        source.write_text(text)
    assert "the sources run: protocol/rpc/wire.py is another one" in said
