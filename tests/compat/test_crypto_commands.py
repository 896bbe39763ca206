"""The cases of Hadoop's command line for encryption zones, those of TestCryptoAdminCLI, by `hdfs`
and by `howdah`, on a cluster of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.java import NoJava
from howdah.testing.minicluster import MiniCluster
from tests.support.hadoop.command_cases import CommandCases
from tests.support.hadoop.jars import NoHadoop, hadoop_test_files
from tests.support.hadoop.tools_gateway import HadoopCommands, Outcome
from tests.support.key_server import KEY_ACCESS, key_server

pytestmark = pytest.mark.timeout(300)

CACHE = Path(".cache")
CASES_THERE_ARE = 35


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    with key_server(tmp_path_factory.mktemp("keys"), KEY_ACCESS) as provider:
        assert main(["key", "create", "mykey", "-provider", provider]) == 0
        conf = {"hadoop.security.key.provider.path": provider, "fs.trash.interval": "10"}
        with MiniCluster(datanodes=1, conf=conf) as cluster:
            yield cluster


def _clear(cluster: MiniCluster) -> None:
    with cluster.connect() as fs:
        for status in fs.list_status("/"):
            fs.delete(status.path, recursive=True)


def test_all_cases_of_hadoops_command_line_hold(
    cluster: MiniCluster,
    hadoop_classpath: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("py4j", reason="PySpark is not installed")
    try:
        hadoop_test_files(CACHE, tmp_path)
        theirs = HadoopCommands(hadoop_classpath, cluster.conf_dir, tmp_path)
    except (NoHadoop, NoJava) as error:
        pytest.skip(str(error))

    def ours(command: str, *words: str) -> Outcome:
        capsys.readouterr()
        code = main(["--conf", str(cluster.conf_dir), command, *words])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    try:
        # Java's key stores, with which Hadoop runs them, take both names for the same.
        replaced = {"myKey": "mykey"}
        cases = CommandCases(tmp_path, "testCryptoConf.xml", cluster.uri, replaced)
        assert len(cases) == CASES_THERE_ARE
        _clear(cluster)
        found = cases.run(theirs, "bin/hdfs")
        assert found.wrong == []
        _clear(cluster)
        assert cases.run(ours, "howdah") == found
    finally:
        theirs.close()
