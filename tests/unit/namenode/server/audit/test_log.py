"""From the loop to the file: order, bounds, a disk that fails, and rotation."""

from __future__ import annotations

import errno
import functools
import logging
import threading
import time
from pathlib import Path

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.server.audit.files import RotatedFile
from howdah.namenode.server.audit.log import AuditLog
from howdah.namenode.service.audit.line_format import LineFormat, Record, Shown
from howdah.namenode.service.protocols.refresh import AUTHORIZATION, USER_MAPPINGS
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import refresh_pb2
from howdah.protocol.rpc.call import Caller
from howdah.testing.waiting import wait_until

CALLER = Caller("ann", b"c" * 16, 1, 0, "10.0.0.7")
DONE = pb.MkdirsResponseProto(result=True)


class Kept:
    """An output that keeps what it gets; it waits while `gate` is shut."""

    def __init__(self) -> None:
        self.data = b""
        self.failures = 0
        self.closed = False
        self.gate = threading.Event()
        self.gate.set()

    def write(self, data: bytes) -> None:
        self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        self.data += data

    def close(self) -> None:
        self.closed = True

    @property
    def paths(self) -> list[str]:
        lines = self.data.decode().splitlines()
        return [line.partition("\tsrc=")[2].partition("\t")[0] for line in lines]


def audit(output: Kept, most: int = 1000) -> AuditLog:
    return AuditLog(
        "P", LineFormat(), output, lambda: 0, lambda path: Shown("ann", "staff", 0o755), most
    )


def mkdirs(log: AuditLog, path: str, outcome: Message | errors.HowdahError = DONE) -> None:
    request = pb.MkdirsRequestProto(src=path)
    log.answered("mkdirs", request, CALLER, outcome)


def test_who_has_something_read_anew_is_noted() -> None:
    output = Kept()
    log = audit(output)
    log.start()
    assert log.watches(AUTHORIZATION, "refreshServiceAcl")
    assert log.watches(USER_MAPPINGS, "refreshSuperUserGroupsConfiguration")
    assert not log.watches("P", "refreshServiceAcl")
    assert not log.watches(USER_MAPPINGS, "refreshServiceAcl")
    assert not log.watches(AUTHORIZATION, "mkdirs")
    request, outcomes = (
        refresh_pb2.RefreshServiceAclRequestProto(),
        (
            errors.AuthorizationFailed("User ann is not authorized"),
            refresh_pb2.RefreshServiceAclResponseProto(),
        ),
    )
    for outcome in outcomes:
        log.answered("refreshServiceAcl", request, CALLER, outcome)
    log.close()
    (line,) = output.data.decode().splitlines()
    assert "allowed=true\tugi=ann (auth:SIMPLE)\t" in line
    assert "\tcmd=refreshServiceAcl\tsrc=null\tdst=null\tperm=null\t" in line


def test_lines_have_the_order_of_the_calls_and_are_written_before_the_end() -> None:
    output = Kept()
    log = audit(output, most=10_000)
    log.start()
    wanted = [f"/{number}" for number in range(5000)]
    for path in wanted:
        mkdirs(log, path)
    log.close()
    assert output.paths == wanted
    assert output.closed


def test_denied_call_has_a_line_and_another_failure_none() -> None:
    output = Kept()
    log = audit(output)
    log.start()
    mkdirs(log, "/denied", errors.AccessDenied("Permission denied"))
    mkdirs(log, "/snapshot", errors.SnapshotReadOnly("read-only"))
    mkdirs(log, "/gone", errors.PathNotFound("File does not exist"))
    mkdirs(log, "/done")
    log.close()
    assert output.paths == ["/denied", "/snapshot", "/done"]
    denied, _, done = output.data.decode().splitlines()
    assert "allowed=false\t" in denied
    assert "\tperm=null\t" in denied
    assert "allowed=true\t" in done
    assert "\tperm=ann:staff:rwxr-xr-x\t" in done


def test_answer_false_is_no_success() -> None:
    output = Kept()
    log = audit(output)
    log.start()
    nothing = pb.DeleteResponseProto(result=False)
    log.answered("delete", pb.DeleteRequestProto(src="/d", recursive=False), CALLER, nothing)
    still = pb.SetReplicationResponseProto(result=False)
    log.answered("setReplication", pb.SetReplicationRequestProto(src="/r"), CALLER, still)
    log.close()
    assert output.paths == ["/d"]
    assert "allowed=false" in output.data.decode()


def test_lines_have_the_local_time_to_the_millisecond() -> None:
    output = Kept()
    now_ms = 1_795_405_235_007
    log = AuditLog("P", LineFormat(), output, lambda: now_ms, lambda path: None)
    log.start()
    mkdirs(log, "/a")
    log.close()
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now_ms // 1000))
    assert output.data.decode().startswith(f"{local},007 INFO FSNamesystem.audit: allowed=true")


def test_only_calls_of_its_protocol_are_watched() -> None:
    log = audit(Kept())
    assert log.watches("P", "mkdirs")
    assert not log.watches("P", "addBlock")
    assert not log.watches("Q", "mkdirs")


def test_disk_that_hangs_stops_nobody_and_what_is_left_out_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    output = Kept()
    output.gate.clear()
    log = audit(output, most=2)
    log.start()
    mkdirs(log, "/0")
    wait_until(lambda: log._queue.empty(), 10)  # the thread has it, and waits
    for number in range(1, 6):
        mkdirs(log, f"/{number}")
    output.gate.set()
    wait_until(lambda: output.paths == ["/0", "/1", "/2"], 10)
    mkdirs(log, "/6")
    log.close()
    assert output.paths == ["/0", "/1", "/2", "/6"]
    told = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert told[-1] == "3 calls were left out of the audit log"


def has_failed(output: Kept, left: int) -> bool:
    return output.failures == left


def test_disk_that_fails_costs_the_lines_of_that_moment_which_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    output = Kept()
    output.failures = 2
    log = audit(output)
    log.start()
    for left in (1, 0):
        mkdirs(log, "/lost")
        wait_until(functools.partial(has_failed, output, left), 10)
    mkdirs(log, "/kept")
    log.close()
    assert output.paths == ["/kept"]
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 2
    assert "No space left" in told[0]
    assert told[1] == "the audit log is written again; 2 lines are lost"


def test_lines_that_are_lost_at_the_end_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    output = Kept()
    output.failures = 1
    log = audit(output)
    log.start()
    mkdirs(log, "/lost")
    log.close()
    assert output.paths == []
    assert caplog.records[-1].message == "1 lines of the audit log are lost"


def test_file_that_has_its_size_gets_a_number(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = RotatedFile(path, max_bytes=10, backups=2)
    for number in range(5):
        file.write(b"line %d\n" % number)
    file.close()
    contents = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert contents == {
        "audit.log": b"line 4\n",
        "audit.log.1": b"line 3\n",
        "audit.log.2": b"line 2\n",
    }


def test_without_backups_a_full_file_begins_anew(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "audit.log", max_bytes=10, backups=0)
    for number in range(3):
        file.write(b"line %d\n" % number)
    file.close()
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"line 2\n"]


def test_lines_go_on_behind_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b"old\n")
    file = RotatedFile(path, max_bytes=100, backups=1)
    file.write(b"new\n")
    file.close()
    assert path.read_bytes() == b"old\nnew\n"


@pytest.mark.parametrize("moved", [True, False])
def test_file_that_somebody_took_away_is_made_anew(tmp_path: Path, moved: bool) -> None:
    path, aside = tmp_path / "audit.log", tmp_path / "audit.old"
    file = RotatedFile(path, max_bytes=100, backups=1)
    file.write(b"1\n")
    if moved:
        path.rename(aside)
    else:
        path.unlink()
    file.write(b"2\n")
    file.close()
    assert path.read_bytes() == b"2\n"
    assert not moved or aside.read_bytes() == b"1\n"


def test_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"nowhere/a\.log cannot be written"):
        RotatedFile(tmp_path / "nowhere" / "a.log", 100, 1)


def test_a_line_that_meets_a_defect_is_lost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Kept()
    log = audit(output)
    real = LineFormat.line

    def line(form: LineFormat, record: Record, stamp: str) -> str | None:
        if getattr(record.request, "src", "") == "/bad":
            raise RuntimeError("a defect of this test")
        return real(form, record, stamp)

    monkeypatch.setattr(LineFormat, "line", line)
    log.start()
    for path in ("/a", "/bad", "/b"):
        mkdirs(log, path)
    log.close()
    assert output.paths == ["/a", "/b"]
