"""Copies to and from an object store, as moto plays one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.fs.registry import connect
from howdah.spark import Options, Outcome, distcp
from howdah.testing.trees import read_tree
from tests.support.objects.store import StoreServer, store_server

pytestmark = pytest.mark.timeout(240)

TREE = {"a b+c": b"1" * 1000, "d": None, "d/50% #?é": b"22", "d/{x}[y]*": b"", "none": None}
FILES = {name: content for name, content in TREE.items() if content is not None}


@pytest.fixture(scope="module")
def server() -> Iterator[StoreServer]:
    with store_server() as started:
        yield started


@pytest.fixture(scope="module")
def conf(server: StoreServer, howdah_cluster: Any) -> Configuration:
    return Configuration({**dict(howdah_cluster.conf.items()), **server.keys()})


@pytest.fixture
def bucket(server: StoreServer) -> str:
    return f"s3://{server.new_bucket()}"


@pytest.mark.req("FS-158", "FS-194")
def test_tree_goes_to_an_object_store_and_back(
    bench: Any, conf: Configuration, bucket: str
) -> None:
    def copy(source: str, target: str, **options: Any) -> Outcome:
        return distcp(bench.spark, source, target, options=Options(**options), conf=conf)

    bench.make("src", TREE)
    store = connect(bucket, conf=conf)
    for number, is_direct in enumerate((True, False)):
        outcome = copy(bench.uri("src"), f"{bucket}/t{number}", direct=is_direct)
        counted = outcome.counters
        assert counted.files_copied == len(FILES)
        # The store's checksum is that of HDFS; of an empty file the length says all.
        assert (counted.verified_by_checksum, counted.verified_by_length) == (len(FILES) - 1, 1)
        assert read_tree(store, f"/t{number}") == TREE
        assert not any("has no directories" in note for note in outcome.notes)
        assert any("-direct does without" in note for note in outcome.notes) is not is_direct
    again = copy(bench.uri("src"), f"{bucket}/t0", update=True, direct=True)
    assert again.counters.files_copied == 0
    back = copy(f"{bucket}/t0", bench.uri("back"))
    assert back.counters.verified_by_checksum == len(FILES) - 1
    assert bench.tree("back") == TREE
    bench.fs.delete(bench.path("src/d"), recursive=True)
    gone = copy(bench.uri("src"), f"{bucket}/t0", update=True, delete=True, direct=True)
    assert gone.counters.entries_deleted >= 1
    assert read_tree(store, "/t0") == {"a b+c": FILES["a b+c"], "none": None}


def test_atomic_copy_to_an_object_store_is_refused(
    bench: Any, conf: Configuration, bucket: str
) -> None:
    bench.make("src", {"a": b"1"})
    with pytest.raises(errors.UnsupportedOperation, match="-atomic needs a filesystem"):
        distcp(
            bench.spark, bench.uri("src"), f"{bucket}/t2", options=Options(atomic=True), conf=conf
        )


@pytest.mark.req("FS-190", "FS-194")
def test_a_job_between_two_buckets_has_the_store_copy_and_says_so(
    bench: Any, server: StoreServer, conf: Configuration, bucket: str, tmp_path: Path
) -> None:
    store = connect(bucket, conf=conf)
    for name, content in FILES.items():
        store.write_bytes(f"/t/{name}", content)
    another = f"s3a://{server.new_bucket()}"
    log = Options(log_path=f"{tmp_path.as_uri()}/log", verbose=True)
    outcome = distcp(bench.spark, f"{bucket}/t", f"{another}/t", options=log, conf=conf)
    counted = outcome.counters
    assert (counted.files_copied, counted.copied_by_server) == (len(FILES), len(FILES))
    assert counted.verified_by_checksum == len(FILES)
    assert not any("-direct does without" in note for note in outcome.notes)
    assert read_tree(connect(another, conf=conf), "/t") == FILES | {"d": None}
    lines = "".join(part.read_text() for part in (tmp_path / "log").glob("part-m-*"))
    how = "; copied by the store; length and COMPOSITE-CRC32C are the source's)"
    assert lines.count(how) == len(FILES)
    again = distcp(
        bench.spark, f"{bucket}/t", f"{another}/t", options=Options(update=True), conf=conf
    )
    assert (again.counters.files_copied, again.counters.skipped_by_checksum) == (0, len(FILES) - 1)


@pytest.mark.req("FS-190", "FS-194")
def test_a_job_between_two_stores_copies_itself_and_says_so(
    bench: Any, conf: Configuration, bucket: str
) -> None:
    store = connect(bucket, conf=conf)
    store.write_bytes("/t/a", b"1")
    with store_server() as elsewhere:
        there = elsewhere.new_bucket()
        both = conf.with_values({f"fs.s3a.bucket.{there}.endpoint": elsewhere.endpoint})
        outcome = distcp(bench.spark, f"{bucket}/t", f"s3://{there}/t", conf=both)
        assert outcome.counters.copied_by_server == 0
        assert outcome.counters.verified_by_checksum == 1
        assert any(
            note.startswith(f"s3://{there} does not copy {bucket}: ") for note in outcome.notes
        )
        assert read_tree(connect(f"s3://{there}", conf=both), "/t") == {"a": b"1"}
