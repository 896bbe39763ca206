"""Words of commands of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.cli.arguments.parser import Arguments
from howdah.cli.arguments.usage import UsageError
from howdah.cli.main import main


@pytest.mark.parametrize("word", ["-h", "-help", "--help"])
def test_help_is_understood_however_it_is_asked_for(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = Arguments(prog="howdah it")
    parser.add_argument("-format", action="store_true", help="make it")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([word])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: howdah it [-h] [-format]\n")
    assert "-help " not in said.replace("--help", "")


def test_wrong_usage_is_an_error_and_no_end_of_the_process() -> None:
    with pytest.raises(UsageError, match="unrecognized arguments: -what"):
        Arguments(prog="howdah it").parse_args(["-what"])


@pytest.mark.parametrize("text", ["1_000", "\u0661", " 1", "1 ", "nan"])
def test_numbers_of_options_are_made_of_ascii_digits(text: str) -> None:
    parser = Arguments(prog="howdah it")
    parser.add_argument("--count", type=int)
    parser.add_argument("--share", type=float)
    for option in ("--count", "--share"):
        with pytest.raises(UsageError, match=f"argument {option}: invalid"):
            parser.parse_args([option, text])
    assert parser.parse_args(["--count", "-3", "--share", "1.5"]).share == 1.5


COMMANDS = [
    "up --datanodes N",
    "up --namenodes N",
    "init --replication N --machines a --base /b --to /c",
    "balancer -threshold N",
    "balancer -idleiterations N",
    "dfs -setrep N file:///tmp/a",
    "dfs -truncate N file:///tmp/a",
    "dfs -put -t N /etc/hostname file:///tmp/no-such-directory/a",
    "dfs -tail -s N file:///tmp/a",
    "dfs -chmod N file:///tmp",
    "dfs -touch -t N file:///tmp/a",
    "dfs -ls hdfs://127.0.0.1:N/",
    "dfsadmin -fs hdfs://127.0.0.1:1 -setQuota N /a",
    "dfsadmin -fs hdfs://127.0.0.1:1 -setSpaceQuota N /a",
    "dfsadmin -fs hdfs://127.0.0.1:1 -setBalancerBandwidth N",
    "dfsadmin -fs hdfs://127.0.0.1:1 -getDatanodeInfo 127.0.0.1:N",
    "debug recoverLease -path hdfs://127.0.0.1:1/a -retries N",
    "distcp -m N file:///tmp/a file:///tmp/b",
    "distcp -bandwidth N file:///tmp/a file:///tmp/b",
    "sync -m N file:///tmp/a file:///tmp/b",
    "sync -bandwidth N file:///tmp/a file:///tmp/b",
    "oiv -i /tmp/no-such-image -p FileDistribution -maxSize N",
    "namespace --top N file:///tmp/a",
    "compact --target-size N file:///tmp/a",
    "cacheadmin -fs hdfs://127.0.0.1:1 -addPool p -mode N",
    "cacheadmin -fs hdfs://127.0.0.1:1 -addPool p -limit N",
    "routeradmin -setQuota /a -nsQuota N",
    "routeradmin -setQuota /a -ssQuota N",
    "routeradmin -add /a ns /b -mode N",
]


@pytest.mark.parametrize("number", ["1_0", "\u0661"])
@pytest.mark.parametrize("line", COMMANDS)
def test_no_command_takes_another_number(
    line: str,
    number: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([word.replace("N", number) for word in line.split()]) != 0
    told = capfd.readouterr()
    assert number in told.err + told.out, told
    assert "Connection refused" not in told.err
    assert list(tmp_path.iterdir()) == []
