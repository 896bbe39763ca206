"""`hdfs dfsadmin` and `hdfs getconf` on a nameservice of ours, and ours beside them: the same
lines, and the same exit codes. One Java runs all of Hadoop's commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(300)

GETCONF = (
    "-namenodes",
    "-nnRpcAddresses",
    "-NNRPCADDRESSES",
    "-secondaryNameNodes",
    "-backupNodes",
    "-journalNodes",
    "-includeFile",
    "-excludeFile",
    "-confKey dfs.nameservices",
    "-confKey dfs.ha.namenodes.howdah",
    "-confKey no.such.key",
    "-confKey",
    "-confKey one two",
    "-namenodes more",
)
# Of a cluster whose name service has one namenode without a name, and of one without.
PLAIN = (
    "-D fs.defaultFS=hdfs://localhost:9 -namenodes",
    "-D fs.defaultFS=hdfs://localhost:9 -nnRpcAddresses",
    "-backupNodes",
    "-journalNodes",
    "-D dfs.namenode.secondary.http-address=localhost:1 -secondaryNameNodes",
    "-D dfs.nameservices=a -D dfs.namenode.secondary.http-address.a=localhost:1"
    " -secondaryNameNodes",
    "-D dfs.namenode.shared.edits.dir=qjournal://localhost:1;localhost:2/a -journalNodes",
    "-D dfs.namenode.shared.edits.dir=file:///a -journalNodes",
)
# Of clusters with several nameservices.
FEDERATED = tuple(
    f"-D dfs.nameservices=a,b -D dfs.ha.namenodes.b=n1,n2 {addresses} {rest}"
    for addresses in (
        " ".join(
            f"-D dfs.namenode.rpc-address.{name}=localhost:{port}"
            for name, port in (("a", 1), ("b.n1", 2), ("b.n2", 3))
        ),
    )
    for rest in (
        "-namenodes",
        "-nnRpcAddresses",
        "-D dfs.internal.nameservices=b -nnRpcAddresses",
        "-D dfs.namenode.servicerpc-address.a=localhost:4 -nnRpcAddresses",
        "-D dfs.namenode.secondary.http-address.a=localhost:5 -secondaryNameNodes",
    )
)
DFSADMIN = (
    "-report",
    "-report -live",
    "-printTopology",
    "-safemode get",
    "-safemode enter",
    "-safemode get",
    "-saveNamespace",
    "-saveNamespace -beforeShutdown",
    "-rollEdits",
    "-safemode leave",
    "-safemode wait",
    "-safemode forceExit",
    "-rollEdits",
    "-saveNamespace",
    "-restoreFailedStorage check",
    "-restoreFailedStorage false",
    "-refreshNodes",
    "-finalizeUpgrade",
    "-upgrade query",
    "-upgrade finalize",
    "-metasave dump.txt",
    "-refreshServiceAcl",
    "-refreshUserToGroupsMappings",
    "-refreshSuperUserGroupsConfiguration",
    "-refreshCallQueue",
    "-setBalancerBandwidth 104857600",
    "-rollingUpgrade query",
    "-listOpenFiles",
    "-fetchImage .",
    "-fetchImage nowhere",
    "-setQuota 1000 /",
    "-allowSnapshot /",
)
NUMBERS_DIFFER = re.compile(r"\d+|\(\d+(\.\d+)? [KMGT]?B\)|[A-Z][a-z]{2} [A-Z][a-z]{2} .*")
"""Room, times and transactions go on while the two are asked."""
SEVERAL = re.compile(r"^(\w+): (\d+ exceptions \[|localhost:\d+: ).*")


def test_the_lines_and_exit_codes_are_those_of_hadoop(
    hadoop_run: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many of these go to both namenodes, in the order of the configuration."""
    monkeypatch.chdir(tmp_path)
    with MiniCluster(datanodes=1, namenodes=2) as cluster:
        files = [f"-conf\t{cluster.conf_dir}/{name}-site.xml" for name in ("core", "hdfs")]
        commands = [
            *(["getconf", "\t".join(files), words] for words in GETCONF),
            *(["getconf", "", words] for words in (*PLAIN, *FEDERATED)),
            *(["dfsadmin", "\t".join(files), words] for words in DFSADMIN),
        ]
        lines = ["\t".join("\t".join(each).split()) for each in commands]
        answered = hadoop_run(Path(__file__).with_name("AdminCommands.java"), *lines, cwd=tmp_path)
        theirs = [part.split("\2") for part in answered.split("\1")[1:]]
        assert len(theirs) == len(lines)
        differ = []
        for line, (code, said, complained) in zip(lines, theirs, strict=True):
            ours = main(line.split())
            captured = capsys.readouterr()
            here = (ours, _comparable(captured.out), _comparable(captured.err))
            there = (int(code), _comparable(said), _comparable(complained))
            if here != there:
                differ.append(f"{line}\n  ours   {here}\n  theirs {there}")
        assert not differ, "\n".join(differ)


def _comparable(text: str) -> list[str]:
    # Hadoop looks up the names of addresses. Of several failures ours says whose they are.
    text = text.replace("hdfs dfsadmin", "howdah dfsadmin").replace("127.0.0.1", "localhost")
    text = text.replace("localhost/localhost", "localhost")
    lines = [line for line in text.splitlines() if not line.startswith("log4j:")]
    lines = [SEVERAL.sub(r"\1: #", line) for line in lines]
    return [NUMBERS_DIFFER.sub("#", line) for line in lines]
