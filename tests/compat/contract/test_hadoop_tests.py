"""Hadoop's own tests of what clients see, run on our servers, class by class.

Those that start a cluster and ask it as clients do judge any servers. Which these are, and why
others are left out, is in two files beside this one (`tests.support.hadoop.judges`).
A stand-in for their `MiniDFSCluster` starts ours, see tests/support. Some that take no time are
run always, all of them as torture, in batches that share a Java process.
"""

from __future__ import annotations

import getpass
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from howdah.java import NoJava
from tests.support.hadoop.catalogue import Catalogue, read_directory, read_jars, written
from tests.support.hadoop.clusters import ClusterServer
from tests.support.hadoop.jars import NoHadoop, hadoop_test_files, hadoop_tests_class_path
from tests.support.hadoop.judges import Judges, batches, pattern
from tests.support.hadoop.suites import NoCompiler, Outcome, compiled, run_suites

JUDGES = Judges(Path(__file__).parent)
CACHE = Path(__file__).parents[3] / ".cache"
STAND_IN = Path(__file__).parents[2] / "support" / "minidfscluster"
ELSEWHERE = re.compile(r"run by (\w+\.py)")
BATCH_TIMEOUT_S = 1500
TEST_TIMEOUT_S = 300
TEST_TIMEOUTS_S = {
    # One test reads files of all lengths with all internal blocks lost that may be.
    "org.apache.hadoop.hdfs.TestReadStripedFileWithDecodingDeletedData": 1200,
}
pytestmark = pytest.mark.timeout(BATCH_TIMEOUT_S + 100)

CONF = {
    # The tests' blocks are of 1 KiB.
    "dfs.namenode.fs-limits.min-block-size": "0",
}
# Whom a test makes the user who runs it is with Hadoop the superuser of the cluster.
USERS = (
    f"super=supergroup;{getpass.getuser()}_XXX=supergroup;test-user=supergroup;"
    # Of users whom a test makes up after it has started its cluster.
    "fakeUser1=supergroup;barUser=bar;foo=fooGroup"
)
USERS_OF = {
    # It makes the user up after it has started its cluster.
    "org.apache.hadoop.hdfs.TestErasureCodingExerciseAPIs": "user1=group1",
    # Elsewhere this user is none of the superusers.
    "org.apache.hadoop.hdfs.TestReadWhileWriting": f"{getpass.getuser()}x=supergroup",
}

# Of every kind something, and none takes long.
QUICK = (
    "org.apache.hadoop.hdfs.TestDFSMkdirs",
    "org.apache.hadoop.fs.shell.TestHdfsTextCommand",
    "org.apache.hadoop.hdfs.TestQuotaAllowOwner",
)

CASES = "testHDFSConf.xml"
# Of its cases, which are those of TestHDFSCLI.
CASES_LEFT_OUT = {
    "printTopology: verifying that the topology map is what we expect": (
        "wants all datanodes at one address"
    ),
}

Run = Callable[[Sequence[str]], dict[str, list[Outcome]]]


@pytest.fixture(scope="module")
def stand_in(hadoop_classpath: str) -> tuple[Path, str]:
    """Its compiled classes, and the class path behind them."""
    try:
        jars = os.pathsep.join([hadoop_tests_class_path(CACHE), hadoop_classpath])
        classes = compiled(sorted(STAND_IN.glob("*.java")), jars, CACHE)
    except (NoHadoop, NoJava, NoCompiler) as error:
        pytest.skip(str(error))
    return classes, jars


@pytest.fixture
def run(stand_in: tuple[Path, str], tmp_path: Path) -> Run:
    """Runs the tests of some classes that are not left out."""
    classes, jars = stand_in
    judges = JUDGES.run()
    files = tmp_path / "files"
    hadoop_test_files(CACHE, files)
    leave_out_cases(files / CASES)

    def run(suites: Sequence[str]) -> dict[str, list[Outcome]]:
        with ClusterServer(tmp_path / "clusters", conf_for(suites)) as clusters:
            return run_suites(
                suites,
                os.pathsep.join(
                    [str(classes), str(clusters.tls_dir), str(files / "class-path"), jars]
                ),
                tmp_path / "run",
                resources={},
                properties={
                    "howdah.clusters": clusters.address,
                    "test.cache.data": str(files),
                },
                timeout_s=BATCH_TIMEOUT_S,
                excluded=[pattern(suite, test) for suite in suites for test in judges[suite][1]],
                test_timeout_s=max(TEST_TIMEOUTS_S.get(each, TEST_TIMEOUT_S) for each in suites),
            )

    return run


def conf_for(suites: Sequence[str]) -> dict[str, str]:
    """The configuration of the clusters of these suites."""
    users = [USERS, *(USERS_OF[suite] for suite in suites if suite in USERS_OF)]
    return {**CONF, "hadoop.user.group.static.mapping.overrides": ";".join(users)}


def leave_out_cases(path: Path) -> None:
    """Take the cases of the command line that are left out off the file."""
    tree = ET.parse(path)
    tests = tree.getroot().find("tests")
    assert tests is not None
    found = [test for test in tests if test.findtext("description") in CASES_LEFT_OUT]
    assert len(found) == len(CASES_LEFT_OUT)
    for test in found:
        tests.remove(test)
    tree.write(path)


def failures(run: Run, suites: Sequence[str]) -> list[str]:
    """What failed, and what was not run at all."""
    judges = JUDGES.run()
    outcomes = run(suites)
    found = []
    for suite in suites:
        done = outcomes.get(suite, [])
        found += [f"{suite}#{one.test}: {one.why}" for one in done if one.kind == "failed"]
        names = {one.test.partition("[")[0] for one in done}
        found += [f"{suite}#{test} was not run" for test in judges[suite][0] if test not in names]
    return found


def test_some_of_hadoops_tests_pass(run: Run) -> None:
    assert failures(run, QUICK) == []


@pytest.mark.torture
@pytest.mark.parametrize(
    "suites",
    [
        pytest.param(suites, id=suites[0].removeprefix("org.apache.hadoop."))
        for suites in batches(list(JUDGES.run()))
    ],
)
def test_hadoops_tests_pass(run: Run, suites: Sequence[str]) -> None:
    assert failures(run, suites) == []


def test_every_test_that_is_left_out_is_there_and_has_its_reason() -> None:
    suites = JUDGES.suites()
    for name in JUDGES.reasons():
        suite, _, test = name.partition("#")
        assert suite in suites, name
        assert test == "*" or suites[suite].get(test) == "", name


def test_what_is_left_out_as_run_elsewhere_is_run_there() -> None:
    compat = Path(__file__).parents[1]
    elsewhere = {
        (found[1], name.partition("#")[0].rpartition(".")[2])
        for name, reason in JUDGES.reasons().items()
        if (found := ELSEWHERE.fullmatch(reason))
    }
    assert elsewhere
    for file, suite in elsewhere:
        [there] = compat.rglob(file)
        assert re.search(rf"\b{suite}\b", there.read_text()), (file, suite)


@pytest.mark.torture
def test_the_list_of_tests_is_that_of_the_jars(stand_in: tuple[Path, str]) -> None:
    classes, jars = stand_in
    directory = Path(jars.split(os.pathsep)[0]).parent
    of_tests = [*directory.glob("hadoop-common-*-tests.jar"), *directory.glob("hadoop-hdfs-*.jar")]
    catalogue = Catalogue(read_jars(sorted(of_tests)), read_directory(classes))
    assert list(written(catalogue.suites())) == JUDGES.tests.read_text().splitlines()
