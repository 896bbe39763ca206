"""The tasks of `verify`: look up replicas, read each, judge those of a block, sum up files.

Each task is a value that Spark sends to executors and calls with rows. Run again after a failure
it does no harm: reading changes nothing, and to report a bad replica twice is to report it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.copy.common.arrow_rows import Row, batches, decode
from howdah.copy.common.filesystems import Place
from howdah.copy.common.task_progress import Gauge
from howdah.fs.hdfs.replicas import NOWHERE, Replicas
from howdah.protocol.striping.layout import is_striped
from howdah.spark.verification.verdict import BAD, Verdict, file_crc, judge, judge_group

if TYPE_CHECKING:
    import pyarrow as pa

REPLICA_SCHEMA: Final = (
    "path binary, replication int, offset long, length long, block_id long, "
    "generation_stamp long, node string, address string, storage string, located binary, "
    "policy binary"
)
READ_SCHEMA: Final = f"{REPLICA_SCHEMA}, index int, state string, crc long, message string"
JUDGED_SCHEMA: Final = (
    "path binary, replication int, offset long, length long, block string, node string, "
    "storage string, verdict string, marked boolean, message string, replicas int, "
    "block_crc long"
)
DIGEST_SCHEMA: Final = "path binary, length long, modification_time_ms long, crc long"


@dataclass(frozen=True, slots=True)
class LookUp:
    """Turns files into replicas, as a task. A block without replicas has one row without a node.
    A block group is one row."""

    place: Place

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), REPLICA_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        replicas = Replicas(self.place.connect())
        for row in _dicts(given):
            try:
                file_replicas = list(replicas.of(decode(row["path"])))
            except errors.PathNotFound:
                # Deleted since it was listed.
                continue
            for replica in file_replicas:
                yield (
                    row["path"],
                    row["replication"] if replica.expected is None else replica.expected,
                    replica.offset,
                    replica.length_bytes,
                    replica.block_id,
                    replica.generation_stamp,
                    replica.node,
                    replica.address,
                    replica.storage_id,
                    replica.located,
                    replica.policy,
                )


@dataclass(frozen=True, slots=True)
class ReadReplicas:
    """Reads replicas and adds a finding to each, as a task. A block group becomes a row for each
    internal block, by its index. `progress` is the directory for the gauge."""

    place: Place
    progress: str = ""

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), READ_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        fs = self.place.connect()
        replicas = Replicas(fs)
        with closing(Gauge.of_task(self.place, self.progress)) as gauge:
            for row in _dicts(given):
                if row["policy"] is not None:
                    yield from _group_rows(replicas, row, gauge)
                    continue
                verdict: tuple[str, int | None, str] = (Verdict.MISSING.value, None, "")
                if row["node"] != NOWHERE:
                    finding = replicas.check(decode(row["path"]), row["located"])
                    verdict = (finding.state.value, finding.crc, finding.message)
                    gauge.add(1, row["length"])
                yield (*row.values(), 0, *verdict)


def _group_rows(replicas: Replicas, row: dict[str, Any], gauge: Gauge) -> Iterator[Row]:
    """The rows of the internal blocks; each has the CRC of the group's data."""
    readings = list(replicas.check_group(decode(row["path"]), row["located"], row["policy"]))
    gauge.add(sum(reading.node != NOWHERE for reading in readings), row["length"])
    for reading in readings:
        place = {
            "node": reading.node,
            "storage": reading.storage_id,
            "located": reading.located,
        }
        finding = reading.finding
        yield (
            *(row | place).values(),
            reading.index,
            finding.state.value,
            reading.crc,
            finding.message,
        )


@dataclass(frozen=True, slots=True)
class Judge:
    """A task that turns the readings of a block, which are one row, into verdicts on its
    replicas."""

    place: Place
    marks: bool

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), JUDGED_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        known = Replicas(self.place.connect())
        for row in _dicts(given):
            readings = sorted(
                row["readings"], key=lambda reading: (reading["index"], str(reading["node"]))
            )
            states = [reading["state"] for reading in readings]
            crcs = [reading["crc"] for reading in readings]
            if is_striped(row["block_id"]):
                judgement = judge_group(states, crcs)
            else:
                judgement = judge(states, crcs)
            there = len({r["index"] if r["policy"] else r["node"] for r in readings if r["node"]})
            for reading, verdict in zip(readings, judgement.verdicts, strict=True):
                marked = self.marks and verdict in BAD
                if marked:
                    known.report(reading["located"])
                yield (
                    row["path"],
                    reading["replication"],
                    reading["offset"],
                    reading["length"],
                    f"blk_{row['block_id'] + reading['index']}_{row['generation_stamp']}",
                    reading["node"],
                    reading["storage"],
                    verdict.value,
                    marked,
                    reading["message"] or "",
                    there,
                    judgement.crc,
                )


@dataclass(frozen=True, slots=True)
class Digest:
    """A task that turns the blocks of a file, which are one row, into the CRC of the file; null
    for a file with a block whose CRC is unknown."""

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), DIGEST_SCHEMA)

    @staticmethod
    def _rows(given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for row in _dicts(given):
            blocks = [(b["offset"], b["length"], b["block_crc"]) for b in row["blocks"] or ()]
            crc = file_crc(blocks, row["length"])
            yield row["path"], row["length"], row["modification_time_ms"], crc


def _dicts(given: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in given:
        yield from batch.to_pylist()
