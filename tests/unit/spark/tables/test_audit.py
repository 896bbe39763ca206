"""Lines of audit logs, ours and Hadoop's, whole and rotated."""

from __future__ import annotations

import bz2
import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.audit.calls import Subject
from howdah.namenode.service.audit.line_format import LineFormat, Record, Shown, escaped
from howdah.protocol.call_ids import NO_CALL_ID, NO_CLIENT_ID
from howdah.protocol.rpc.call import Caller
from howdah.spark.tables import audit_table
from howdah.spark.tables.audit_lines import AuditLines, unescaped
from tests.support.tables.frames import rows_of, table

STAMP = "2026-11-23 03:40:35,123"
HADOOPS = (
    "2026-11-23 03:40:35,123 INFO FSNamesystem.audit: allowed=true\tugi=oozie (auth:PROXY) via "
    "oozie/host@REALM (auth:KERBEROS)\tip=/10.0.0.7\tcmd=rename (options=[OVERWRITE])\t"
    "src=/a\tdst=/b\tperm=ann:staff:rwxr-x--T\tproto=rpc\tcallerContext=SPARK_app=1,"
    "clientIp:10.0.0.9"
)


def row_of(line: str, zone: str = "UTC") -> dict[str, Any]:
    return AuditLines("a.log", ZoneInfo(zone)).row(line)


def test_a_line_of_hadoops_is_taken_apart() -> None:
    row = row_of(HADOOPS)
    assert {name: value for name, value in row.items() if value is not None} == {
        "time": int(datetime(2026, 11, 23, 3, 40, 35, 123000, tzinfo=UTC).timestamp() * 1e6),
        "allowed": True,
        "user": "oozie",
        "auth": "PROXY",
        "real_user": "oozie/host@REALM",
        "ip": "10.0.0.7",
        "cmd": "rename (options=[OVERWRITE])",
        "src": "/a",
        "dst": "/b",
        "owner": "ann",
        "group": "staff",
        "permission": 0o1750,
        "proto": "rpc",
        "caller_context": "SPARK_app=1,clientIp:10.0.0.9",
        "file": "a.log",
    }


@pytest.mark.parametrize(
    "line",
    [
        "",
        "2026-11-23 03:40:35,123 WARN something else",
        "allowed=true\tugi=ann (auth:SIMPLE)",
        "a line that is not\tallowed=maybe\tat all",
    ],
)
def test_what_is_no_line_is_kept_as_it_is(line: str) -> None:
    row = row_of(line)
    assert (row["malformed"], row["cmd"], row["file"]) == (line, None, "a.log")


@pytest.mark.parametrize(
    ("stamp", "zone", "hour"),
    [
        ("2026-07-01 12:00:00,000", "UTC", 12),
        ("2026-07-01 12:00:00,000", "Europe/Berlin", 10),
        ("2026-12-01 12:00:00,000", "Europe/Berlin", 11),
        ("2026-07-01T12:00:00.000Z", "Europe/Berlin", 12),
        ("2026-07-01T12:00:00.000+0200", "UTC", 10),
    ],
)
def test_times_are_of_the_zone_of_the_log_or_of_their_own(stamp: str, zone: str, hour: int) -> None:
    row = row_of(HADOOPS.replace(STAMP, stamp), zone)
    assert datetime.fromtimestamp(row["time"] / 1e6, UTC).hour == hour


@pytest.mark.parametrize("stamp", ["", "2026-13-23 03:40:35,123", "2026-11-23 03:77:35,123"])
def test_a_time_that_makes_no_sense_is_null(stamp: str) -> None:
    row = row_of(HADOOPS.replace(STAMP, stamp))
    assert (row["time"], row["cmd"]) == (None, "rename (options=[OVERWRITE])")


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@given(names)
def test_escapes_are_undone(text: str) -> None:
    assert unescaped(escaped(text)) == text


@given(names.map("/{}".format), names.map("/{}".format), st.integers(0, 0o1777), st.booleans())
def test_lines_that_we_write_come_back(src: str, dst: str, mode: int, allowed: bool) -> None:
    caller = Caller("ann", NO_CLIENT_ID, NO_CALL_ID, -1, "10.0.0.7", context=("job 7", b"s"))
    record = Record(
        0, allowed, "rename", Subject("rename", src, dst), None, caller, Shown("ann", "staff", mode)
    )
    line = LineFormat(has_context=True, max_context=1000).line(record, STAMP)
    assert line is not None
    row = row_of(line.rstrip("\n"))
    assert (row["src"], row["dst"], row["allowed"]) == (src, dst, allowed)
    assert (row["owner"], row["group"]) == ("ann", "staff")
    assert row["permission"] == mode
    assert (row["user"], row["auth"], row["ip"]) == ("ann", "SIMPLE", "10.0.0.7")
    assert row["caller_context"] == "job 7:s"


# Files.


def line(number: int) -> str:
    return HADOOPS.replace("src=/a", f"src=/a/{number}")


def write_logs(directory: Path, count: int = 200) -> None:
    """Lines of rotated files, of which two are compressed."""
    texts = ["".join(line(n) + "\n" for n in range(part, count, 4)) for part in range(4)]
    (directory / "hdfs-audit.log").write_text(texts[0])
    (directory / "hdfs-audit.log.1").write_text(texts[1].removesuffix("\n"))
    (directory / "hdfs-audit.log.2.gz").write_bytes(gzip.compress(texts[2].encode()))
    (directory / "hdfs-audit.log.3.bz2").write_bytes(bz2.compress(texts[3].encode()))


def sources(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(int(row["src"].removeprefix("/a/")) for row in rows)


@pytest.mark.parametrize("part_bytes", [1, 100, 337, 1 << 20])
def test_rotated_files_have_each_line_once(
    tmp_path: Path, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_table, "PART_BYTES", part_bytes)
    write_logs(tmp_path, 40)
    assert sources(rows_of(table("howdah.audit", tmp_path.as_uri()))) == list(range(40))


def test_a_pattern_names_files(tmp_path: Path) -> None:
    write_logs(tmp_path)
    found = rows_of(table("howdah.audit", f"{tmp_path.as_uri()}/*.log.[12]*"))
    assert sources(found) == [n for n in range(200) if n % 4 in (1, 2)]
    assert {Path(row["file"]).name for row in found} == {
        "hdfs-audit.log.1",
        "hdfs-audit.log.2.gz",
    }


def test_filters_choose_lines(tmp_path: Path) -> None:
    write_logs(tmp_path)
    opened = table("howdah.audit", tmp_path.as_uri(), where="src = '/a/77'", columns="src,time")
    assert sources(rows_of(opened)) == [77]


def test_malformed_lines_are_kept_dropped_or_refused(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"{line(1)}\nnot a line\n\n{line(2)}\n")
    kept = rows_of(table("howdah.audit", log.as_uri()))
    assert [row["malformed"] for row in kept] == [None, "not a line", None]
    assert sources(rows_of(table("howdah.audit", log.as_uri(), malformed="drop"))) == [1, 2]
    with pytest.raises(errors.MalformedText, match="'not a line'"):
        rows_of(table("howdah.audit", log.as_uri(), malformed="fail"))


def test_wrong_paths_and_zones_are_named(tmp_path: Path) -> None:
    with pytest.raises(errors.PathNotFound, match=r"there are no files at .*/nothing"):
        table("howdah.audit", f"{tmp_path.as_uri()}/nothing*").parts()
    with pytest.raises(errors.IllegalArgument, match="'Mars' is no time zone"):
        table("howdah.audit", tmp_path.as_uri(), timeZone="Mars").parts()
    with pytest.raises(errors.IllegalArgument, match=r"howdah\.audit needs the option path"):
        table("howdah.audit", "").parts()


def test_times_without_a_zone_are_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "a.log"
    log.write_text(line(1) + "\n")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    (own,) = rows_of(table("howdah.audit", log.as_uri()))
    (named,) = rows_of(table("howdah.audit", log.as_uri(), timeZone="Asia/Tokyo"))
    assert own["time"] == named["time"] == datetime(2026, 11, 22, 18, 40, 35, 123000, tzinfo=UTC)
