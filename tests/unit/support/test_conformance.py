"""Requirements, the tests that prove them, and the page that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howdah.testing.contract import all_checks
from tests.support.requirements.conformance import (
    CONTRACT,
    FAILED,
    NOT_CLAIMED,
    PASSED,
    SKIPPED,
    Proof,
    Table,
    load,
    render,
)

PLUGIN = "tests.support.requirements.plugin"
ROOT = Path(__file__).parents[3]
TABLE = """
[kinds]
hdfs = "files of HDFS"
mem = "files in memory"
[groups]
all = ["hdfs", "mem"]
[where]
"tests/" = ["hdfs"]
"tests/unit/fs/" = ["mem"]
[requirements]
OS-001 = ["MUST", "all", "close writes"]
OS-002 = ["UNDEF", "all", "who knows", "undefined"]
FS-001 = ["MUST", "hdfs", "blocks are large"]
FS-002 = ["DEF", "hdfs", "files are read whole"]
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    path = tmp_path / "requirements.toml"
    path.write_text(TABLE)
    return load(path)


def row(page: str, requirement: str) -> list[str]:
    """The marks of a requirement, by kind."""
    found = re.search(rf"^\| {requirement} \|.*$", page, re.MULTILINE)
    assert found
    return [cell.strip() for cell in found[0].strip("|").split("|")][3:]


def proof(outcome: str, *kinds: str, test: str = "tests/test_a.py::test_a") -> Proof:
    return Proof(test, frozenset({"OS-001"}), kinds, outcome)


# --- the page ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "mark"),
    [
        ([], "○"),
        ([PASSED], "✔"),
        ([FAILED], "✘"),
        ([SKIPPED], "✘"),
        ([NOT_CLAIMED], "–"),
        ([NOT_CLAIMED, FAILED], "✘"),
        ([NOT_CLAIMED, PASSED], "✔"),
        ([FAILED, PASSED], "✔"),
    ],
)
def test_a_mark_says_what_came_of_the_tests(table: Table, outcomes: list[str], mark: str) -> None:
    proofs = [
        proof(outcome, "mem", test=f"tests/test_{number}.py::test_a")
        for number, outcome in enumerate(outcomes)
    ]
    assert row(render(table, proofs, "x"), "OS-001") == ["○", mark]


def test_a_test_that_did_not_pass_is_no_proof(table: Table) -> None:
    page = render(table, [proof(FAILED, "mem"), proof(PASSED, "hdfs", test="t.py::test_b")], "x")
    assert "test_a" not in page
    assert "- OS-001\n  - `t.py::test_b` (hdfs)\n" in page


def test_a_test_of_several_kinds_is_listed_once(table: Table) -> None:
    page = render(table, [proof(PASSED, "mem"), proof(PASSED, "hdfs")], "x")
    assert page.count("`tests/test_a.py::test_a`") == 1
    assert "`tests/test_a.py::test_a` (hdfs, mem)" in page


def test_a_row_that_needs_no_test_says_why(table: Table) -> None:
    page = render(table, [], "x")
    assert "| OS-002 | UNDEF | who knows (no test: undefined) |  |  |" in page
    assert "4 rows: 1 need no test, 0 are proved for every kind that they apply to, 3" in page


def test_a_kind_that_a_row_is_not_about_is_blank(table: Table) -> None:
    assert row(render(table, [], "x"), "FS-001") == ["○", ""]


def test_what_does_not_claim_something_does_not_owe_it(table: Table) -> None:
    proofs = [proof(PASSED, "hdfs"), proof(NOT_CLAIMED, "mem")]
    assert "1 are proved for every kind" in render(table, proofs, "x")


def test_a_test_is_about_what_its_path_says(table: Table) -> None:
    assert table.kinds_of("tests/cluster/test_a.py::test_a") == ("hdfs",)
    assert table.kinds_of("tests/unit/fs/test_a.py::test_a") == ("mem",)
    assert table.kinds_of("bench/x.py") == ()


@pytest.mark.parametrize("line", ['OS-3 = ["MUST", "all", "x"]', 'OS-003 = ["MUST", "disk", "x"]'])
def test_a_table_that_is_not_in_order_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "requirements.toml"
    path.write_text(TABLE + line)
    with pytest.raises(ValueError, match=r"OS-3|disk"):
        load(path)


# --- the plugin -------------------------------------------------------------------------

TESTS = """
import pytest

@pytest.mark.req("OS-001")
@pytest.mark.parametrize("kind", [
    pytest.param("hdfs", marks=pytest.mark.kind("hdfs")),
    pytest.param("mem", marks=pytest.mark.kind("mem")),
])
def test_close(kind):
    if kind == "mem":
        pytest.skip("not claimed: close")

@pytest.mark.req("FS-001", "FS-002")
def test_blocks():
    assert FINE

@pytest.mark.req("OS-001")
def test_elsewhere():
    pytest.skip("no java here")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "requirements.toml").write_text(TABLE)
    pytester.makeini(
        f"[pytest]\naddopts = -p xdist -p {PLUGIN}\n"
        "requirements = requirements.toml\ntestpaths = tests\n"
    )
    tests = pytester.mkdir("tests")
    (tests / "test_it.py").write_text("FINE = True\n" + TESTS)
    return pytester


def test_a_run_writes_the_page(project: pytest.Pytester) -> None:
    project.runpytest("--conformance", "page.md").assert_outcomes(passed=2, skipped=2)
    page = (project.path / "page.md").read_text()
    assert row(page, "OS-001") == ["✔", "–"]
    assert row(page, "FS-001") == ["✔", ""]
    assert "test_elsewhere" not in page


def test_a_run_in_several_processes_writes_the_page_too(project: pytest.Pytester) -> None:
    project.runpytest("-n1", "--conformance", "page.md").assert_outcomes(passed=2, skipped=2)
    first = (project.path / "page.md").read_text()
    assert row(first, "OS-001") == ["✔", "–"]
    project.runpytest("--collect-only", "--conformance", "page.md")
    assert (project.path / "page.md").read_text() == first


def test_without_a_run_the_last_outcomes_count(project: pytest.Pytester) -> None:
    project.runpytest()
    (project.path / "tests" / "test_it.py").write_text("FINE = False\n" + TESTS)
    project.runpytest("tests/test_it.py::test_blocks").assert_outcomes(failed=1)
    project.runpytest("--collect-only", "--conformance", "page.md")
    page = (project.path / "page.md").read_text()
    assert row(page, "OS-001") == ["✔", "–"]
    assert row(page, "FS-001") == ["✘", ""]
    assert "test_blocks" not in page


def test_a_page_of_some_tests_only_is_refused(project: pytest.Pytester) -> None:
    result = project.runpytest("tests/test_it.py", "--conformance", "page.md")
    result.stderr.fnmatch_lines(["*--conformance is about all tests*"])


def test_a_page_without_a_table_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-p", PLUGIN, "--conformance", "page.md")
    result.stderr.fnmatch_lines(["*needs the ini option requirements*"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [("req('FS-004')", "*no such requirement: ?'FS-004'?*"), ("kind('ram')", "*no such kind*")],
)
def test_a_mark_that_names_nothing_is_refused(
    project: pytest.Pytester, mark: str, message: str
) -> None:
    (project.path / "tests" / "test_it.py").write_text(
        f"import pytest\n@pytest.mark.{mark}\n@pytest.mark.req('OS-001')\ndef test_a(): pass\n"
    )
    project.runpytest().stderr.fnmatch_lines([message])


def test_a_mark_that_names_nothing_fails_its_test_in_a_worker(project: pytest.Pytester) -> None:
    (project.path / "tests" / "test_other.py").write_text(
        "import pytest\n@pytest.mark.req('FS-004')\ndef test_a(): pass\n"
    )
    result = project.runpytest("-n1")
    result.assert_outcomes(passed=2, skipped=2, failed=1)
    result.stdout.fnmatch_lines(["*no such requirement: ?'FS-004'?*"])


# --- the page of this project -------------------------------------------------------------


@pytest.fixture(scope="module")
def own_table() -> Table:
    return load(ROOT / "tests" / "requirements.toml")


@pytest.fixture(scope="module")
def own_page() -> str:
    return (ROOT / "docs" / "conformance.md").read_text()


@pytest.mark.parametrize(
    ("part", "count"), [("OS", 192), ("FS", 183), ("AP", 49), ("LM", 63), ("XC", 14)]
)
def test_the_table_has_every_row(own_table: Table, part: str, count: int) -> None:
    """In order. Of the filesystem the project has further rows of its own, with higher numbers."""
    wanted = [f"{part}-{number:03}" for number in range(1, count + 1)]
    named = [name for name in own_table.requirements if name.startswith(part)]
    assert [name for name in named if name in wanted or part != "FS"] == wanted


def test_the_page_lists_every_requirement(own_table: Table, own_page: str) -> None:
    for requirement in own_table.requirements:
        assert f"\n| {requirement} | " in own_page, requirement
        assert f"\n- {requirement}" in own_page, requirement


def test_the_page_names_only_tests_that_exist(own_page: str) -> None:
    checks = {check.name for check in all_checks()}
    names = set(re.findall(r"^  - `(.+?)`", own_page, re.MULTILINE))
    assert names
    defined: dict[str, set[str]] = {}
    missing = []
    for name in names:
        if name.startswith(CONTRACT):
            found = name.removeprefix(CONTRACT) in checks
        else:
            path, test, *_ = name.split("::")
            found = test in defined.setdefault(path, _defined(ROOT / path))
        if not found:
            missing.append(name)
    assert not missing, "run the tests, then ./dev conformance"


def _defined(path: Path) -> set[str]:
    """The functions of a module, its classes, and what is given a name (a state machine)."""
    if not path.exists():
        return set()
    return set(re.findall(r"^(?:def |class )?(\w+)(?=[(:]| = )", path.read_text(), re.MULTILINE))
