"""Files of encryption zones by every door: plain text to who may, an error to others, and cipher
text to nobody who did not ask for it."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.runtime.users.current import process_user
from howdah.testing import MiniCluster
from tests.support.key_server import KEY_ACCESS, key_servers
from tests.support.mounts import mounted, need_fuse
from tests.support.s3_gateway import add_key, before
from tests.support.started import gateway

pytestmark = pytest.mark.timeout(180)

PATTERN = b"plain text that no wire may have "
DATA = PATTERN * 3000
PATH = "/zone/bucket/file"
OUTSIDER = "outsider"


@dataclass(frozen=True)
class Scene:
    cluster: MiniCluster
    fs: HdfsFileSystem
    cipher_text: bytes

    @property
    def web(self) -> str:
        return self.cluster.http.removeprefix("http://")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("doors")
    user = process_user()
    access = {
        **KEY_ACCESS,
        "hadoop.kms.blacklist.DECRYPT_EEK": OUTSIDER,
        f"hadoop.kms.proxyuser.{user}.users": "*",
        f"hadoop.kms.proxyuser.{user}.hosts": "*",
    }
    with ExitStack() as stack:
        provider, _ = stack.enter_context(key_servers(directory / "kms", access))
        assert main(["key", "create", "doors", "-provider", provider]) == 0
        cluster = stack.enter_context(
            MiniCluster(
                datanodes=1,
                conf={
                    "hadoop.security.key.provider.path": provider,
                    f"hadoop.proxyuser.{user}.users": "*",
                    f"hadoop.proxyuser.{user}.hosts": "*",
                    "fs.permissions.umask-mode": "000",
                },
            )
        )
        fs = stack.enter_context(cluster.connect())
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs("/zone")
        fs.create_encryption_zone("/zone", "doors")
        fs.mkdirs("/zone/bucket")
        with fs.create(PATH) as out:
            out.write(DATA)
        cipher_text = fs.read_bytes(f"/.reserved/raw{PATH}")
        assert PATTERN not in cipher_text
        assert len(cipher_text) == len(DATA)
        yield Scene(cluster, fs, cipher_text)


def _fetched(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def _check_refused(scene: Scene, status: int, body: bytes) -> None:
    """An error that says why, and nothing of the file, plain or not."""
    assert status in (403, 500), body[:500]  # HttpFS says 500, as Hadoop's.
    assert f"User:{OUTSIDER} not allowed to do 'DECRYPT_EEK'".encode() in body
    assert PATTERN not in body
    assert scene.cipher_text[:32] not in body


@contextmanager
def _webhdfs(scene: Scene) -> Iterator[str]:
    yield scene.web


@contextmanager
def _httpfs(scene: Scene) -> Iterator[str]:
    with gateway(scene.cluster) as address:
        yield address


Door = Callable[[Scene], AbstractContextManager[str]]


@pytest.mark.parametrize("door", [_webhdfs, _httpfs], ids=["webhdfs", "httpfs"])
def test_http_gives_plain_text_to_who_may_and_nothing_to_others(scene: Scene, door: Door) -> None:
    with door(scene) as address:
        where = f"webhdfs://{address}"
        with howdah.connect(where, conf=scene.cluster.conf) as fs:
            assert fs.read_bytes(PATH) == DATA
            with fs.open(PATH) as file:
                assert file.pread(12_345, 100) == DATA[12_345:12_445]
            with fs.create(f"{PATH}-{door.__name__}") as out:
                out.write(DATA)
            with fs.append(f"{PATH}-{door.__name__}") as out:
                out.write(b"and more")
        assert scene.fs.read_bytes(f"{PATH}-{door.__name__}") == DATA + b"and more"
        raw = scene.fs.read_bytes(f"/.reserved/raw{PATH}-{door.__name__}")
        assert PATTERN not in raw

        query = urlencode({"op": "OPEN", "user.name": OUTSIDER})
        _check_refused(scene, *_fetched(f"http://{address}/webhdfs/v1{PATH}?{query}"))
        with (
            howdah.connect(where, conf=scene.cluster.conf, user=OUTSIDER) as fs,
            pytest.raises(errors.HowdahError, match=OUTSIDER),
        ):
            fs.write_bytes(f"/zone/bucket/of-{OUTSIDER}-{door.__name__}", DATA)


def test_fsspec_gives_plain_text_to_who_may_and_nothing_to_others(scene: Scene) -> None:
    pytest.importorskip("fsspec")
    from howdah.fsspec import HowdahFileSystem

    options = HowdahFileSystem._get_kwargs_from_urls(
        scene.cluster.uri.replace("hdfs://", "howdah://")
    )
    fs = HowdahFileSystem(**options)
    assert fs.cat_file(PATH) == DATA
    assert fs.cat_file(PATH, 100, 200) == DATA[100:200]
    fs.pipe_file(f"{PATH}-fsspec", DATA)
    assert scene.fs.read_bytes(f"{PATH}-fsspec") == DATA
    outsider = HowdahFileSystem(**options, user=OUTSIDER)
    with pytest.raises(PermissionError, match=OUTSIDER):
        outsider.cat_file(PATH)


def test_s3_gives_plain_text_to_who_may_and_nothing_to_others(scene: Scene) -> None:
    pytest.importorskip("boto3")
    from botocore.exceptions import ClientError

    outsiders = add_key(scene.cluster.dir / "access-keys", OUTSIDER)
    options = ["-D", "howdah.s3.root=/zone"]
    with before(scene.cluster, process_user(), *options) as door:
        client = door.client()
        assert client.get_object(Bucket="bucket", Key="file")["Body"].read() == DATA
        part = client.get_object(Bucket="bucket", Key="file", Range="bytes=17-99")
        assert part["Body"].read() == DATA[17:100]
        client.put_object(Bucket="bucket", Key="by-s3", Body=DATA)
        assert scene.fs.read_bytes("/zone/bucket/by-s3") == DATA
        client.copy_object(
            Bucket="bucket", Key="copied", CopySource={"Bucket": "bucket", "Key": "file"}
        )
        assert scene.fs.read_bytes("/zone/bucket/copied") == DATA
        for name in ("by-s3", "copied"):
            assert PATTERN not in scene.fs.read_bytes(f"/.reserved/raw/zone/bucket/{name}")
        other = type(door)(door.address, outsiders.access_key, outsiders.secret_key).client()
        with pytest.raises(ClientError) as refused:
            other.get_object(Bucket="bucket", Key="file")["Body"].read()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_a_mount_gives_plain_text_to_who_may_and_nothing_to_others(
    scene: Scene, tmp_path: Path
) -> None:
    need_fuse()
    uri = f"{scene.cluster.uri}/zone/bucket"
    with mounted(uri, tmp_path / "mine") as mount:
        assert mount.run("cat", "file").stdout == DATA
        mount.run("cp", "file", "by-mount")
        assert mount.run("cat", "by-mount").stdout == DATA
    assert scene.fs.read_bytes("/zone/bucket/by-mount") == DATA
    assert PATTERN not in scene.fs.read_bytes("/.reserved/raw/zone/bucket/by-mount")
    with mounted(uri, tmp_path / "others", user=OUTSIDER) as mount:
        done = mount.run("cat", "file", check=False)
        assert done.returncode != 0
        assert done.stdout == b""
        assert b"Permission denied" in done.stderr


class Listener:
    """Hears all that goes over the loopback."""

    def __init__(self) -> None:
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        except (PermissionError, AttributeError):
            pytest.skip("packets of the loopback are for root on Linux")
        self._socket.bind(("lo", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        self._socket.settimeout(0.1)
        self._ended = threading.Event()
        self.heard = bytearray()
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                self.heard += self._socket.recv(1 << 17)
            except TimeoutError:
                continue


def test_no_plain_text_goes_over_the_wire(scene: Scene) -> None:
    with Listener() as control:
        scene.fs.write_bytes("/outside", DATA)
    assert PATTERN in control.heard, "what is written outside of a zone is heard"
    with Listener() as listener:
        with scene.fs.create("/zone/heard") as out:
            out.write(DATA)
        assert scene.fs.read_bytes("/zone/heard") == DATA
        with scene.fs.append("/zone/heard") as out:
            out.write(DATA)
        with scene.fs.open("/zone/heard") as file:
            assert file.pread(len(DATA), len(DATA)) == DATA
    cipher_text = scene.fs.read_bytes("/.reserved/raw/zone/heard")
    assert cipher_text[1000:1032] in listener.heard
    assert PATTERN not in listener.heard
