"""Our client on Apache's highly available HDFS in secure mode: failovers in the middle of work.

Pages are reached over TLS alone, and block tokens are of the protobuf form.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import BlockTokenIdentifier
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import AES
from tests.support.security.secured_pair import NAMESERVICE, SecuredPair

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

DATA = random.Random(35).randbytes((2 << 20) + 700_000)


def work_through_a_failover(pair: SecuredPair, fs: HdfsFileSystem, path: str) -> None:
    """Write, append and read, with a failover within each."""
    with fs.create(path, overwrite=True) as out:
        out.write(DATA[:1_500_000])
        out.hflush()
        pair.fail_over()
        out.write(DATA[1_500_000:])
    with fs.open(path) as reader:
        assert reader.read(1000) == DATA[:1000]
        pair.fail_over()
        assert reader.read() == DATA[1000:]
    with fs.append(path) as out:
        out.write(b"more")
    assert fs.get_file_status(path).length == len(DATA) + 4
    assert fs.get_file_status(path).owner == "alice"


@pytest.mark.parametrize("protection", ["authentication", "integrity", "privacy"])
def test_with_a_ticket_work_goes_on_through_a_failover(
    hadoop_pair: SecuredPair, protection: str
) -> None:
    with hadoop_pair.connect(rpc=protection, data=protection, suites=AES) as fs:
        work_through_a_failover(hadoop_pair, fs, f"/user/alice/{protection}")


def test_with_a_token_file_alone_work_goes_on_through_a_failover(
    hadoop_pair: SecuredPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with hadoop_pair.connect() as fs:
        token = fs.get_delegation_token("alice")
    assert token is not None
    assert token.service == f"ha-hdfs:{NAMESERVICE}"
    (tmp_path / "tokens").write_bytes(Credentials({token.service: token}).encode())
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    conf = Configuration(hadoop_pair.client_conf(rpc="privacy", data="privacy"))
    with howdah.connect(hadoop_pair.uri, conf=conf) as fs:
        assert isinstance(fs, HdfsFileSystem)
        assert fs.user == "alice"
        work_through_a_failover(hadoop_pair, fs, "/user/alice/by-token")


def test_block_tokens_are_of_the_protobuf_form(hadoop_pair: SecuredPair) -> None:
    with hadoop_pair.connect() as fs:
        with fs.create("/user/alice/blocks", overwrite=True) as out:
            out.write(b"data")
        located = fs.client.namenode.get_block_locations("/user/alice/blocks", 0, 4)
    identifier = located.blocks[0].token.identifier
    assert identifier[:1] == b"\x08"
    decoded = BlockTokenIdentifier.decode(identifier)
    assert (decoded.user, decoded.modes) == ("alice", ("READ",))
    assert decoded.encode(protobuf=True) == identifier


def test_webhdfs_over_tls_goes_by_tickets_and_through_a_failover(
    hadoop_pair: SecuredPair, kdc: Kdc
) -> None:
    with howdah.connect(
        f"swebhdfs://{NAMESERVICE}",
        conf=Configuration(hadoop_pair.client_conf()),
        keytab=str(kdc.keytab("alice")),
        principal=f"alice@{REALM}",
    ) as fs:
        with fs.create("/user/alice/web", overwrite=True) as out:
            out.write(DATA)
        hadoop_pair.fail_over()
        with fs.open("/user/alice/web") as reader:
            assert reader.read() == DATA
        assert fs.get_file_status("/user/alice/web").owner == "alice"


def test_a_certificate_that_is_not_known_is_refused(hadoop_pair: SecuredPair, kdc: Kdc) -> None:
    conf = hadoop_pair.client_conf()
    del conf["dfs.client.https.keystore.resource"]
    with howdah.connect(
        f"swebhdfs://{NAMESERVICE}",
        conf=Configuration(conf),
        keytab=str(kdc.keytab("alice")),
        principal=f"alice@{REALM}",
    ) as fs:
        with pytest.raises(errors.HowdahError, match=r"certificate .* is not believed"):
            fs.list_status("/")
