"""Delegation tokens of a namenode that issues them without Kerberos, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import howdah
from howdah import errors
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster

CONF: Final[dict[str, str | int | float | bool]] = {
    "dfs.namenode.delegation.token.always-use": True
}


@pytest.fixture(scope="module", params=[1, 2])
def cluster(request: pytest.FixtureRequest) -> Iterator[MiniCluster]:
    """Of one namenode, and of two that share a log."""
    with MiniCluster(datanodes=1, namenodes=request.param, conf=CONF) as cluster:
        with cluster.connect() as fs:
            fs.mkdirs("/user/alice")
            fs.set_owner("/user/alice", "alice", "users")
        yield cluster


def issued(cluster: MiniCluster, renewer: str = "alice") -> Token:
    with cluster.connect("alice") as alice:
        token = alice.get_delegation_token(renewer)
    assert token is not None
    return token


def by_token(cluster: MiniCluster, token: Token, file: Path) -> HdfsFileSystem:
    """A client that has a token, and says of itself nothing."""
    file.write_bytes(Credentials({token.service: token}).encode())
    fs = howdah.connect(cluster.uri, conf=cluster.conf, token_file=str(file))
    assert isinstance(fs, HdfsFileSystem)
    return fs


def test_who_has_a_token_is_its_owner(cluster: MiniCluster, tmp_path: Path) -> None:
    token = issued(cluster)
    assert DelegationTokenIdentifier.decode(token.identifier).owner == "alice"
    with by_token(cluster, token, tmp_path / "token") as fs:
        with fs.create("/user/alice/by-token") as out:
            out.write(b"data")
        assert fs.get_file_status("/user/alice/by-token").owner == "alice"
        with pytest.raises(errors.AccessDenied):
            fs.mkdirs("/not-alices")


def test_a_token_with_another_password_is_not_believed(
    cluster: MiniCluster, tmp_path: Path
) -> None:
    token = issued(cluster)
    forged = Token(token.identifier, b"guessed", token.kind, token.service)
    with (
        by_token(cluster, forged, tmp_path / "token") as fs,
        pytest.raises(errors.AuthenticationFailed, match="Mismatched response"),
    ):
        fs.exists("/")


def test_tokens_outlive_the_namenode_that_issued_them(cluster: MiniCluster, tmp_path: Path) -> None:
    kept, cancelled = issued(cluster), issued(cluster)
    with cluster.connect("alice") as alice:
        until_ms = alice.renew_delegation_token(kept)
        assert until_ms > DelegationTokenIdentifier.decode(kept.identifier).issue_date_ms
        alice.cancel_delegation_token(cancelled)
    with cluster.connect("bob") as bob, pytest.raises(errors.AccessDenied, match="not authorized"):
        bob.cancel_delegation_token(kept)
    active = cluster.active()
    cluster.kill(active)
    if cluster.ha_states():
        cluster.active(but=active)
    cluster.start(active)
    cluster.wait_ready()
    with by_token(cluster, kept, tmp_path / "kept") as fs:
        assert fs.get_file_status("/user/alice").owner == "alice"
    with (
        by_token(cluster, cancelled, tmp_path / "cancelled") as fs,
        pytest.raises(errors.InvalidToken, match="can't be found in cache"),
    ):
        fs.exists("/")
    with cluster.connect("alice") as alice:
        alice.renew_delegation_token(kept)


def test_the_audit_log_says_who_came_by_a_token(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    values: dict[str, str | int | float | bool] = {
        **CONF,
        "howdah.namenode.audit.log.file": str(file),
    }
    with MiniCluster(datanodes=1, conf=values) as cluster:
        with by_token(cluster, issued(cluster, "rm"), tmp_path / "token") as fs:
            fs.exists("/audited")
    lines = file.read_text().splitlines()
    (got,) = [line for line in lines if "cmd=getDelegationToken" in line]
    assert "ugi=alice (auth:SIMPLE)" in got
    assert "src=HDFS_DELEGATION_TOKEN token 1 for alice with renewer rm\tdst=null" in got
    (asked,) = [line for line in lines if "src=/audited" in line]
    assert "ugi=alice (auth:TOKEN)" in asked
