"""Erasure-coded files as the parts around the client see them.

The shared cluster has three datanodes: as many as XOR-2-1 needs.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

import howdah
from howdah import errors
from howdah.client.reading.replica_finding import ReplicaState
from howdah.copy.options import Options, attributes
from howdah.doctor.collect import gather
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.replicas import Replicas
from howdah.fs.metadata_transfer import apply_metadata
from howdah.fsspec.filesystem import HowdahFileSystem
from howdah.spark.compaction.directory_state import reason_to_skip, state_of
from howdah.spark.compaction.directory_swap import Exchange
from howdah.sync.job import sync
from howdah.testing import MiniCluster
from tests.support.coded_files import forget
from tests.support.started import gateway

POLICY = "XOR-2-1-1024k"
MIB = 1 << 20
DATA = random.Random(5).randbytes(2 * MIB + 77)


@pytest.fixture(scope="module")
def coded(howdah_cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    """The policy is enabled, and `/coded/src` has it, with files and a directory."""
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.client.namenode.enable_erasure_coding_policy(POLICY)
        fs.mkdirs("/coded/src/d")
        fs.set_erasure_coding_policy("/coded/src", POLICY)
        for name in ("f", "d/g"):
            with fs.create(f"/coded/src/{name}") as out:
                out.write(DATA)
        fs.create("/coded/src/plain", replicate=True).close()
        yield fs
        forget(fs, howdah_cluster.conf, POLICY, "/coded")


def policy_of(fs: HdfsFileSystem, path: str) -> str | None:
    return fs.get_file_status(path).erasure_coding_policy


def test_a_copy_keeps_the_policies_of_files_and_directories(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    source, target = "/coded/src", "/coded/kept"
    options = Options(preserve=attributes("e"), update=True, update_root=True)
    sync(source, target, options=options, conf=howdah_cluster.conf)
    for name in ("", "/d", "/f", "/d/g"):
        assert policy_of(coded, target + name) == POLICY
    assert coded.open(f"{target}/d/g").read() == DATA


def test_copies_of_other_layouts_are_equal_by_their_composite_checksums(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    source, target = "/coded/src", "/coded/replicated"
    options = Options(update=True)
    sync(source, target, options=options, conf=howdah_cluster.conf)
    assert policy_of(coded, f"{target}/f") is None
    # Newer, so that times alone would have it copied again.
    coded.set_times(f"{source}/f", coded.get_file_status(f"{target}/f").modification_time_ms + 9)
    again = sync(source, target, options=options, conf=howdah_cluster.conf).counters
    assert (again.files_copied, again.files_skipped) == (0, 3)


def test_what_is_appended_to_a_coded_copy_begins_a_new_group(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    source, target = "/coded/grows", "/coded/grown"
    coded.mkdirs(target)
    coded.set_erasure_coding_policy(target, POLICY)
    with coded.create(f"{source}/f") as out:
        out.write(DATA)
    options = Options(update=True, append=True)
    sync(source, target, options=options, conf=howdah_cluster.conf)
    assert policy_of(coded, f"{target}/f") == POLICY
    file_id = coded.get_file_status(f"{target}/f").file_id
    with coded.append(f"{source}/f") as out:
        out.write(b"more")
    sync(source, target, options=options, conf=howdah_cluster.conf)
    with coded.open(f"{target}/f") as stream:
        assert stream.read() == DATA + b"more"
    assert coded.get_file_status(f"{target}/f").file_id == file_id


def test_replicas_of_coded_files_are_groups(coded: HdfsFileSystem) -> None:
    replicas = Replicas(coded)
    (group,) = replicas.of("/coded/src/f")
    assert group.policy is not None
    assert group.expected == 3
    readings = list(replicas.check_group("/coded/src/f", group.located, group.policy))
    assert [reading.index for reading in readings] == [0, 1, 2]
    assert {reading.finding.state for reading in readings} == {ReplicaState.SOUND}


def exchanged(fs: HdfsFileSystem, directory: str) -> None:
    exchange = Exchange(fs, directory)
    exchange.begin()
    with fs.create(f"{exchange.building}/new") as out:
        out.write(b"12")
    exchange.finish()


@pytest.mark.parametrize("of_directory", [POLICY, None])
@pytest.mark.parametrize("of_files", [POLICY, None])
def test_a_compacted_directory_and_its_files_keep_their_policies(
    coded: HdfsFileSystem, of_directory: str | None, of_files: str | None
) -> None:
    directory = f"/coded/compact-{of_directory}-{of_files}"
    coded.mkdirs(directory)
    for name in ("a", "b"):
        given = {"ec_policy": of_files} if of_files else {"replicate": True}
        coded.create(f"{directory}/{name}", **given).close()
    if of_directory:
        coded.set_erasure_coding_policy(directory, of_directory)
    exchanged(coded, directory)
    assert [status.name for status in coded.list_status(directory)] == ["new"]
    assert policy_of(coded, directory) == of_directory
    assert policy_of(coded, f"{directory}/new") == of_files
    with coded.open(f"{directory}/new") as stream:
        assert stream.read() == b"12"


def test_a_replicated_directory_below_a_coded_one_stays_replicated(coded: HdfsFileSystem) -> None:
    directory = "/coded/src/replicated"
    coded.mkdirs(directory)
    coded.set_erasure_coding_policy(directory, "replication")
    coded.create(f"{directory}/a").close()
    exchanged(coded, directory)
    coded.create(f"{directory}/later").close()
    assert policy_of(coded, f"{directory}/new") is policy_of(coded, f"{directory}/later") is None


def test_files_of_several_policies_are_not_compacted_together(coded: HdfsFileSystem) -> None:
    coded.create("/coded/mixed/a", ec_policy=POLICY).close()
    coded.create("/coded/mixed/b").close()
    assert reason_to_skip(coded, state_of(coded, "/coded/mixed")) == (
        f"its files have different erasure coding policies: {POLICY}, none"
    )


@pytest.fixture(scope="module", params=["namenode", "gateway"])
def web(howdah_cluster: MiniCluster, request: pytest.FixtureRequest) -> Iterator[FileSystem]:
    with contextlib.ExitStack() as stack:
        address = howdah_cluster.http.partition("//")[2].rstrip("/")
        if request.param == "gateway":
            address = stack.enter_context(gateway(howdah_cluster))
        yield stack.enter_context(howdah.connect(f"webhdfs://{address}", conf=howdah_cluster.conf))


def test_policies_are_managed_over_http(coded: HdfsFileSystem, web: FileSystem) -> None:
    assert web.get_erasure_coding_policies() == coded.get_erasure_coding_policies()
    assert web.get_erasure_coding_codecs() == coded.get_erasure_coding_codecs()
    web.mkdirs("/coded/web")
    assert web.get_erasure_coding_policy("/coded/web") is None
    web.set_erasure_coding_policy("/coded/web", POLICY)
    assert web.get_erasure_coding_policy("/coded/web") == coded.get_erasure_coding_policy(
        "/coded/src"
    )
    with pytest.raises(errors.HowdahError, match="does not match any enabled"):
        web.set_erasure_coding_policy("/coded/web", "RS-10-4-1024k")
    web.unset_erasure_coding_policy("/coded/web")
    assert web.get_erasure_coding_policy("/coded/web") is None
    with pytest.raises(errors.NoCodingPolicySet):
        web.unset_erasure_coding_policy("/coded/web")


def test_coded_files_are_read_and_written_over_http(coded: HdfsFileSystem, web: FileSystem) -> None:
    with web.open("/coded/src/f") as stream:
        assert stream.read() == DATA
        assert stream.pread(MIB - 5, 10) == DATA[MIB - 5 : MIB + 5]
    with web.create("/coded/src/by-web", overwrite=True) as out:
        out.write(DATA)
    assert policy_of(coded, "/coded/src/by-web") == POLICY
    status = web.get_file_status("/coded/src/by-web")
    assert status.is_erasure_coded
    assert status.erasure_coding_policy == POLICY
    assert status in web.list_status("/coded/src")
    with coded.open("/coded/src/by-web") as stream:
        assert stream.read() == DATA
    assert web.get_file_checksum("/coded/src/f") == coded.get_file_checksum("/coded/src/by-web")
    assert web.content_summary("/coded/src/f") == coded.content_summary("/coded/src/f")


def test_doctor_knows_what_is_enabled_and_used(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    coding = gather(howdah_cluster.conf, ()).coding
    assert coding is not None
    assert set(coding.enabled) == {POLICY, "RS-6-3-1024k"}
    assert coding.block_groups > 0


def test_fsspec_creates_files_by_a_policy(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    def filesystem(**options: Any) -> HowdahFileSystem:
        host, port = howdah_cluster.uri.removeprefix("hdfs://").split(":")
        return HowdahFileSystem(host, int(port), skip_instance_cache=True, **options)

    def written(fs: HowdahFileSystem, path: str, **options: str) -> str | None:
        with fs.open(path, "wb", **options) as out:
            out.write(b"abc")
        return policy_of(coded, path)

    plain, by_policy = filesystem(), filesystem(ec_policy=POLICY)
    assert written(plain, "/coded/a") is None
    assert written(plain, "/coded/b", ec_policy=POLICY) == POLICY
    assert written(by_policy, "/coded/c") == POLICY
    assert written(by_policy, "/coded/d", ec_policy="replication") is None
    assert written(plain, "/coded/src/e", ec_policy="replication") is None
    assert plain.info("/coded/c")["ec_policy"] == POLICY
    assert "ec_policy" not in plain.info("/coded/a")
    with plain.transaction:
        with plain.open("/coded/t", "wb", ec_policy=POLICY) as out:
            out.write(b"abc")
    assert policy_of(coded, "/coded/t") == POLICY
    with pytest.raises(errors.HowdahError, match="does not match any enabled"):
        written(plain, "/coded/f", ec_policy="RS-10-4-1024k")
    with pytest.raises(TypeError, match="did you mean 'ec_policy'"):
        filesystem(ec_polic=POLICY)


def test_the_replication_of_a_coded_file_is_no_wish(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    usual = coded.server_defaults().replication
    assert usual > 1
    options = Options(preserve=attributes("r"))
    sync("/coded/src", "/coded/with-replication", options=options, conf=howdah_cluster.conf)
    assert coded.get_file_status("/coded/with-replication/f").replication == usual
    coded.create("/coded/moved").close()
    apply_metadata(coded, coded.get_file_status("/coded/src/f"), "/coded/moved")
    assert coded.get_file_status("/coded/moved").replication == usual
    # Nor is that of a replicated file one for a coded copy.
    coded.create("/coded/three", replication=3).close()
    sync("/coded/three", "/coded/src/three", options=options, conf=howdah_cluster.conf)
    assert policy_of(coded, "/coded/src/three") == POLICY


def test_chunks_of_coded_files_are_joined(coded: HdfsFileSystem) -> None:
    for name in ("one", "two", "three"):
        with coded.create(f"/coded/chunks/{name}", ec_policy=POLICY) as out:
            out.write(DATA)
    coded.concat("/coded/chunks/one", ["/coded/chunks/two", "/coded/chunks/three"])
    with coded.open("/coded/chunks/one") as stream:
        assert stream.read() == DATA * 3
        assert stream.pread(len(DATA) - 3, 6) == DATA[-3:] + DATA[:3]
    coded.create("/coded/chunks/replicated", replicate=True).close()
    with pytest.raises(errors.HowdahError):
        coded.concat("/coded/chunks/one", ["/coded/chunks/replicated"])


def test_modes_that_append_begin_a_new_group(
    coded: HdfsFileSystem, howdah_cluster: MiniCluster
) -> None:
    host, port = howdah_cluster.uri.removeprefix("hdfs://").split(":")
    path = "/coded/src/appended"
    with coded.open(path, "ab") as out:
        out.write(b"one ")
    with coded.open(path, "a") as text:
        text.write("two ")
    with HowdahFileSystem(host, int(port)).open(path, "ab") as out:
        out.write(b"three")
    with coded.open(path) as stream:
        assert stream.read() == b"one two three"
    with HowdahFileSystem(host, int(port)).open(f"{path}-new", "ab") as out:
        out.write(b"new")
    assert policy_of(coded, f"{path}-new") == POLICY
