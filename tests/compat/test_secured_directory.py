"""A name directory of a secured namenode of Apache's, which ours opens, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.server.process.loading import load
from howdah.namenode.state.tree.namespace import Namespace
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import SecuredHadoop
from tests.support.started import server

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]
_VIEWERS = "org.apache.hadoop.hdfs.tools"


@pytest.fixture
def cluster(kdc: Kdc, hadoop_classpath: str, tmp_path: Path) -> Iterator[SecuredHadoop]:
    cluster = SecuredHadoop(tmp_path / "cluster", hadoop_classpath, kdc)
    yield cluster
    cluster.close()


def issued(fs: HdfsFileSystem) -> Token:
    token = fs.get_delegation_token("alice")
    assert token is not None
    return token


def save_namespace(fs: HdfsFileSystem) -> None:
    fs.set_safe_mode("enter")
    fs.administration.save_namespace()
    fs.set_safe_mode("leave")


def loaded(cluster: SecuredHadoop) -> Namespace:
    found = load([cluster.name_directory], [cluster.name_directory])
    for lock in found.locks:
        lock.release()
    return found.namespace


def images(cluster: SecuredHadoop) -> list[Path]:
    current = cluster.name_directory / "current"
    return sorted(path for path in current.glob("fsimage_*") if path.suffix != ".md5")


def may_read(cluster: SecuredHadoop, token: Token, file: Path) -> bool:
    """Whether who has the token, and no ticket, may read."""
    file.write_bytes(Credentials({"": token.at(f"127.0.0.1:{cluster.rpc_port}")}).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(file))
        with howdah.connect(cluster.uri, conf=Configuration(cluster.client_conf())) as fs:
            try:
                return fs.exists("/user/alice/file")
            except errors.InvalidToken:
                return False


def test_tokens_of_apaches_namenode_survive_ours(
    cluster: SecuredHadoop, hadoop_run: Callable[..., str], tmp_path: Path
) -> None:
    with cluster.connect() as alice, cluster.connect("hdfs") as admin:
        with alice.create("/user/alice/file") as out:
            out.write(b"data")
        kept, renewed, cancelled = (issued(alice) for _ in range(3))
        save_namespace(admin)
        alice.renew_delegation_token(renewed)
        alice.cancel_delegation_token(cancelled)
        late, lost = issued(alice), issued(alice)
        alice.renew_delegation_token(late)
        alice.cancel_delegation_token(lost)
    cluster.close()

    # Ours finds those of the image and those of the log behind it.
    record = loaded(cluster).tokens.record()
    good = [DelegationTokenIdentifier.decode(t.identifier) for t in (kept, renewed, late)]
    assert [token.sequence_number for token in record.tokens] == [t.sequence_number for t in good]
    assert {token.owner for token in record.tokens} == {f"alice@{REALM}"}
    assert record.token_sequence_number == good[-1].sequence_number + 1
    assert record.keys

    # It serves the directory, and writes an image.
    before = images(cluster)
    port = cluster.rpc_port
    values = {
        "fs.defaultFS": f"hdfs://localhost:{port}",
        "dfs.namenode.rpc-address": f"localhost:{port}",
        "dfs.namenode.http-address": "localhost:0",
        "dfs.namenode.name.dir": cluster.name_directory.as_uri(),
    }
    with server("namenode", values, tmp_path):
        assert "has 3 delegation tokens" in (tmp_path / "namenode.log").read_text()
        with howdah.connect(cluster.uri, conf=Configuration(values)) as fs:
            assert isinstance(fs, HdfsFileSystem)
            assert fs.exists("/user/alice/file")
            fs.set_safe_mode("enter")
            fs.administration.save_namespace()
    (image,) = set(images(cluster)) - set(before)
    with image.open("rb", buffering=0) as source:
        assert ImageReader(source, image.name).secrets() == record

    # Both viewers read it alike, and the log before it.
    shown, hadoops = tmp_path / "ours.xml", tmp_path / "hadoops.xml"
    assert main(["oiv", "-p", "XML", "-i", str(image), "-o", str(shown)]) == 0
    viewer = f"{_VIEWERS}.offlineImageViewer.OfflineImageViewerPB"
    hadoop_run(viewer, "-p", "XML", "-i", image, "-o", hadoops)
    assert _secrets(shown) == _secrets(hadoops)
    for log in sorted((cluster.name_directory / "current").glob("edits_0*-0*")):
        assert main(["oev", "-i", str(log), "-o", str(shown)]) == 0
        viewer = f"{_VIEWERS}.offlineEditsViewer.OfflineEditsViewer"
        hadoop_run(viewer, "-i", log, "-o", hadoops)
        assert shown.read_text() == hadoops.read_text()

    # Apache's opens it again: what was good still is.
    cluster.start()
    tokens = {"kept": kept, "renewed": renewed, "late": late, "cancelled": cancelled, "lost": lost}
    able = {name for name, token in tokens.items() if may_read(cluster, token, tmp_path / name)}
    assert able == {"kept", "renewed", "late"}
    with cluster.connect() as alice:
        alice.renew_delegation_token(kept)
        following = DelegationTokenIdentifier.decode(issued(alice).identifier)
    assert following.sequence_number == record.token_sequence_number + 1


def _secrets(xml: Path) -> str:
    text = xml.read_text()
    begin, end = "<SecretManagerSection>", "</SecretManagerSection>"
    assert "<token>" in text
    return text[text.index(begin) : text.index(end)]
