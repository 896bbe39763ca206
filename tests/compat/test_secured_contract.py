"""The contract of filesystems on Apache's HDFS in secure mode, at each protection."""

from __future__ import annotations

from pathlib import Path

import pytest

import howdah
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import check_filesystem
from howdah.testing.contract import Traits
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("kerberos_environment")]
TRAITS = Traits(flush_shows_nothing=True, several_clients=True)
PROTECTIONS = {
    "authentication": ("authentication", ""),
    "integrity": ("integrity", ""),
    "privacy-aes": ("privacy", AES),
    "privacy": ("privacy", ""),
}


def protection_of(name: str) -> dict[str, str]:
    word, suites = PROTECTIONS[name]
    return {"rpc": word, "data": word, "suites": suites}


@pytest.mark.parametrize("name", PROTECTIONS)
def test_the_contract_is_kept_at_each_protection(hadoop: SecuredHadoop, name: str) -> None:
    how = protection_of(name)
    with hadoop.connect("alice", None, **how) as fs, hadoop.connect("alice", None, **how) as other:
        root = f"/user/alice/contract-{name}"
        report = check_filesystem(fs, root, other=other, traits=TRAITS)
    assert report.ok


@pytest.mark.parametrize(
    "name",
    [
        "privacy-aes",
        pytest.param("authentication", marks=pytest.mark.torture),
        pytest.param("integrity", marks=pytest.mark.torture),
        pytest.param("privacy", marks=pytest.mark.torture),
    ],
)
def test_the_contract_is_kept_with_a_token_file_alone(
    hadoop: SecuredHadoop, name: str, tmp_path: Path
) -> None:
    with hadoop.connect() as owner:
        token = owner.get_delegation_token("alice")
        assert token is not None
        file = tmp_path / "tokens"
        file.write_bytes(Credentials({token.service: token}).encode())
        conf = Configuration(hadoop.client_conf(**protection_of(name)))
        with (
            howdah.connect(hadoop.uri, conf=conf, token_file=str(file)) as fs,
            howdah.connect(hadoop.uri, conf=conf, token_file=str(file)) as other,
        ):
            assert isinstance(fs, HdfsFileSystem)
            assert fs.user == "alice"
            root = f"/user/alice/contract-by-token-{name}"
            report = check_filesystem(fs, root, other=other, traits=TRAITS)
        owner.cancel_delegation_token(token)
    assert report.ok
