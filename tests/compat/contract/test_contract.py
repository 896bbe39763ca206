"""Hadoop's filesystem contract, as Hadoop tests it, held against our servers.

The suites are those of Hadoop's test jars, as hadoop-hdfs binds them to HDFS and
to views of it, and two more that it does not bind. The client in them is Java's. The
options are those that hadoop-hdfs declares for HDFS, so what is skipped here is
skipped there: the same suites against Hadoop's own servers pass with exactly the skips
that stand below.

Three suites of hadoop-common are left out. They fail with Hadoop's own servers,
for the Java client does not offer what they are about: entity tags, IO statistics
of streams, and `getEnclosingRoot` with a scheme.
"""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from howdah.java import NoJava
from tests.support.hadoop.clusters import ClusterServer
from tests.support.hadoop.jars import NoHadoop, hadoop_tests_class_path
from tests.support.hadoop.suites import NoCompiler, Outcome, compiled, run_suites

STAND_IN = Path(__file__).parents[2] / "support" / "minidfscluster"
CACHE = Path(__file__).parents[3] / ".cache"
TIMEOUT_S = 1500  # for all of them, on a busy machine
# The fixture runs all suites, in the time of the test that comes first.
pytestmark = pytest.mark.timeout(TIMEOUT_S + 60)

HDFS = "org.apache.hadoop.fs.contract.hdfs."
VIEWS = "org.apache.hadoop.fs.viewfs."
WEB = "org.apache.hadoop.hdfs.web."
NAMENODE = "org.apache.hadoop.hdfs.server.namenode."
# The tests of each suite that Hadoop's own servers skip.
SUITES: dict[str, frozenset[str]] = {
    f"{HDFS}TestHDFSContractAppend": frozenset(),
    f"{HDFS}TestHDFSContractBulkDelete": frozenset(
        # HDFS deletes in bulk one path at a time.
        ("testChildPaths", "testDeletePathsDirectory", "testDeleteSamePathsMoreThanOnce")
    ),
    f"{HDFS}TestHDFSContractConcat": frozenset(),
    f"{HDFS}TestHDFSContractCreate": frozenset(),
    f"{HDFS}TestHDFSContractDelete": frozenset(),
    f"{HDFS}TestHDFSContractGetFileStatus": frozenset(),
    f"{HDFS}TestHDFSContractLeaseRecovery": frozenset(),
    f"{HDFS}TestHDFSContractMkdir": frozenset(),
    f"{HDFS}TestHDFSContractMultipartUploader": frozenset(),
    f"{HDFS}TestHDFSContractOpen": frozenset(),
    f"{HDFS}TestHDFSContractPathHandle": frozenset(),
    f"{HDFS}TestHDFSContractRename": frozenset(),
    f"{HDFS}TestHDFSContractRootDirectory": frozenset(),
    f"{HDFS}TestHDFSContractSafeMode": frozenset(),
    f"{HDFS}TestHDFSContractSeek": frozenset(),
    f"{HDFS}TestHDFSContractSetTimes": frozenset(),
    f"{HDFS}TestHDFSContractUnbuffer": frozenset(),
    f"{HDFS}TestHDFSContractVectoredRead": frozenset(),
    f"{HDFS}TestDFSWrappedIO": frozenset(),
    "MoreHdfsContracts$ContentSummary": frozenset(),
    "MoreHdfsContracts$CopyFromLocal": frozenset(),
    "org.apache.hadoop.hdfs.TestHDFSTrash": frozenset(),
    "org.apache.hadoop.fs.TestSymlinkHdfsFileContext": frozenset(),
    "org.apache.hadoop.fs.TestSymlinkHdfsFileSystem": frozenset(
        # FileSystem does otherwise than FileContext there.
        ("testCreateFileViaDanglingLinkParent", "testCreateWithPartQualPathFails")
    ),
    "org.apache.hadoop.security.TestPermissionSymlinks": frozenset(),
    "org.apache.hadoop.fs.TestResolveHdfsSymlink": frozenset(),
    "org.apache.hadoop.fs.TestSymlinkHdfsDisable": frozenset(),
    # Java's views, over one or two namespaces of ours.
    f"{VIEWS}TestViewFileSystemAtHdfsRoot": frozenset(),
    f"{VIEWS}TestViewFileSystemHdfs": frozenset(),
    f"{VIEWS}TestViewFileSystemLinkFallback": frozenset(),
    f"{VIEWS}TestViewFileSystemLinkMergeSlash": frozenset(),
    f"{VIEWS}TestViewFileSystemLinkRegex": frozenset(),
    f"{VIEWS}TestViewFileSystemOverloadSchemeHdfsFileSystemContract": frozenset(),
    f"{VIEWS}TestViewFileSystemOverloadSchemeWithHdfsScheme": frozenset(),
    f"{VIEWS}TestViewFileSystemWithAcls": frozenset(),
    f"{VIEWS}TestViewFileSystemWithTruncate": frozenset(),
    f"{VIEWS}TestViewFileSystemWithXAttrs": frozenset(),
    f"{VIEWS}TestViewFSOverloadSchemeWithMountTableConfigInHDFS": frozenset(),
    f"{VIEWS}TestViewFsAtHdfsRoot": frozenset(),
    f"{VIEWS}TestViewFsDefaultValue": frozenset(),
    f"{VIEWS}TestViewFsFileStatusHdfs": frozenset(),
    f"{VIEWS}TestViewFsHdfs": frozenset(),
    f"{VIEWS}TestViewFsLinkFallback": frozenset(),
    f"{VIEWS}TestViewFsWithAcls": frozenset(),
    f"{VIEWS}TestViewFsWithXAttrs": frozenset(),
    # Java's client of WebHDFS.
    f"{WEB}TestWebHdfsFileSystemContract": frozenset(),
    f"{WEB}TestFSMainOperationsWebHdfs": frozenset(),
    f"{WEB}TestWebHDFS": frozenset(),
    f"{WEB}TestWebHDFSAcl": frozenset(
        # A link that nobody can make over HTTP.
        ("testDefaultAclNewSymlinkIntermediate",)
    ),
    f"{WEB}TestWebHDFSXAttr": frozenset(),
    f"{WEB}TestWebHDFSForHA": frozenset(),
    f"{WEB}TestWebHdfsWithMultipleNameNodes": frozenset(),
    f"{WEB}TestWebHdfsWithRestCsrfPreventionFilter": frozenset(),
    "org.apache.hadoop.fs.TestWebHdfsFileContextMainOperations": frozenset(),
    # And over TLS alone.
    f"{WEB}TestHttpsFileSystem": frozenset(),
    "org.apache.hadoop.fs.TestSWebHdfsFileContextMainOperations": frozenset(),
    "org.apache.hadoop.hdfs.tools.TestWebHDFSStoragePolicyCommands": frozenset(),
    f"{NAMENODE}web.resources.TestWebHdfsCreatePermissions": frozenset(),
    # It makes other users the one who runs it, so it comes last.
    f"{WEB}TestWebHdfsUrl": frozenset(),
    # The same lists, attributes and policies over RPC.
    f"{NAMENODE}TestNameNodeAcl": frozenset(),
    f"{NAMENODE}TestFileContextAcl": frozenset(),
    f"{NAMENODE}TestNameNodeXAttr": frozenset(),
    f"{NAMENODE}TestFileContextXAttr": frozenset(),
    "org.apache.hadoop.hdfs.tools.TestStoragePolicyCommands": frozenset(),
    # Not AbstractContractStreamIOStatisticsTest: the streams of Hadoop's HDFS client have no
    # statistics of that kind, whatever servers they talk to.
}

# Tests of what is not there (yet).
LACKING = {
    "testFcDelegationToken": "delegation tokens",
    "testGetDelegationTokens": "delegation tokens",
    "testSecureHAToken": "delegation tokens",
    "testClientFailoverWhenStandbyNNHasStaleCredentials": "delegation tokens",
    "testGetDelegationTokensWithCredentials": "delegation tokens",
    "testEnclosingRootWrapped": "encryption zones",
    "testEnclosingRootsBase": "encryption zones",
    "testTrashRootsAfterEncryptionZoneDeletion": "encryption zones",
    "testTargetFileSystemLazyInitialization": "users who are named by Kerberos principals",
    "testTargetFileSystemLazyInitializationWithUgi": "users who are named by Kerberos principals",
    "testGetEZTrashRoot": "encryption zones",
    "testGetSnapshotTrashRoot": "trash within snapshottable directories",
    "testFsserverDefaults": "encrypted block data, and a default replication of 0",
    "testECPolicyCommands": "erasure coding",
    "testECPolicyInFileStatus": "erasure coding",
    "testWebHdfsErasureCodingFiles": "erasure coding",
}
# Tests that look where nothing is to be seen: into a process that is not this one.
LOOKS_INSIDE = {
    "testDeDuplication": "how often a list is kept",
    "testFsserverDefaultsBackwardsCompatible": "an older namenode, made out of a spied one",
    "testRaceWhileNNStartup": "a namenode whose calls are taken away",
    "testRetryWhileNNStartup": "the same, of several namenodes",
}
# Tests whose claim is not ours.
OTHERWISE = {
    "testExceedingFileSpaceQuota": (
        "the answer says why, at close: what was sent before is read, that it is heard"
    ),
    "testWebHdfsAppend": (
        "one datanode of three is enough to go on (replace-datanode-on-failure.min-replication)"
    ),
}
# Tests that are not run: they leave a Java behind that wants Kerberos.
LEFT_OUT = ("testSecureAuthParamsInUrl", "testSecureProxyAuthParamsInUrl")

# The requirements that a suite is about.
PROVES = {
    "TestHDFSContractAppend": ("OS-015", "AP-002", "AP-006"),
    "TestHDFSContractCreate": ("OS-013", "OS-138", "FS-115", "FS-117"),
    "TestHDFSContractGetFileStatus": ("OS-145",),
    "TestHDFSContractOpen": ("FS-091",),
    "TestHDFSContractSeek": ("FS-091",),
    "TestHDFSContractUnbuffer": ("OS-110",),
    "TestViewFileSystemWithAcls": ("FS-047",),
    "TestWebHdfsFileSystemContract": ("FS-216",),
    "TestFSMainOperationsWebHdfs": ("FS-216",),
    "TestWebHDFS": ("FS-216", "FS-218"),
    "TestWebHDFSAcl": ("FS-216",),
    "TestWebHDFSXAttr": ("FS-216",),
    "TestWebHDFSForHA": ("FS-216", "FS-218", "FS-057"),
    "TestHttpsFileSystem": ("FS-216", "FS-291"),
    "org.apache.hadoop.fs.TestSWebHdfsFileContextMainOperations": ("FS-216", "FS-291"),
    "TestWebHdfsWithRestCsrfPreventionFilter": ("FS-256",),
}

LONG = {
    # Each of its 46 tests writes 64 blocks, and takes a second.
    "TestHDFSContractVectoredRead",
    # What FileContext does with links, once more; and what it does where they are switched off.
    "org.apache.hadoop.fs.TestSymlinkHdfsFileSystem",
    "org.apache.hadoop.fs.TestSymlinkHdfsDisable",
    "org.apache.hadoop.fs.TestWebHdfsFileContextMainOperations",
    "org.apache.hadoop.fs.TestSWebHdfsFileContextMainOperations",
    # They start a cluster for each test.
    "org.apache.hadoop.hdfs.tools.TestStoragePolicyCommands",
    "org.apache.hadoop.hdfs.tools.TestWebHDFSStoragePolicyCommands",
}

# Of the views, of WebHDFS and of attributes.
QUICK = (
    *("TestViewFileSystemWithAcls", "TestViewFsWithXAttrs", "TestViewFsFileStatusHdfs"),
    *("TestWebHdfsFileSystemContract", "TestWebHDFSXAttr"),
)

_DECLARED = """
    is-case-sensitive rejects-seek-past-eof rename-returns-false-if-dest-exists
    rename-returns-false-if-source-missing supports-append supports-atomic-directory-delete
    supports-atomic-rename supports-block-locality supports-concat supports-content-check
    supports-file-reference supports-getfilestatus supports-hflush supports-hsync supports-seek
    supports-settimes supports-strict-exceptions supports-unbuffer supports-unix-permissions
    test.root-tests-enabled
"""
OPTIONS = {
    **{f"fs.contract.{name}": "true" for name in _DECLARED.split()},
    "fs.contract.metadata_updated_on_hsync": "false",
}


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Outcome]]:
    """What came of the suites whose tests were asked for."""
    wanted = [
        str(item.callspec.params["suite"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
    ]
    scratch = tmp_path_factory.mktemp("contract")
    try:
        jars = os.pathsep.join([hadoop_tests_class_path(CACHE), hadoop_classpath])
        classes = compiled(sorted(STAND_IN.glob("*.java")), jars, CACHE)
    except (NoHadoop, NoJava, NoCompiler) as error:
        pytest.skip(str(error))
    conf = {
        # The tests' blocks are of 1 KiB.
        "dfs.namenode.fs-limits.min-block-size": "0",
        # The groups that tests give their users.
        "hadoop.user.group.static.mapping.overrides": "bob=groupY,groupZ",
    }
    # Whom a test makes the user who runs it is with Hadoop the superuser of its cluster.
    superusers = ("super", f"{getpass.getuser()}_XXX", "test-user", "not-superuser")
    found: dict[str, list[Outcome]] = {}
    with ClusterServer(scratch, conf, superusers) as clusters:
        for number, suites in enumerate(by_machine(wanted)):
            found |= run_suites(
                suites,
                os.pathsep.join([str(classes), str(clusters.tls_dir), jars]),
                scratch / str(number),
                resources={"contract/hdfs.xml": OPTIONS},
                properties={"howdah.clusters": clusters.address},
                timeout_s=TIMEOUT_S,
                left_out=LEFT_OUT,
            )
    return found


def by_machine(suites: list[str]) -> list[list[str]]:
    """The suites that one virtual machine runs. Views count the filesystems that are open in
    theirs, and what a mock is told: each has one for itself."""
    views = [suite for suite in suites if suite.startswith(VIEWS)]
    others = [suite for suite in suites if suite not in views]
    return [*([others] if others else []), *([view] for view in views)]


def parameter(suite: str) -> ParameterSet:
    name = suite.removeprefix(HDFS).removeprefix(VIEWS).removeprefix(WEB).removeprefix(NAMENODE)
    marks = [pytest.mark.req(*PROVES[name])] if name in PROVES else []
    if name in LONG or (suite.startswith((VIEWS, WEB, NAMENODE)) and name not in QUICK):
        marks.append(pytest.mark.torture)
    return pytest.param(suite, id=name, marks=marks)


@pytest.mark.parametrize("suite", list(map(parameter, SUITES)))
def test_hadoops_contract_suite_passes(suite: str, outcomes: dict[str, list[Outcome]]) -> None:
    done = outcomes.get(suite)
    assert done, "no test of the suite was run"
    excused = {*LACKING, *LOOKS_INSIDE, *OTHERWISE}
    failed = [
        f"{one.test}: {one.why}" for one in done if one.kind == "failed" and one.test not in excused
    ]
    assert not failed, f"{len(failed)} of {len(done)} failed:\n\n" + "\n\n".join(failed)
    assert {one.test for one in done if one.kind == "skipped"} == SUITES[suite]
