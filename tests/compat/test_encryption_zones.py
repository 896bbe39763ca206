"""Files in encryption zones, through clients in Python, Java and Rust, at namenodes and with key
servers of Hadoop's and ours: what one writes the others read, and datanodes have cipher text
alone."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import howdah
from howdah import errors
from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.key_server import hadoop_key_server
from tests.support.hadoop.mixed import MixedCluster
from tests.support.key_server import KEY_ACCESS, key_server
from tests.support.replicas import replicas_of

pytestmark = pytest.mark.timeout(300)

MIB = 1 << 20
PATTERN = b"plain text that no disk may have "
DATA = PATTERN * 4000 + random.Random(5).randbytes(MIB) + PATTERN * 9 + b"end"
ZONE = "/zone"
SHELL = "org.apache.hadoop.fs.FsShell"
CRYPTO_ADMIN = "org.apache.hadoop.hdfs.tools.CryptoAdmin"


@dataclass(frozen=True)
class Scene:
    cluster: MiniCluster
    fs: HdfsFileSystem
    provider: str
    run: Callable[..., subprocess.CompletedProcess[str]]

    def java(self, tool: str, *words: str) -> str:
        """What a tool of Hadoop's prints, which succeeds."""
        done = self.run(tool, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(
    scope="module",
    params=[("hadoop", "ours"), ("ours", "ours"), ("hadoop", "hadoop"), ("ours", "hadoop")],
    ids=lambda servers: f"namenode-{servers[0]}-keys-{servers[1]}",
)
def scene(
    request: pytest.FixtureRequest,
    hadoop_classpath: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("zones")
    namenode, keys = request.param
    with ExitStack() as stack:
        if keys == "hadoop":
            jars = request.getfixturevalue("hadoop_kms_classpath")
            server = stack.enter_context(hadoop_key_server(directory / "kms", jars, KEY_ACCESS))
            provider = server.provider
        else:
            provider = stack.enter_context(key_server(directory / "kms", KEY_ACCESS))
        assert main(["key", "create", "payroll", "-size", "256", "-provider", provider]) == 0
        cluster = stack.enter_context(
            MixedCluster(
                hadoop_classpath,
                ["namenode"] if namenode == "hadoop" else [],
                namenodes=1,
                datanodes=1,
                conf={
                    "dfs.blocksize": MIB,
                    "hadoop.security.key.provider.path": provider,
                    "dfs.namenode.fs-limits.min-block-size": 1,
                },
            )
        )

        def run(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*hadoop_java(hadoop_classpath, cluster.conf_dir), tool, *words],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=90,
                check=False,
            )

        fs = stack.enter_context(cluster.connect())
        fs.mkdirs(ZONE)
        scene = Scene(cluster, fs, provider, run)
        said = scene.java(CRYPTO_ADMIN, "-createZone", "-keyName", "payroll", "-path", ZONE)
        assert "Added encryption zone" in said
        yield scene


def test_what_one_client_writes_the_other_reads(scene: Scene, tmp_path: Path) -> None:
    local = tmp_path / "data"
    local.write_bytes(DATA)
    scene.java(SHELL, "-put", str(local), f"{ZONE}/java")
    with scene.fs.create(f"{ZONE}/ours") as out:
        out.write(DATA)
    assert scene.fs.read_bytes(f"{ZONE}/java") == DATA
    assert scene.fs.read_bytes(f"{ZONE}/ours") == DATA
    scene.java(SHELL, "-get", f"{ZONE}/ours", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == DATA


def test_datanodes_have_cipher_text(scene: Scene) -> None:
    with scene.fs.create(f"{ZONE}/hidden") as out:
        out.write(DATA)
    stored = b"".join(
        replica.read()
        for block in replicas_of(scene.cluster, f"{ZONE}/hidden")
        for replica in block
    )
    assert len(stored) == len(DATA)
    assert PATTERN not in stored
    # Below the raw namespace a superuser reads what is there, and no key is asked for.
    assert scene.fs.read_bytes(f"/.reserved/raw{ZONE}/hidden") == stored


@pytest.mark.parametrize("block", [0, 1])
def test_positioned_reads_begin_anywhere(scene: Scene, block: int) -> None:
    path = f"{ZONE}/positions{block}"
    with scene.fs.create(path) as out:
        out.write(DATA)
    with scene.fs.open(path) as file:
        for offset in range(block * MIB - 20 if block else 0, block * MIB + 40):
            assert file.pread(offset, 37) == DATA[offset : offset + 37]
        file.seek(block * MIB + 5)
        assert file.read(100) == DATA[block * MIB + 5 : block * MIB + 105]
        assert file.read(7) == DATA[block * MIB + 105 : block * MIB + 112]


def test_appends_go_on_at_any_byte(scene: Scene) -> None:
    path = f"{ZONE}/appended"
    with scene.fs.create(path) as out:
        out.write(DATA[:17])
    at = 17
    for length in (1, 15, 16, 33, MIB):
        with scene.fs.append(path) as out:
            out.write(DATA[at : at + length])
            out.hflush()
        at += length
    assert scene.fs.read_bytes(path) == DATA[:at]
    assert scene.java(SHELL, "-checksum", path)


def test_a_key_that_is_away_is_named(scene: Scene) -> None:
    fs = scene.fs
    with fs.create(f"{ZONE}/kept") as out:
        out.write(b"kept")
    values = {
        "dfs.client.ignore.namenode.default.kms.uri": "true",
        "hadoop.security.key.provider.path": "kms://http@127.0.0.1:1/kms",
        "hadoop.security.kms.client.failover.max.retries": "1",
    }
    conf = scene.cluster.conf.with_values(values)
    with (
        howdah.connect(scene.cluster.uri, conf=conf) as lost,
        pytest.raises(errors.Unreachable, match=r"/zone/kept.*key server"),
    ):
        lost.open(f"{ZONE}/kept")


COMMANDS = [
    "-listZones",
    "-listZones more",
    "-createZone -path /zone",
    "-createZone -keyName payroll",
    "-createZone -keyName payroll -path /none",
    "-createZone -keyName none -path /empty",
    "-createZone -keyName payroll -path /zone",
    "-createZone -keyName payroll -path /full",
    "-createZone -keyName payroll -path /full/file",
    "-provisionTrash -path /zone",
    "-provisionTrash -path /empty",
    "-provisionTrash -path /zone/in",
    "-getFileEncryptionInfo -path /zone/in/file",
    "-getFileEncryptionInfo -path /full/file",
    "-getFileEncryptionInfo -path /none",
    "-reencryptZone",
    "-reencryptZone -start",
    "-reencryptZone -path /zone",
    "-reencryptZone -start -cancel -path /zone",
    "-reencryptZone -start -path",
    "-reencryptZone -start -path /zone more",
    "-reencryptZone -start -path /none",
    "-reencryptZone -cancel -path /none",
    "-reencryptZone -start -path /empty",
    "-reencryptZone -start -path /zone/in",
    "-reencryptZone -start -path /full/file",
    "-reencryptZone -cancel -path /zone",
    "-listReencryptionStatus more",
    "-listReencryptionStatus",
    "-nonsense",
]


def test_the_command_says_what_hadoops_says(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.fs.mkdirs("/empty")
    scene.fs.mkdirs("/zone/in")
    for path in ("/zone/in/file", "/full/file"):
        scene.fs.create(path, overwrite=True).close()
    ours = []
    capsys.readouterr()
    for words in COMMANDS:
        code = main(["-fs", scene.cluster.uri, "crypto", *words.split()])
        out, err = capsys.readouterr()
        ours.append((code, out.rstrip(), err.splitlines()[:1]))
    lines = ["\t".join(["crypto", *words.split()]) for words in COMMANDS]
    answered = scene.java(str(Path(__file__).with_name("AdminCommands.java")), *lines)
    theirs = []
    for part in answered.split("\1")[1:]:
        number, out, err = part.split("\2")
        said = [line for line in err.splitlines() if not line.startswith("log4j:")]
        theirs.append((int(number), out.rstrip(), said[:1]))
    differ = [each for each in zip(COMMANDS, ours, theirs, strict=True) if each[1] != each[2]]
    assert not differ, "\n".join(map(str, differ))


def test_nothing_moves_out_of_a_zone_but_to_its_trash(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    with scene.fs.create(f"{ZONE}/deleted") as out:
        out.write(DATA)
    with pytest.raises(errors.RemoteError, match="can't be moved from an encryption zone"):
        scene.fs.rename(f"{ZONE}/deleted", "/deleted")
    trash = ["-D", "fs.trash.interval=60", "-fs", scene.cluster.uri]
    assert main([*trash, "dfs", "-rm", f"{ZONE}/deleted"]) == 0
    kept = f"{ZONE}/.Trash/{scene.fs.user}/Current{ZONE}/deleted"
    assert scene.fs.read_bytes(kept) == DATA
    capsys.readouterr()


def test_new_files_have_keys_by_the_last_version(scene: Scene) -> None:
    scene.fs.mkdirs("/rolled")
    assert main(["key", "create", "rolled", "-provider", scene.provider]) == 0
    scene.fs.create_encryption_zone("/rolled", "rolled")
    with scene.fs.create("/rolled/before") as out:
        out.write(DATA)
    assert main(["key", "roll", "rolled", "-provider", scene.provider]) == 0
    info = scene.fs.get_file_encryption_info("/rolled/before")
    assert info is not None
    assert (info.key_name, info.version_name) == ("rolled", "rolled@0")
    assert scene.fs.read_bytes("/rolled/before") == DATA
    zone = scene.fs.get_encryption_zone("/rolled/before")
    assert zone is not None
    assert (zone.path, zone.key_name) == ("/rolled", "rolled")
    assert "/rolled" in {each.path for each in scene.fs.list_encryption_zones()}


def _statuses(said: str) -> list[list[str]]:
    """Rows of a list of re-encryptions, without what differs: times."""
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}[+-]\d{4}"
    return [re.sub(time, "TIME", line).split() for line in said.splitlines()]


def test_files_of_a_zone_are_re_encrypted_for_both(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    fs, crypto = scene.fs, ["-fs", scene.cluster.uri, "crypto"]
    assert main(["key", "create", "anew", "-provider", scene.provider]) == 0
    for zone in ("/anew", "/inner"):
        fs.mkdirs(zone)
        fs.create_encryption_zone(zone, "anew")
    paths = [f"/anew/{name}" for name in ("a", "d/b", "d/e/c", "empty")]
    for path in paths:
        with fs.create(path) as out:
            out.write(DATA if "empty" not in path else b"")
    before = {path: fs.get_file_encryption_info(path) for path in paths}
    assert main(["key", "roll", "anew", "-provider", scene.provider]) == 0
    for zone, submit in (
        ("/anew", lambda words: scene.java(CRYPTO_ADMIN, *words)),
        ("/inner", lambda words: main([*crypto, *words])),
    ):
        submit(["-reencryptZone", "-start", "-path", zone])
    assert "submitted for zone: /inner action: START" in capsys.readouterr().out

    def are_over() -> bool:
        return all(each.state == "Completed" for each in fs.list_reencryption())

    wait_until(are_over, 60)
    assert {each.path: each.reencrypted for each in fs.list_reencryption()} == {
        "/anew": len(paths), "/inner": 0
    }  # fmt: skip
    for path in paths:
        info, old = fs.get_file_encryption_info(path), before[path]
        assert info is not None
        assert old is not None
        assert (old.version_name, info.version_name, info.iv) == ("anew@0", "anew@1", old.iv)
        data = DATA if "empty" not in path else b""
        assert fs.read_bytes(path) == data
        assert scene.java(SHELL, "-cat", path)[: len(PATTERN)].encode() == data[: len(PATTERN)]
    capsys.readouterr()
    assert main([*crypto, "-listReencryptionStatus"]) == 0
    ours = capsys.readouterr().out
    assert _statuses(ours) == _statuses(scene.java(CRYPTO_ADMIN, "-listReencryptionStatus"))
    assert "There are re-encryption failures" not in ours


def test_raw_copies_keep_cipher_text_and_keys(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a zone, below the raw path: the copy is a zone with the same keys, and is decrypted."""
    fs, ours = scene.fs, ["-fs", scene.cluster.uri]
    assert main(["key", "create", "rawkey", "-provider", scene.provider]) == 0
    fs.mkdirs("/rawzone")
    fs.create_encryption_zone("/rawzone", "rawkey")
    for path in ("/rawzone/a", "/rawzone/d/b"):
        with fs.create(path) as out:
            out.write(DATA)
    raw = "/.reserved/raw"
    scene.java(SHELL, "-cp", "-px", f"{raw}/rawzone", f"{raw}/copy-java")
    assert main([*ours, "dfs", "-cp", "-px", f"{raw}/rawzone", f"{raw}/copy-px"]) == 0
    # They are kept whatever -p says.
    assert main([*ours, "dfs", "-cp", f"{raw}/rawzone", f"{raw}/copy-plain"]) == 0
    assert main([*ours, "dfs", "-cp", "-t", "3", f"{raw}/rawzone", f"{raw}/copy-threads"]) == 0
    assert main([*ours, "sync", f"{raw}/rawzone", f"{raw}/copy-sync"]) == 0
    capsys.readouterr()
    keys = {name: fs.get_file_encryption_info(f"/rawzone/{name}") for name in ("a", "d/b")}
    for copy in ("/copy-java", "/copy-px", "/copy-plain", "/copy-threads", "/copy-sync"):
        zone = fs.get_encryption_zone(f"{copy}/d")
        assert zone is not None, copy
        assert (zone.path, zone.key_name) == (copy, "rawkey"), copy
        for name, key in keys.items():
            assert fs.get_file_encryption_info(f"{copy}/{name}") == key
            assert fs.read_bytes(f"{copy}/{name}") == DATA
    scene.java(SHELL, "-get", "/copy-sync/d/b", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == DATA
    # Again, into the zone that the copy is: what changed, alone.
    with fs.create("/rawzone/a", overwrite=True) as out:
        out.write(DATA[5:])
    assert main([*ours, "sync", f"{raw}/rawzone", f"{raw}/copy-sync"]) == 0
    assert fs.read_bytes("/copy-sync/a") == DATA[5:]
    assert fs.read_bytes("/copy-sync/d/b") == DATA
    capsys.readouterr()


RAW_WORDS = (
    "-cp /.reserved/raw/mixed/a /mixed/b",
    "-cp /mixed/a /.reserved/raw/mixed/b",
    "-cp -px /.reserved/raw/mixed /mixed2",
    "-cp /mixed /.reserved/raw/mixed2",
    "-get /.reserved/raw/mixed/a LOCAL/a",
    "-put LOCAL/from /.reserved/raw/mixed/c",
)


def test_raw_paths_are_copied_to_raw_paths_alone(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.fs.mkdirs("/mixed")
    scene.fs.create("/mixed/a", overwrite=True).close()
    (tmp_path / "from").write_bytes(b"x")
    capsys.readouterr()
    for line in RAW_WORDS:
        words = line.replace("LOCAL", str(tmp_path)).split()
        code = main(["-fs", scene.cluster.uri, "dfs", *words])
        said = capsys.readouterr().err.splitlines()
        theirs = scene.run(SHELL, *words)
        expected = [each for each in theirs.stderr.splitlines() if each.startswith("cp:")]
        expected = expected or [each for each in theirs.stderr.splitlines() if "raw" in each]
        assert (code, said[:1]) == (theirs.returncode, expected[:1]), line
    for mixed in (["/.reserved/raw/mixed", "/mixed3"], ["/mixed", "/.reserved/raw/mixed3"]):
        assert main(["-fs", scene.cluster.uri, "sync", *mixed]) != 0
        assert "Either all or none of the paths must have this prefix" in capsys.readouterr().err


def test_java_walks_through_a_zone(scene: Scene) -> None:
    with scene.fs.create(f"{ZONE}/listed") as out:
        out.write(DATA)
    assert f"{ZONE}/listed" in scene.java(SHELL, "-ls", ZONE)
    assert scene.java(SHELL, "-cat", f"{ZONE}/listed").encode()[: len(PATTERN)] == PATTERN
    scene.java(SHELL, "-appendToFile", "/etc/hostname", f"{ZONE}/listed")
    assert scene.fs.read_bytes(f"{ZONE}/listed") == DATA + Path("/etc/hostname").read_bytes()


def test_the_client_in_rust_reads_what_others_wrote_and_the_other_way_round(scene: Scene) -> None:
    hdfs_native = pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
    conf = {
        "dfs.replication": "1",
        "hadoop.security.key.provider.path": scene.provider,
    }
    rust = hdfs_native.Client(scene.cluster.uri, conf)
    with scene.fs.create(f"{ZONE}/for-rust") as out:
        out.write(DATA)
    assert rust.read(f"{ZONE}/for-rust").read() == DATA
    settings = hdfs_native.WriteOptions()
    settings.block_size = MIB
    with rust.create(f"{ZONE}/of-rust", settings) as out:
        out.write(DATA)
    assert scene.fs.read_bytes(f"{ZONE}/of-rust") == DATA
    assert scene.java(SHELL, "-cat", f"{ZONE}/of-rust").encode()[: len(PATTERN)] == PATTERN
    info = scene.fs.get_file_encryption_info(f"{ZONE}/of-rust")
    assert info is not None
    assert PATTERN not in scene.fs.read_bytes(f"/.reserved/raw{ZONE}/of-rust")


def test_the_key_command_says_of_either_server_the_same(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `howdah key` prints, and how it ends, with a key server of either kind."""

    def key(*words: str) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = main(["key", *words, "-provider", scene.provider])
        out, err = capsys.readouterr()
        return code, [*out.splitlines(), *err.splitlines()]

    assert key("create", "managed", "-size", "256", "-description", "d", "-attr", "a=b")[0] == 0
    code, lines = key("create", "managed")
    assert code == 1
    assert "already exists" in "".join(lines)
    assert key("roll", "managed")[0] == 0
    code, lines = key("list", "-metadata")
    [managed] = [line for line in lines if line.startswith("managed : ")]
    for said in ("length: 256", "description: d", "versions: 2", "AES/CTR/NoPadding"):
        assert said in managed
    assert key("invalidateCache", "managed")[0] == 0
    assert key("delete", "-f", "managed")[0] == 0
    assert "managed" not in key("list")[1]
    assert key("roll", "managed")[0] == 1
    assert key("delete", "-f", "managed")[0] == 1


def test_a_key_that_was_deleted_is_named_and_other_files_stay(scene: Scene) -> None:
    provider = ["-provider", scene.provider]
    assert main(["key", "create", "deleted", *provider]) == 0
    scene.fs.mkdirs("/of-deleted")
    scene.fs.create_encryption_zone("/of-deleted", "deleted")
    with scene.fs.create("/of-deleted/file") as out:
        out.write(DATA)
    assert main(["key", "delete", "-f", "deleted", *provider]) == 0
    with pytest.raises(errors.HowdahError, match=r"/of-deleted/file.*deleted"):
        scene.fs.open("/of-deleted/file")
    # The superuser still has the cipher text, and the key of another zone opens its files.
    assert PATTERN not in scene.fs.read_bytes("/.reserved/raw/of-deleted/file")
    with scene.fs.create(f"{ZONE}/of-another-key") as out:
        out.write(DATA)
    assert scene.fs.read_bytes(f"{ZONE}/of-another-key") == DATA
