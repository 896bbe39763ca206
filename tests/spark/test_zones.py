"""Jobs that read and write encryption zones: Spark's own client, ours in executors, and copies of
cipher text, with key servers of either kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark import Options, compact, distcp, verify
from howdah.testing import MiniCluster
from tests.support.hadoop.jars import NoHadoop, hadoop_kms_class_path
from tests.support.hadoop.key_server import hadoop_key_server
from tests.support.key_server import KEY_ACCESS, key_server

pytestmark = [pytest.mark.torture, pytest.mark.timeout(300)]

_CACHE = Path(__file__).parents[2] / ".cache"
PATTERN = b"plain text that no datanode may have "
RAW = "/.reserved/raw"
FILES = {f"d{number % 3}/{number:02}": PATTERN * (number + 1) for number in range(12)}


@dataclass(frozen=True)
class Scene:
    cluster: MiniCluster
    fs: HdfsFileSystem

    def uri(self, path: str) -> str:
        return f"{self.cluster.uri}{path}"

    def fill(self, root: str) -> None:
        for name, data in FILES.items():
            self.fs.write_bytes(f"{root}/{name}", data)

    def has(self, root: str) -> bool:
        return all(self.fs.read_bytes(f"{root}/{name}") == data for name, data in FILES.items())

    def is_encrypted(self, path: str) -> bool:
        found = [each for _, _, files in self.fs.walk(path) for each in files]
        assert found, path
        return all(PATTERN not in self.fs.read_bytes(RAW + each.path) for each in found)


@pytest.fixture(scope="module", params=["ours", "hadoop"])
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("zones")
    with ExitStack() as stack:
        if request.param == "hadoop":
            try:
                jars = hadoop_kms_class_path(_CACHE)
            except NoHadoop as error:
                pytest.skip(error.message)
            server = stack.enter_context(hadoop_key_server(directory / "kms", jars, KEY_ACCESS))
            provider = server.provider
        else:
            provider = stack.enter_context(key_server(directory / "kms", KEY_ACCESS))
        assert main(["key", "create", "payroll", "-provider", provider]) == 0
        conf: dict[str, str | int] = {
            "dfs.replication": 1,
            "hadoop.security.key.provider.path": provider,
        }
        cluster = stack.enter_context(MiniCluster(datanodes=1, conf=conf))
        fs = stack.enter_context(cluster.connect())
        assert isinstance(fs, HdfsFileSystem)
        for zone in ("/zone", "/other"):
            fs.mkdirs(zone)
            fs.create_encryption_zone(zone, "payroll")
        yield Scene(cluster, fs)


def test_sparks_client_and_ours_read_what_the_other_wrote(scene: Scene, spark: Any) -> None:
    words = [PATTERN.decode() + str(number) for number in range(500)]
    frame = spark.createDataFrame([(word,) for word in words], "word string")
    frame.repartition(3).write.text(scene.uri("/zone/of-spark"))
    assert scene.is_encrypted("/zone/of-spark")
    parts = [each.path for each in scene.fs.list_status("/zone/of-spark")]
    ours = b"".join(scene.fs.read_bytes(path) for path in parts).decode().splitlines()
    assert sorted(ours) == sorted(words)

    scene.fs.write_bytes("/zone/for-spark", "\n".join(words).encode())
    read = spark.read.text(scene.uri("/zone/for-spark")).collect()
    assert sorted(row[0] for row in read) == sorted(words)


def test_executors_read_and_write_by_our_client(scene: Scene, spark: Any) -> None:
    scene.fill("/zone/by-executors")
    uri = scene.cluster.uri

    def shout(names: Iterator[str]) -> Iterator[int]:
        import howdah

        with howdah.connect(uri) as fs:
            for name in names:
                data = fs.read_bytes(f"/zone/by-executors/{name}")
                fs.write_bytes(f"/other/by-executors/{name}", data.upper())
                yield len(data)

    counts = spark.sparkContext.parallelize(sorted(FILES), 3).mapPartitions(shout).collect()
    assert sum(counts) == sum(map(len, FILES.values()))
    for name, data in FILES.items():
        assert scene.fs.read_bytes(f"/other/by-executors/{name}") == data.upper()
        assert PATTERN.upper() not in scene.fs.read_bytes(f"{RAW}/other/by-executors/{name}")


def test_jobs_decrypt_in_one_zone_and_encrypt_in_another(scene: Scene, spark: Any) -> None:
    scene.fill("/zone/from")
    conf = scene.cluster.conf
    # Checksums of copies in zones are of cipher text by another key.
    distcp(
        spark,
        scene.uri("/zone/from"),
        scene.uri("/other/to"),
        options=Options(skip_crc=True, update=True),
        conf=conf,
    )
    assert scene.has("/other/to")
    assert scene.is_encrypted("/other/to")
    key = scene.fs.get_file_encryption_info("/zone/from/d0/00")
    assert scene.fs.get_file_encryption_info("/other/to/d0/00") != key
    with verify(spark, scene.uri("/zone/from"), conf=conf) as found:
        assert sum(found.sums.replicas.values()) == len(FILES)


def test_a_raw_copy_is_a_zone_with_the_same_keys(scene: Scene, spark: Any) -> None:
    fs = scene.fs
    fs.mkdirs("/raw-from")
    fs.create_encryption_zone("/raw-from", "payroll")
    scene.fill("/raw-from")
    words = ["--conf", str(scene.cluster.conf_dir), "distcp", "-px"]
    assert main([*words, scene.uri(f"{RAW}/raw-from"), scene.uri(f"{RAW}/raw-to")]) == 0
    zone = fs.get_encryption_zone("/raw-to/d1")
    assert zone is not None
    assert (zone.path, zone.key_name) == ("/raw-to", "payroll")
    assert scene.has("/raw-to")
    for name in FILES:
        from_, to = (f"{RAW}{root}/{name}" for root in ("/raw-from", "/raw-to"))
        assert fs.read_bytes(from_) == fs.read_bytes(to)
    read = spark.read.text(scene.uri("/raw-to/d1/*")).collect()
    assert all(row[0].encode().startswith(PATTERN) for row in read)


def test_small_files_of_a_zone_are_compacted_within_it(scene: Scene, spark: Any) -> None:
    table = "/zone/table"
    for number in range(4):
        frame = spark.range(number * 100, number * 100 + 100).selectExpr(
            "id", f"concat('{PATTERN.decode()}', id) AS word"
        )
        frame.coalesce(1).write.mode("append").parquet(scene.uri(table))
    compact(spark, scene.uri(table), conf=scene.cluster.conf)
    assert spark.read.parquet(scene.uri(table)).count() == 400
    assert scene.is_encrypted(table)
