"""Mirrors of directories with encrypted files, and into zones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.mirror import Settings, mirror_once, verify
from howdah.mirror.sides import Refused
from howdah.testing import MiniCluster
from tests.support.key_server import KEY_ACCESS, key_servers

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def fs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsFileSystem]:
    directory = tmp_path_factory.mktemp("mirrored-zones")
    with key_servers(directory / "kms", KEY_ACCESS, ["127.0.0.1"]) as (provider, _):
        assert main(["key", "create", "payroll", "-provider", provider]) == 0
        conf: dict[str, Any] = {
            "hadoop.security.key.provider.path": provider,
            "dfs.replication": 1,
        }
        with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as found:
            assert isinstance(found, HdfsFileSystem)
            yield found


@pytest.fixture
def mirror(fs: HdfsFileSystem) -> Callable[..., None]:
    def run(source: str, target: str, **settings: bool) -> None:
        mirror_once(fs.uri + source, fs.uri + target, Settings(**settings))  # type: ignore[arg-type]

    return run


def zone(fs: HdfsFileSystem, path: str) -> None:
    fs.mkdirs(path)
    fs.create_encryption_zone(path, "payroll")


def test_encrypted_files_become_plain_only_if_that_is_said(
    fs: HdfsFileSystem, mirror: Callable[..., None]
) -> None:
    zone(fs, "/secret/zone")
    fs.write_bytes("/secret/zone/a", b"payroll")
    for source in ("/secret", "/secret/zone"):
        with pytest.raises(Refused, match=r"has encrypted files .*say --decrypt"):
            mirror(source, "/plain")
    assert not fs.exists("/plain")
    mirror("/secret", "/plain", decrypts=True)
    assert fs.read_bytes("/plain/zone/a") == b"payroll"
    assert not fs.get_file_status("/plain/zone/a").is_encrypted


def test_a_target_in_a_zone_has_encrypted_files(
    fs: HdfsFileSystem, mirror: Callable[..., None]
) -> None:
    zone(fs, "/vault")
    zone(fs, "/origin/zone")
    fs.write_bytes("/origin/zone/a", b"payroll")
    fs.write_bytes("/origin/b", b"plain")
    mirror("/origin", "/vault/copy")
    fs.rename("/origin/b", "/origin/c")
    fs.write_bytes("/origin/zone/a", b"another")
    mirror("/origin", "/vault/copy")
    assert fs.read_bytes("/vault/copy/zone/a") == b"another"
    assert fs.read_bytes("/vault/copy/c") == b"plain"
    assert fs.get_file_status("/vault/copy/c").is_encrypted
    compared = verify(f"{fs.uri}/vault/copy")
    assert compared.is_equal
    assert compared.by_length == 2


def test_a_target_with_zones_below_is_refused(
    fs: HdfsFileSystem, mirror: Callable[..., None]
) -> None:
    fs.write_bytes("/simple/a", b"x")
    zone(fs, "/mixed/zone")
    with pytest.raises(Refused, match="has encryption zones below it"):
        mirror("/simple", "/mixed")


def test_cipher_text_is_refused(fs: HdfsFileSystem, mirror: Callable[..., None]) -> None:
    fs.write_bytes("/cipher/a", b"x")
    for source, target in (("/.reserved/raw/cipher", "/else"), ("/cipher", "/.reserved/raw/else")):
        with pytest.raises(Refused, match="is cipher text, which is not mirrored"):
            mirror(source, target)
    assert not fs.exists("/else")
