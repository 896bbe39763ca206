"""Keys move from Hadoop's key server, over its keystore of Java's, to howdah's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.security.key_copies import copy_key
from howdah.security.key_servers import KeyServers
from tests.support.hadoop.key_server import hadoop_key_server
from tests.support.key_server import KEY_ACCESS, key_server

pytestmark = pytest.mark.timeout(300)


def servers_at(address: str) -> KeyServers:
    return KeyServers(ProviderAddress.of(address), Configuration(), "root")


@pytest.fixture(scope="module")
def old(
    hadoop_kms_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KeyServers]:
    directory = tmp_path_factory.mktemp("old")
    with hadoop_key_server(directory, hadoop_kms_classpath, KEY_ACCESS) as server:
        servers = servers_at(server.provider)
        yield servers
        servers.close()


@pytest.fixture
def new(tmp_path: Path) -> Iterator[KeyServers]:
    (tmp_path / "new").mkdir()
    with key_server(tmp_path / "new", KEY_ACCESS) as provider:
        servers = servers_at(provider)
        yield servers
        servers.close()


def test_all_versions_of_all_keys_come_and_files_stay_readable(
    old: KeyServers, new: KeyServers, capsys: pytest.CaptureFixture[str]
) -> None:
    old.create("payroll", length_bits=256, description="of staff", attributes={"a": "b"})
    old.create("web")
    made = old.generate("payroll", 2)
    old.roll("payroll")
    made += old.generate("payroll", 2) + old.generate("web", 1)
    command = ["key", "copy", "-from", str(old.address), "-provider", str(new.address)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "payroll: 2 versions, 2 of them copied\n" in said
    assert "web: 1 versions, 1 of them copied\n" in said
    assert [new.decrypt(key) for key in made] == [old.decrypt(key) for key in made]
    before, after = old.metadata("payroll"), new.metadata("payroll")
    assert before is not None
    assert after is not None
    for field in ("cipher", "length", "description", "attributes", "versions"):
        assert after[field] == before[field], field

    # What is rolled at the old server meanwhile comes by copying again, and nothing twice.
    old.roll("web")
    assert main([*command, "web"]) == 0
    assert main([*command, "payroll"]) == 0
    said = capsys.readouterr().out
    assert "web: 2 versions, 1 of them copied\n" in said
    assert "payroll: 2 versions, 0 of them copied\n" in said
    assert [new.decrypt(key) for key in made] == [old.decrypt(key) for key in made]


def test_another_key_of_the_same_name_is_not_touched(old: KeyServers, new: KeyServers) -> None:
    old.create("both")
    new.create("both")
    kept = new.current_version("both")
    with pytest.raises(errors.RemoteError, match="has another key both"):
        copy_key(old, new, "both")
    assert new.current_version("both") == kept
    # Nor are versions that only the new servers have lost.
    assert copy_key(new, new, "both") == (1, 0)
    new.roll("both")
    with pytest.raises(errors.RemoteError, match="has another key both"):
        copy_key(old, new, "both")


def test_a_key_that_is_not_there_is_named(
    old: KeyServers, new: KeyServers, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["key", "copy", "-from", str(old.address), "-provider", str(new.address), "none"]
    assert main(command) == 1
    assert "has no key none" in capsys.readouterr().err


def test_bytes_of_keys_have_to_be_given_out(old: KeyServers, tmp_path: Path) -> None:
    access = {**KEY_ACCESS, "hadoop.kms.acl.GET": "nobody"}
    with key_server(tmp_path, access) as provider:
        servers = servers_at(provider)
        servers.create("mine")
        with pytest.raises(errors.HowdahError, match="not allowed to do 'GET_KEY_VERSIONS'"):
            copy_key(servers, old, "mine")
        servers.close()
