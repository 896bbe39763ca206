"""From Hadoop's keys to settings, groups and racks."""

from __future__ import annotations

import getpass
import queue
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.datanode.settings import DataSettings
from howdah.namenode.server.process.racks import ScriptRacks, rack_map
from howdah.namenode.server.process.settings import (
    permissions_from,
    required_directories,
    settings_from,
)
from howdah.namenode.state.blocks.placement import LoadRule
from howdah.namenode.state.blocks.topology import DEFAULT_RACK
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import Groups
from howdah.testing.waiting import wait_until

NOW = Loop(lambda call: call(), lambda delay_s, call: None)
"""Nothing to come back to: what is found is told from where it was found."""


def conf(**values: str) -> Configuration:
    return Configuration(
        {name.replace("__", "-").replace("_", "."): v for name, v in values.items()}
    )


@pytest.mark.req("FS-167", "FS-168", "FS-169")
def test_defaults_are_hadoops() -> None:
    settings = settings_from(Configuration(), "BP-1")
    assert settings.block_size_bytes == 128 << 20
    assert (settings.default_replication, settings.min_replication) == (3, 1)
    assert settings.max_replication == 512
    assert settings.heartbeat_expiry_ms == 630_000
    assert settings.lease_hard_limit_ms == 20 * 60_000
    assert (settings.min_block_size_bytes, settings.max_component_bytes) == (1 << 20, 255)
    assert settings.listing_limit == 1000


def test_a_length_that_was_told_waits_for_the_log_in_milliseconds() -> None:
    key = keys.HOWDAH_NAMENODE_VISIBLE_LENGTH_DELAY
    assert Configuration().get(key) == 0.005
    assert Configuration({key.name: "20"}).get(key) == 0.02


def test_values_come_from_the_configuration_in_their_units() -> None:
    settings = settings_from(
        conf(dfs_blocksize="64m", fs_trash_interval="60", dfs_heartbeat_interval="1s"), "BP-1"
    )
    assert settings.block_size_bytes == 64 << 20
    assert settings.trash_interval_minutes == 60
    assert settings.heartbeat_expiry_ms == 610_000


@pytest.mark.parametrize(
    "values",
    [
        {"dfs.replication": "600"},
        {"dfs.namenode.replication.min": "4"},
        {"dfs.replication.max": "2"},
    ],
)
def test_replications_that_contradict_each_other_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="is more than"):
        settings_from(Configuration(values), "BP-1")


def test_other_authentication_than_simple_is_refused() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="only 'simple'"):
        settings_from(conf(hadoop_security_authentication="token"), "BP-1")
    with pytest.raises(errors.InvalidConfiguration, match="only 'simple'"):
        DataSettings.of(conf(hadoop_security_authentication="token"))
    with pytest.raises(errors.InvalidConfiguration, match="only 'simple'"):
        check_protection(conf(hadoop_security_authentication="kerberos"))  # of other servers


def test_superuser_is_who_runs_the_namenode() -> None:
    permissions = permissions_from(Configuration())
    assert permissions.identity(getpass.getuser()).is_superuser
    assert not permissions.identity("somebody-else").is_superuser


def test_groups_are_the_systems_or_those_that_override_them() -> None:
    groups = Groups("alice=staff,web; bob = ;")
    assert groups("alice") == ("staff", "web")
    assert groups("bob") == ()
    assert "root" in groups("root")
    assert groups("nobody-knows-me") == ()


def test_override_that_is_none_is_refused() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="user=group1,group2"):
        Groups("alice")


@pytest.mark.req("FS-112")
def test_racks_come_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "racks.txt"
    table.write_text("10.0.0.1 /d1/r1\n")
    racks = rack_map(Configuration({"net.topology.table.file.name": str(table)}), NOW)
    assert racks.location("10.0.0.1") == "/d1/r1"
    assert racks.client_location("10.0.0.1") == "/d1/r1"


@pytest.mark.req("LM-021")
def test_without_a_table_or_a_script_the_operator_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert rack_map(Configuration(), NOW).location("10.0.0.1") == "/default-rack"
    assert "all datanodes count as being on one rack" in caplog.text


def test_table_that_is_missing_is_an_error() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="No such file"):
        rack_map(Configuration({"net.topology.table.file.name": "/no/racks.txt"}), NOW)


def looked_up(racks: ScriptRacks, *addresses: str) -> list[str]:
    """Their locations, asked for together."""
    found: queue.SimpleQueue[object] = queue.SimpleQueue()
    for address in addresses:
        racks.look_up(address, found.put)
    for _ in addresses:
        found.get(timeout=30)
    return [racks.location(address) for address in addresses]


def script(tmp_path: Path, body: str) -> ScriptRacks:
    path = tmp_path / "rack.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    found = rack_map(Configuration({"net.topology.script.file.name": str(path)}), NOW)
    assert isinstance(found, ScriptRacks)
    return found


@pytest.mark.req("FS-112")
def test_racks_come_from_a_script_which_is_asked_once(tmp_path: Path) -> None:
    racks = script(tmp_path, f'echo "$1" >> {tmp_path}/asked; echo /r-$1')
    assert racks.known_location("10.0.0.1") is None
    assert looked_up(racks, "10.0.0.1") == ["/r-10.0.0.1"]
    assert racks.known_location("10.0.0.1") == "/r-10.0.0.1"
    assert (tmp_path / "asked").read_text() == "10.0.0.1\n"


def test_client_never_waits_for_the_script(tmp_path: Path) -> None:
    racks = script(tmp_path, f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo /r1")
    for _ in range(3):
        assert racks.client_location("10.0.0.9") == DEFAULT_RACK
    (tmp_path / "go").touch()
    wait_until(lambda: racks.client_location("10.0.0.9") == "/r1", timeout_s=10)


@pytest.mark.parametrize("body", ["exit 1", "echo nowhere", "echo", r"printf '\377\376'"])
def test_script_without_an_answer_gives_the_default_rack(
    tmp_path: Path, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert looked_up(script(tmp_path, body), "10.0.0.1") == [DEFAULT_RACK]
    assert "has no location for 10.0.0.1" in caplog.text


@pytest.mark.parametrize("body", ['for a in "$@"; do echo /r-$a; done', "echo /r-$1"])
def test_script_is_asked_for_many_addresses_whether_or_not_it_can(
    tmp_path: Path, body: str
) -> None:
    addresses = [f"10.0.0.{number}" for number in range(4)]
    found = looked_up(script(tmp_path, body), *addresses)
    assert found == [f"/r-{address}" for address in addresses]


def test_required_edits_directory_has_to_be_an_edits_directory() -> None:
    here = conf(dfs_namenode_edits_dir="/a,/b", dfs_namenode_edits_dir_required="/b")
    assert required_directories(here) == [Path("/b")]
    wrong = conf(dfs_namenode_edits_dir="/a", dfs_namenode_edits_dir_required="/b")
    with pytest.raises(errors.InvalidConfiguration, match="/b is not among"):
        required_directories(wrong)


@pytest.mark.parametrize("read_by", [lambda conf: settings_from(conf, "BP-1"), DataSettings.of])
def test_data_cannot_be_encrypted_without_block_tokens(
    read_by: Callable[[Configuration], object],
) -> None:
    encrypted = Configuration({"dfs.encrypt.data.transfer": "true"})
    with pytest.raises(errors.InvalidConfiguration, match=r"needs dfs\.block\.access\.token\."):
        read_by(encrypted)
    read_by(encrypted.with_values({"dfs.block.access.token.enable": "true"}))


@pytest.mark.parametrize("bits", ["160", "257", "64"])
def test_a_key_of_aes_has_a_length_that_aes_knows(bits: str) -> None:
    """Hadoop's servers find out with the first client."""
    conf = Configuration(
        {
            "dfs.encrypt.data.transfer": "true",
            "dfs.block.access.token.enable": "true",
            "dfs.encrypt.data.transfer.cipher.key.bitlength": bits,
        }
    )
    with pytest.raises(errors.InvalidConfiguration, match=r"key\.bitlength"):
        DataSettings.of(conf)


def test_clients_hear_that_data_is_encrypted_and_by_which_cipher() -> None:
    conf = Configuration(
        {
            "dfs.encrypt.data.transfer": "true",
            "dfs.encrypt.data.transfer.algorithm": "RC4",
            "dfs.block.access.token.enable": "true",
        }
    )
    settings = settings_from(conf, "BP-1")
    assert (settings.encrypt_data_transfer, settings.encryption_algorithm) == (True, "rc4")
    wrong = conf.with_values({"dfs.encrypt.data.transfer.algorithm": "des"})
    with pytest.raises(errors.InvalidConfiguration, match=r"3des, rc4"):
        settings_from(wrong, "BP-1")


def test_load_is_not_considered_where_that_is_switched_off() -> None:
    key = "dfs.namenode.redundancy.considerLoad"
    assert settings_from(Configuration({f"{key}.factor": "3.5"}), "BP-1").load == LoadRule(3.5)
    assert settings_from(Configuration({key: "false"}), "BP-1").load is None


def test_the_mapping_that_is_named_decides_between_table_and_script(tmp_path: Path) -> None:
    table = tmp_path / "racks.txt"
    table.write_text("10.0.0.1 /r1\n")
    files = {
        "net.topology.table.file.name": str(table),
        "net.topology.script.file.name": str(tmp_path / "script"),
    }
    impl = "net.topology.node.switch.mapping.impl"
    scripted = rack_map(
        Configuration({**files, impl: "org.apache.hadoop.net.ScriptBasedMapping"}), NOW
    )
    assert isinstance(scripted, ScriptRacks)
    tabled = rack_map(Configuration({**files, impl: "org.apache.hadoop.net.TableMapping"}), NOW)
    assert tabled.location("10.0.0.1") == "/r1"


def test_a_mapping_of_somebody_elses_is_refused() -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"com\.example\.Racks"):
        rack_map(Configuration({"net.topology.node.switch.mapping.impl": "com.example.Racks"}), NOW)
