"""Encryption zones on a highly available cluster: what is where, who may, and key servers that die,
hang, and come back."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.doctor.checks import examine
from howdah.doctor.collect import gather
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.key_server import KEY_ACCESS, KeyServerProcess, key_servers

pytestmark = pytest.mark.timeout(180)

PATTERN = b"plain text that no disk and no log may have "
DATA = PATTERN * 3000
KEYS_AHEAD = 3


@dataclass(frozen=True)
class Scene:
    cluster: MiniCluster
    fs: HdfsFileSystem
    servers: list[KeyServerProcess]
    directory: Path

    def as_user(self, user: str, **conf: str) -> HdfsFileSystem:
        fs = howdah.connect(self.cluster.uri, conf=self.cluster.conf.with_values(conf), user=user)
        assert isinstance(fs, HdfsFileSystem)
        return fs

    def write(self, path: str, data: bytes = DATA) -> None:
        with self.fs.create(path, overwrite=True) as out:
            out.write(data)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("zones")
    access = {
        **KEY_ACCESS,
        "key.acl.payroll.MANAGEMENT": "*",
        "key.acl.payroll.READ": "*",
        "key.acl.payroll.GENERATE_EEK": "*",
        "key.acl.payroll.DECRYPT_EEK": f"anna,{_user()}",
        "hadoop.kms.blacklist.DECRYPT_EEK": "outsider",
    }
    with ExitStack() as stack:
        provider, servers = stack.enter_context(
            key_servers(directory / "kms", access, ["127.0.0.1", "127.0.0.2"])
        )
        for name in ("payroll", "other"):
            assert main(["key", "create", name, "-provider", provider]) == 0
        cluster = stack.enter_context(
            MiniCluster(
                datanodes=1,
                namenodes=2,
                conf={
                    "hadoop.security.key.provider.path": provider,
                    "hadoop.security.kms.client.timeout": "2s",
                    "hadoop.security.kms.client.encrypted.key.cache.size": KEYS_AHEAD,
                    "fs.permissions.umask-mode": "000",
                },
            )
        )
        fs = stack.enter_context(cluster.connect())
        fs.mkdirs("/zone")
        fs.create_encryption_zone("/zone", "payroll")
        yield Scene(cluster, fs, servers, directory)


def _user() -> str:
    from howdah.runtime.users.current import process_user

    return process_user()


def test_plain_text_is_on_no_disk(scene: Scene) -> None:
    scene.write("/zone/secret")
    assert scene.fs.read_bytes("/zone/secret") == DATA
    found = [
        path
        for root in (scene.cluster.dir, scene.directory)
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and PATTERN in path.read_bytes()
    ]
    assert found == []


def test_a_copy_into_a_zone_is_held_against_its_length(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checksums of files in zones are of cipher text."""
    scene.write("/copied/from")
    conf = ["--conf", str(scene.cluster.conf_dir)]
    assert main([*conf, "sync", "/copied", "/zone/copied"]) == 0
    assert "by their lengths alone" in "".join(capsys.readouterr())
    assert scene.fs.read_bytes("/zone/copied/from") == DATA


def test_who_may_read_the_file_needs_the_key_as_well(scene: Scene) -> None:
    scene.write("/zone/shared")
    scene.fs.set_permission("/zone/shared", 0o666)
    with scene.as_user("anna") as anna:
        assert anna.read_bytes("/zone/shared") == DATA
    for user in ("bob", "outsider"):
        with scene.as_user(user) as other:
            with pytest.raises(errors.AccessDenied, match=rf"/zone/shared.*{user}"):
                other.open("/zone/shared")
            # What he makes he cannot write, and nothing is there in plain.
            with pytest.raises(errors.AccessDenied, match=user):
                other.create(f"/zone/of-{user}")
        assert scene.fs.get_file_status(f"/zone/of-{user}").length == 0


def test_zones_survive_a_failover_and_a_kill(scene: Scene) -> None:
    scene.write("/zone/kept")
    active = scene.cluster.active()
    scene.cluster.kill(active)
    assert scene.fs.read_bytes("/zone/kept") == DATA
    scene.write("/zone/after")
    assert scene.fs.read_bytes("/zone/after") == DATA
    scene.cluster.start(active)
    assert [zone.path for zone in scene.fs.list_encryption_zones()] == ["/zone"]


def test_re_encryption_goes_on_after_a_kill(scene: Scene) -> None:
    """Of a batch that nobody has counted nothing is lost, and nothing is done for nothing."""
    provider = scene.cluster.conf.raw("hadoop.security.key.provider.path") or ""
    assert main(["key", "create", "rolled", "-provider", provider]) == 0
    scene.fs.mkdirs("/rolled")
    scene.fs.create_encryption_zone("/rolled", "rolled")
    paths = [f"/rolled/{number % 7}/{number:03}" for number in range(200)]
    for path in paths:
        scene.write(path, path.encode())
    assert main(["key", "roll", "rolled", "-provider", provider]) == 0
    for server in scene.servers:
        server.freeze()
    killed = scene.cluster.active()
    try:
        # Keys of new files are ready, and batches wait for servers that hang.
        for server in scene.servers:
            server.thaw()
        scene.fs.reencrypt_zone("/rolled")
        for server in scene.servers:
            server.freeze()
        scene.cluster.kill(killed)
        scene.cluster.active(but=killed)
    finally:
        for server in scene.servers:
            server.thaw()

    def is_over() -> bool:
        return [each.state for each in scene.fs.list_reencryption()] == ["Completed"]

    wait_until(is_over, 60)
    scene.cluster.start(killed)
    for path in paths:
        info = scene.fs.get_file_encryption_info(path)
        assert info is not None
        assert info.version_name == "rolled@1"
        assert scene.fs.read_bytes(path) == path.encode()
    [status] = scene.fs.list_reencryption()
    assert status.failures == 0


def test_a_key_server_that_is_killed_is_passed_over(scene: Scene) -> None:
    scene.servers[0].kill()
    try:
        for number in range(2 * KEYS_AHEAD):
            scene.write(f"/zone/{number}")
            assert scene.fs.read_bytes(f"/zone/{number}") == DATA
    finally:
        scene.servers[0].start()


@pytest.mark.parametrize("fault", ["dead", "frozen"])
def test_without_key_servers_zones_take_no_file_and_all_else_goes_on(
    scene: Scene, fault: str
) -> None:
    scene.write("/zone/there")
    stop: Callable[[KeyServerProcess], None]
    stop = KeyServerProcess.kill if fault == "dead" else KeyServerProcess.freeze
    for server in scene.servers:
        stop(server)
    try:
        with pytest.raises((errors.Unreachable, errors.CallTimeout), match="key server"):
            scene.fs.open("/zone/there")
        refused = (errors.Unreachable, errors.CallTimeout, errors.RemoteError)
        with pytest.raises(refused, match=r"key server|silent"):
            scene.fs.create("/zone/none", overwrite=True)
        scene.write("/outside")
        assert scene.fs.get_file_status("/zone/there").length == len(DATA)
    finally:
        for server in scene.servers:
            server.start() if fault == "dead" else server.thaw()
    wait_until(lambda: scene.fs.read_bytes("/zone/there") == DATA)
    scene.write("/zone/again")


def test_a_namenode_starts_while_key_servers_hang(scene: Scene) -> None:
    """It asks for keys of files once it is active, and waits for none."""
    scene.write("/zone/there")
    for server in scene.servers:
        server.freeze()
    namenodes = list(scene.cluster.ha_states())
    scene.cluster.kill(*namenodes)
    try:
        for name in namenodes:
            scene.cluster.start(name)
        scene.cluster.wait_ready()
        assert scene.fs.get_file_status("/zone/there").length == len(DATA)
        scene.write("/outside")
        refused = (errors.Unreachable, errors.CallTimeout, errors.RemoteError)
        with pytest.raises(refused, match=r"key server|silent"):
            scene.fs.create("/zone/none", overwrite=True)
        assert scene.fs.read_bytes("/outside") == DATA
    finally:
        for server in scene.servers:
            server.thaw()
    scene.write("/zone/after-a-start")
    assert scene.fs.read_bytes("/zone/after-a-start") == DATA
    wait_until(lambda: sorted(scene.cluster.ha_states().values()) == ["active", "standby"], 60)


def test_a_forked_child_reads_with_connections_of_its_own(scene: Scene) -> None:
    scene.write("/zone/forked")
    with scene.fs.open("/zone/forked") as file:
        assert file.read(10) == DATA[:10]
        child = os.fork()
        if not child:
            code = 1
            try:
                code = int(file.read() != DATA[10:] or scene.fs.read_bytes("/zone/forked") != DATA)
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert file.read() == DATA[10:]


def _found(scene: Scene) -> list[str]:
    facts = gather(scene.cluster.conf)
    return [each.line() for each in examine(facts) if each.check == "encryption"]


def test_pages_and_the_doctor_know_of_zones(scene: Scene) -> None:
    address = scene.cluster.http

    def page(path: str) -> str:
        with urllib.request.urlopen(f"{address}{path}", timeout=20) as answer:
            return str(answer.read().decode())

    scene.write("/zone/counted")
    text = page("/encryption")
    for words in ("/zone", "payroll", "Key servers answer", "rolled@1", "completed"):
        assert words in text
    figures = page("/prom")
    assert 'howdah_zone_keys_ready{key="payroll"}' in figures
    assert "howdah_key_servers_failing 0.0" in figures
    assert _found(scene) == []
    provider = scene.cluster.conf.raw("hadoop.security.key.provider.path") or ""
    assert main(["key", "roll", "payroll", "-provider", provider]) == 0
    assert any("/zone was rolled to payroll@1" in line for line in _found(scene))
    scene.servers[0].kill()
    try:
        assert any("does not answer" in line and "warning" in line for line in _found(scene))
        scene.servers[1].kill()
        assert any("error: no key server answers" in line for line in _found(scene))
    finally:
        for server in scene.servers:
            server.kill()
            server.start()


def test_a_deleted_key_is_named(scene: Scene) -> None:
    provider = scene.cluster.conf.raw("hadoop.security.key.provider.path") or ""
    scene.fs.mkdirs("/lost")
    scene.fs.create_encryption_zone("/lost", "other")
    scene.write("/lost/file")
    assert main(["key", "delete", "-f", "other", "-provider", provider]) == 0
    with pytest.raises(errors.RemoteError, match=r"/lost/file.*'other' not found"):
        scene.fs.open("/lost/file")
    assert any(
        "the key other of the encryption zone /lost is gone" in line for line in _found(scene)
    )


def test_plain_text_comes_over_http_to_who_may(scene: Scene) -> None:
    scene.write("/zone/web")
    scene.fs.set_permission("/zone/web", 0o666)
    address = scene.cluster.http.removeprefix("http://")
    with howdah.connect(f"webhdfs://{address}", conf=scene.cluster.conf) as web:
        assert web.read_bytes("/zone/web") == DATA
        with web.create("/zone/by-web") as out:
            out.write(DATA)
        assert web.get_file_status("/zone/web").is_encrypted
    assert scene.fs.read_bytes("/zone/by-web") == DATA
    with (
        howdah.connect(f"webhdfs://{address}", conf=scene.cluster.conf, user="bob") as web,
        pytest.raises(errors.AccessDenied, match="bob"),
    ):
        web.read_bytes("/zone/web")
