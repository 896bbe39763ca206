"""`hdfs cacheadmin` and ours, on a namenode of ours each: the same lines but for the
name of the program, the same exit codes. One Java runs all of Hadoop's commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.testing import MiniCluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.req("FS-041"), pytest.mark.req("FS-042")]

COMMANDS = (
    "",
    "-none",
    "none",
    "-help",
    "-help addPool",
    "-help listPools",
    "-help none",
    "-help addPool removePool",
    "-listPools",
    "-listDirectives",
    "-addPool",
    "-addPool one -owner ann -group staff -mode 0750 -limit 1000000 -maxTtl 2d",
    "-addPool one -group staff",
    "-addPool two -group g -defaultReplication 3",
    "-addPool three -group g -limit unlimited -maxTtl never",
    "-addPool four -mode xx",
    "-addPool four -mode 0999",
    "-addPool four -mode 777777",
    "-addPool four -group g -limit -5",
    "-addPool four -group g -limit five",
    "-addPool four -limit",
    "-addPool four -group g -maxTtl 5x",
    "-addPool four -maxTtl x",
    "-addPool four -maxTtl 33",
    "-addPool four -maxTtl xh",
    "-addPool four five six",
    "-addPool four -defaultReplication 99999",
    "-listPools",
    "-listPools -stats",
    "-listPools one",
    "-listPools none",
    "-listPools one two",
    "-modifyPool one",
    "-modifyPool",
    "-modifyPool none -mode 0700",
    "-modifyPool one -owner bob -group web -mode 1777 -limit 2000000 -maxTtl 30m",
    "-modifyPool two -defaultReplication 2",
    "-modifyPool two -limit unlimited",
    "-modifyPool one too many",
    "-addDirective",
    "-addDirective -path /a",
    "-addDirective -path /a -pool none",
    "-addDirective -path /a -pool one",
    "-addDirective -path /b -pool two -replication 2 -ttl never",
    "-addDirective -path /b -pool one -ttl 31m",
    "-addDirective -path /b -pool one -ttl 10y",
    "-addDirective -path /b -pool one -ttl 3",
    "-addDirective -path /b -pool two -replication 0",
    "-addDirective -path /b -pool two -replication 99999",
    "-addDirective -path /b -pool two -replication x",
    "-addDirective -path /b -pool two more",
    "-addDirective -path /big -pool one -force",
    "-addDirective -path /big -pool two -replication 4",
    "-modifyDirective",
    "-modifyDirective -id x",
    "-modifyDirective -id 2",
    "-modifyDirective -id 2 -replication 3 -pool three -path /c",
    "-modifyDirective -id 2 more",
    "-modifyDirective -id 99 -replication 3",
    "-modifyDirective -id -1 -replication 3",
    "-modifyDirective -id 2 -ttl 4h -force",
    "-listDirectives",
    "-listDirectives -stats",
    "-listDirectives -path /a",
    "-listDirectives -pool two",
    "-listDirectives -id 1",
    "-listDirectives -id 99",
    "-listDirectives -id x",
    "-listDirectives more",
    "-removeDirective",
    "-removeDirective x",
    "-removeDirective 0",
    "-removeDirective 99",
    "-removeDirective 1 2",
    "-removeDirective 1",
    "-removeDirectives",
    "-removeDirectives -path /big",
    "-removeDirectives -path /none",
    "-removeDirectives -path /a more",
    "-removePool",
    "-removePool none",
    "-removePool one two",
    "-removePool three",
    "-listDirectives",
    "-listPools",
)
GENERIC = re.compile(r"Generic options supported are:.*", re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}")


def test_the_lines_and_exit_codes_are_those_of_hadoop(
    hadoop_run: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    said: dict[str, list[tuple[int, str, str]]] = {}
    for name in ("ours", "theirs"):
        with MiniCluster(datanodes=1, dir=tmp_path / name) as cluster:
            with cluster.connect() as fs, fs.create("/big/file") as out:
                out.write(b"x" * 1_500_000)
            files = [f"-conf\t{cluster.conf_dir}/{site}-site.xml" for site in ("core", "hdfs")]
            lines = [
                "\t".join(["cacheadmin", *files, *words.split()]) if words else "cacheadmin"
                for words in COMMANDS
            ]
            if name == "ours":
                found = []
                for line in lines:
                    code = main(line.split("\t"))
                    captured = capsys.readouterr()
                    found.append((code, captured.out, captured.err))
            else:
                program = Path(__file__).with_name("AdminCommands.java")
                answered = hadoop_run(program, *lines, cwd=tmp_path)
                parts = [part.split("\2") for part in answered.split("\1")[1:]]
                found = [(int(code), out, err) for code, out, err in parts]
            said[name] = [(code, _comparable(out), _comparable(err)) for code, out, err in found]
    assert len(said["theirs"]) == len(COMMANDS)
    differ = [
        f"{words}\n  ours   {ours}\n  theirs {theirs}"
        for words, ours, theirs in zip(COMMANDS, said["ours"], said["theirs"], strict=True)
        if ours != theirs
    ]
    assert not differ, "\n".join(differ)


def _comparable(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("log4j:")]
    text = "\n".join(lines).replace("Usage: bin/hdfs ", "Usage: howdah ")
    return TIME.sub("#", GENERIC.sub("", text)).rstrip("\n")
