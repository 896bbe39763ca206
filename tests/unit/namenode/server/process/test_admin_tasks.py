"""Host files as the namenode reads them, and its log directory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.admin_tasks import BackgroundFiles, read_hosts
from howdah.namenode.server.process.racks import rack_map
from howdah.namenode.service.calls.administration import NodeFiles
from howdah.runtime.users.async_groups import Loop


def test_both_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("127.0.0.1\n127.0.0.2:9866\n")
    (tmp_path / "out").write_text("127.0.0.2")
    conf = Configuration(
        {"dfs.hosts": str(tmp_path / "in"), "dfs.hosts.exclude": str(tmp_path / "out")}
    )
    hosts = read_hosts(conf)
    assert [str(entry) for entry in hosts.named] == ["127.0.0.1", "127.0.0.2:9866"]
    assert [str(entry) for entry in hosts.excluded] == ["127.0.0.2"]


def test_without_files_everybody_may_come() -> None:
    assert read_hosts(Configuration()).named == ()


def test_one_json_file_may_stand_for_both(tmp_path: Path) -> None:
    (tmp_path / "all").write_text(
        '[{"hostName": "127.0.0.1"}, {"hostName": "127.0.0.2", "adminState": "DECOMMISSIONED"}]'
    )
    provider = "org.apache.hadoop.hdfs.server.blockmanagement.CombinedHostFileManager"
    conf = Configuration(
        {"dfs.hosts": str(tmp_path / "all"), "dfs.namenode.hosts.provider.classname": provider}
    )
    hosts = read_hosts(conf)
    assert [str(entry) for entry in hosts.named] == ["127.0.0.1", "127.0.0.2"]
    assert [str(entry) for entry in hosts.excluded] == ["127.0.0.2"]


def test_another_provider_is_refused_by_name() -> None:
    conf = Configuration({"dfs.namenode.hosts.provider.classname": "com.example.Mine"})
    with pytest.raises(errors.InvalidConfiguration, match="Mine is neither"):
        read_hosts(conf)


def test_a_file_that_cannot_be_read_is_named_with_its_key(tmp_path: Path) -> None:
    conf = Configuration({"dfs.hosts": str(tmp_path / "missing")})
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.hosts: .*missing"):
        read_hosts(conf)


def test_a_file_that_is_not_there_counts_as_empty_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "in").write_text("127.0.0.1")
    conf = Configuration(
        {"dfs.hosts": str(tmp_path / "in"), "dfs.hosts.exclude": str(tmp_path / "missing")}
    )
    hosts = read_hosts(conf, at_start=True)
    assert ([str(entry) for entry in hosts.named], hosts.excluded) == (["127.0.0.1"], ())
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "dfs.hosts.exclude" in record.getMessage()
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.hosts\.exclude: .*missing"):
        read_hosts(conf)  # as -refreshNodes has it


def test_the_log_directory_is_hadoops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = BackgroundFiles(Configuration({"hadoop.tmp.dir": str(tmp_path)}), list, lambda: 0)
    monkeypatch.delenv("HADOOP_LOG_DIR", raising=False)
    assert files.log_directory() == tmp_path
    monkeypatch.setenv("HADOOP_LOG_DIR", str(tmp_path / "logs"))
    assert files.log_directory() == tmp_path / "logs"


def outcome(files: BackgroundFiles, name: str) -> errors.HowdahError | None:
    async def ask() -> errors.HowdahError | None:
        told: asyncio.Future[errors.HowdahError | None] = asyncio.Future()
        files.write_log_file(name, "text", told.set_result)
        return await asyncio.wait_for(told, 20)

    return asyncio.run(ask())


def test_a_file_that_cannot_be_written_is_told_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("no directory")
    monkeypatch.setenv("HADOOP_LOG_DIR", str(tmp_path / "taken"))
    assert isinstance(
        outcome(BackgroundFiles(Configuration(), list, lambda: 0), "dump"), errors.RemoteError
    )


def test_a_file_is_written_where_logs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_LOG_DIR", str(tmp_path / "new"))
    assert outcome(BackgroundFiles(Configuration(), list, lambda: 0), "dump") is None
    assert (tmp_path / "new" / "dump").read_text() == "text"


def test_a_refresh_goes_by_the_configuration_of_now(tmp_path: Path) -> None:
    """Files of other names, too: whoever restarts a namenode gets those."""
    conf_dir = tmp_path / "conf"
    conf_dir.mkdir()

    def configure(number: int) -> None:
        (tmp_path / f"hosts{number}").write_text(f"127.0.0.{number}")
        (tmp_path / f"racks{number}").write_text(f"127.0.0.{number} /r{number}")
        values = {
            "dfs.hosts": str(tmp_path / f"hosts{number}"),
            "net.topology.table.file.name": str(tmp_path / f"racks{number}"),
        }
        (conf_dir / "hdfs-site.xml").write_text(Configuration(values).to_xml())

    configure(1)

    async def read() -> NodeFiles:
        loop = asyncio.get_running_loop()
        outside = Loop(loop.call_soon_threadsafe, loop.call_later)
        files = BackgroundFiles(
            Configuration.load(conf_dir),
            list,
            lambda: 0,
            read_racks=lambda fresh: rack_map(fresh, outside),
        )
        configure(2)
        found: asyncio.Future[NodeFiles | errors.HowdahError] = loop.create_future()
        files.read_node_files(found.set_result)
        outcome = await found
        assert isinstance(outcome, NodeFiles), outcome
        return outcome

    nodes = asyncio.run(read())
    assert [str(entry) for entry in nodes.hosts.named] == ["127.0.0.2"]
    assert nodes.racks.location("127.0.0.2") == "/r2"
    assert nodes.racks.lacks("127.0.0.1")
