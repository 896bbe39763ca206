"""What is asked of Spark for a table, and what is left behind in its session."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

import howdah
from howdah.copy.common.filesystems import Place
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.spark.compaction import table_maintenance
from howdah.spark.compaction.table_formats import Maintained, Maintenance, Table, TableFormat
from howdah.spark.compaction.table_maintenance import TableKeeper

DELTA = Table("/w/t", TableFormat.DELTA, "_delta_log")
ICEBERG = Table("/w/t", TableFormat.ICEBERG, "v1.metadata.json")
BOTH = "io.delta.sql.DeltaSparkSessionExtension,x.IcebergSparkSessionExtensions"
_numbers = itertools.count()


class Row(dict[str, Any]):
    def asDict(self) -> dict[str, Any]:
        return self


class Settings(dict[str, str]):
    """The settings of a session."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        self.pop(name, None)


class Session:
    """Answers statements, and remembers them with the settings of the time."""

    def __init__(self, extensions: str, answer: Callable[[str], list[Row]]) -> None:
        self.conf = Settings({"spark.sql.extensions": extensions})
        self._answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []

    def sql(self, statement: str) -> Session:
        self.asked.append((statement, dict(self.conf)))
        self._rows = self._answer(statement)
        return self

    def collect(self) -> list[Row]:
        return self._rows


def delta(statement: str) -> list[Row]:
    if statement.startswith("OPTIMIZE"):
        metrics = {"numFilesRemoved": 7, "numFilesAdded": 2, "filesRemoved": {"totalSize": 70}}
        return [Row(metrics=metrics)]
    if statement.startswith("VACUUM") and "RETAIN 1 " in statement:
        raise ValueError("the retention is too short")
    return [Row(version=3)]


def iceberg(statement: str) -> list[Row]:
    if "rewrite_data_files" in statement:
        counts = ("rewritten_data_files_count", "added_data_files_count", "rewritten_bytes_count")
        return [Row(zip(counts, (5, 1, 50), strict=True))]
    if "metadata_log_entries" in statement:
        return [Row(file="mem://elsewhere/w/other/metadata/v2.metadata.json")]
    if "remove_orphan_files" in statement:
        raise ValueError("the interval is too short")
    if "expire_snapshots" in statement:
        return [Row(deleted_data_files_count=4, deleted_manifest_files_count=2)]
    return [Row(snapshot_id=11)]


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"maintenance-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


def maintained(
    fs: FileSystem, session: Session, table: Table, asked: Maintenance | None = None
) -> Maintained:
    keeper = TableKeeper(
        cast(Any, session), fs, Place(fs.uri), asked or Maintenance(), 1 << 20, most_tasks=5
    )
    return keeper.maintain(table)


def test_delta_is_given_sizes_and_tasks_that_the_session_forgets(fs: FileSystem) -> None:
    session = Session(BOTH, delta)
    before = dict(session.conf)
    done = maintained(fs, session, DELTA, Maintenance(vacuums=True))
    assert (done.files_before, done.files_after, done.bytes) == (7, 2, 70)
    assert (done.by, done.files_deleted, done.reason) == ("Spark", None, "")
    settings = {statement.split()[0]: conf for statement, conf in session.asked}
    assert settings["OPTIMIZE"]["spark.databricks.delta.optimize.maxFileSize"] == str(1 << 20)
    listing = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    assert settings["VACUUM"][listing] == "5"
    assert session.conf == before


def test_delta_that_refuses_to_vacuum_has_compacted(fs: FileSystem) -> None:
    session = Session(BOTH, delta)
    before = dict(session.conf)
    done = maintained(fs, session, DELTA, Maintenance(vacuums=True, retain_hours=1))
    assert done.failed
    assert "it was compacted, but then: " in done.reason
    assert "the retention is too short" in done.reason
    assert done.files_after == 2
    assert session.conf == before


def test_iceberg_gets_a_catalog_of_its_own_that_the_session_forgets(fs: FileSystem) -> None:
    fs.write_bytes("/w/t/metadata/v1.metadata.json", b"{}")
    session = Session(BOTH, iceberg)
    before = dict(session.conf)
    done = maintained(fs, session, ICEBERG, Maintenance(expires=True))
    assert (done.files_before, done.files_after, done.files_deleted) == (5, 1, 6)
    assert (done.version_before, done.version_after) == ("11", "11")
    (warehouse,) = {
        value
        for _, conf in session.asked
        for name, value in conf.items()
        if name.endswith(".warehouse")
    }
    assert warehouse == f"{fs.uri}/w"
    assert session.conf == before


def test_steps_before_one_that_fails_are_in_the_outcome(fs: FileSystem) -> None:
    fs.write_bytes("/w/t/metadata/v1.metadata.json", b"{}")
    session = Session(BOTH, iceberg)
    before = dict(session.conf)
    done = maintained(fs, session, ICEBERG, Maintenance(expires=True, removes_orphans=True))
    assert "it was compacted, but then: " in done.reason
    assert "the interval is too short" in done.reason
    assert ("expire_snapshots" in done.steps[-1], done.files_deleted) == (True, 6)
    assert session.conf == before


def test_iceberg_of_a_catalog_is_not_committed_to_past_it(fs: FileSystem) -> None:
    fs.write_bytes("/w/t/metadata/00001-0f3a.metadata.json", b"{}")
    session = Session(BOTH, iceberg)
    assert "give its name (--table" in maintained(fs, session, ICEBERG).reason
    wrong = maintained(fs, session, ICEBERG, Maintenance(name="lake.db.other"))
    assert "is /w/other/metadata/v2.metadata.json, not in /w/t" in wrong.reason
    assert not any("CALL" in statement for statement, _ in session.asked)


def test_without_a_program_a_table_is_left_alone_and_it_is_said_what_is_missing(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session("", delta)
    left = maintained(fs, session, ICEBERG)
    assert not left.failed
    assert "spark.jars.packages (org.apache.iceberg" in left.reason
    assert "settings of its own for mem://" in maintained(fs, session, DELTA).reason
    monkeypatch.setattr(table_maintenance, "find_spec", lambda _: None)
    assert "pip install deltalake" in maintained(fs, session, DELTA).reason
    assert session.asked == []
