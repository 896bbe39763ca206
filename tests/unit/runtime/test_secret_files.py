"""Whom files with secrets can be read by."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.errors import InvalidConfiguration
from howdah.failover.zookeeper import ZooKeeperSettings
from howdah.protocol.sasl.principals import Principal
from howdah.runtime.secret_files import warn_if_shared
from howdah.security.server_methods import ServerIdentity
from tests.unit.protocol.sasl.test_principals import KEYTAB


@pytest.mark.parametrize(
    ("mode", "may_group", "is_shared"),
    [
        (0o600, False, False),
        (0o400, False, False),
        (0o640, False, True),
        (0o620, False, True),
        (0o604, False, True),
        (0o602, False, True),
        (0o640, True, False),
        (0o644, True, True),
        (0o642, True, True),
    ],
)
def test_a_file_that_others_have_is_said_to_be(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    mode: int,
    may_group: bool,
    is_shared: bool,
) -> None:
    path = tmp_path / "secret"
    path.write_text("planted")
    path.chmod(mode)
    with caplog.at_level(logging.WARNING):
        warn_if_shared(path, "the keytab", "be the namenode", may_group=may_group)
    assert bool(caplog.records) == is_shared
    if is_shared:
        assert f"the keytab {path} can be read" in caplog.text
        assert f"(mode {mode:04o}), who can be the namenode: chmod" in caplog.text
        assert "planted" not in caplog.text


def test_keytabs_of_servers_are_looked_at(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keytab"
    size = len(KEYTAB) - 6
    path.write_bytes(KEYTAB[:2] + size.to_bytes(4, "big") + KEYTAB[6:])
    identity = ServerIdentity(Principal("alice", "", "R"), str(path))
    for mode, is_shared in ((0o640, False), (0o644, True)):
        path.chmod(mode)
        with caplog.at_level(logging.WARNING):
            identity.check()
        assert (f"who can be alice@R: chmod o= {path}" in caplog.text) == is_shared


def test_passwords_for_zookeeper_are_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "auth"
    path.write_text("digest:hdfs:planted\n")
    path.chmod(0o644)
    values = {"ha.zookeeper.quorum": "zk:2181", "ha.zookeeper.auth": f"@{path}"}
    with caplog.at_level(logging.WARNING):
        settings = ZooKeeperSettings.of(Configuration(values), "ns")
    assert settings.ensemble.auths == (("digest", "hdfs:planted"),)
    assert f"chmod 600 {path}" in caplog.text
    assert "planted" not in caplog.text
    path.unlink()
    with pytest.raises(InvalidConfiguration, match="cannot be read"):
        ZooKeeperSettings.of(Configuration(values), "ns")
