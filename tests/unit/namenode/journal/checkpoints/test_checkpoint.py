"""What the child of a checkpoint does, and when images are wanted, without a fork."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from howdah import errors
from howdah.namenode.journal.checkpoints import checkpoint
from howdah.namenode.journal.checkpoints.checkpoint import Checkpoints, CheckpointSettings
from howdah.namenode.journal.directories import Directories
from howdah.namenode.state.tree.namespace import Namespace
from howdah.storage.image_files import (
    WrittenImage,
    finish_image,
    save_image,
    write_unfinished,
)
from howdah.storage.retention import Retention
from howdah.testing.waiting import wait_until


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    save_image([tmp_path], 10, lambda sink: sink.write(b"older"))
    return tmp_path


@pytest.fixture
def checkpoints(directory: Path) -> Checkpoints:
    def never(*_: Callable[[], None]) -> NoReturn:
        raise AssertionError("nothing is forked here")

    return Checkpoints(
        Namespace(),
        7,
        Directories([directory]),
        CheckpointSettings(100, 3600.0, 60.0, "", Retention(), timeout_s=60.0),
        image_txid=10,
        last_txid=lambda: 20,
        roll=never,
        when_durable=never,
    )


def image_task(checkpoints: Checkpoints, namenode: int, pipe: int = -1) -> checkpoint.ImageTask:
    images = checkpoints.directories.images()
    return checkpoint.ImageTask(checkpoints._source(20), images, namenode, pipe)


def test_child_says_what_it_wrote(checkpoints: Checkpoints, directory: Path) -> None:
    told = checkpoint._written_by_child(image_task(checkpoints, os.getppid()))
    (image,) = directory.glob("fsimage.ckpt_*")
    assert told["size_bytes"] == image.stat().st_size
    assert told["directories"] == [str(directory)]
    assert not told["failed"]


@pytest.mark.req("LM-009")
def test_child_gives_up_when_its_namenode_is_gone(
    checkpoints: Checkpoints, directory: Path
) -> None:
    with pytest.raises(checkpoint._Orphaned):
        checkpoint._written_by_child(image_task(checkpoints, os.getppid() + 1))
    assert not list(directory.glob("fsimage.ckpt_*"))


def test_one_image_is_taken_at_a_time_and_none_that_is_older(checkpoints: Checkpoints) -> None:
    assert "an image of transaction 10 already" in str(checkpoints.accept(10))
    assert checkpoints.accept(15) is None
    assert "another image" in str(checkpoints.accept(16))
    checkpoints.image_stored(None)
    assert checkpoints.image_txid == 10
    assert checkpoints.accept(15) is None
    checkpoints.image_stored(15)
    assert checkpoints.image_txid == 15
    assert not checkpoints.busy


def test_image_that_was_taken_is_a_recent_one(checkpoints: Checkpoints) -> None:
    assert not checkpoints.is_recent(3_600_000, gap=5)
    checkpoints.accept(18)
    checkpoints.image_stored(18)
    assert checkpoints.is_recent(3_600_000, gap=5)


def test_taken_image_removes_what_it_makes_superfluous(
    checkpoints: Checkpoints, directory: Path
) -> None:
    for txid in (15, 18):
        checkpoints.accept(txid)
        checkpoints.finish(write_unfinished([directory], txid, lambda sink: sink.write(b"x")))
        checkpoints.image_stored(txid)
    assert sorted(path.name for path in directory.glob("fsimage_*") if not path.suffix) == [
        f"fsimage_{txid:019d}" for txid in (15, 18)
    ]


@pytest.mark.req("FS-030")
def test_a_directory_that_is_lost_makes_no_checkpoint_fail(
    checkpoints: Checkpoints, directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Else the next check would make the same image again, and none would ever be purged."""
    lost = tmp_path_factory.mktemp("lost")
    written = write_unfinished([directory, lost], 20, lambda sink: sink.write(b"x"))
    checkpoints.directories = Directories([directory, lost])
    shutil.rmtree(lost)
    checkpoints.finish(written)
    assert (directory / f"fsimage_{20:019d}").exists()


@pytest.mark.req("FS-058")
def test_an_image_is_sent_from_a_directory_that_has_it(
    checkpoints: Checkpoints, directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The first one may fail as the image gets its name. Else no other namenode would get it."""
    failing = tmp_path_factory.mktemp("failing")
    written = write_unfinished([failing, directory], 20, lambda sink: sink.write(b"x"))
    shutil.rmtree(failing)
    made: list[WrittenImage] = []
    checkpoints._made = made.append
    running = checkpoint._Running(20, 4711, 0, [], [failing, directory], False)
    running.status = 0
    running.told = json.dumps(
        {
            "md5": written.md5,
            "size_bytes": written.size_bytes,
            "directories": [str(path) for path in written.directories],
            "failed": [],
        }
    ).encode()
    assert ended(checkpoints, running) == [None]
    (image,) = made
    assert (image.directories[0] / image.name).read_bytes() == b"x"


def ended(checkpoints: Checkpoints, running: checkpoint._Running) -> list[str | None]:
    """What is told when the child's end is dealt with."""
    told: list[str | None] = []

    async def end() -> None:
        done = asyncio.Event()

        def tell(error: errors.HowdahError | None) -> None:
            told.append(None if error is None else error.message)
            done.set()

        running.waiting.append(tell)
        checkpoints._running = running
        running.durable = True
        checkpoints._go_on(running)
        await asyncio.wait_for(done.wait(), 20)

    asyncio.run(end())
    return told


@pytest.mark.parametrize("said", [b'{"md5": "12', b"[]", b'{"md5": 1}'])
def test_a_child_that_broke_off_what_it_said_is_no_checkpoint(
    checkpoints: Checkpoints, said: bytes
) -> None:
    running = checkpoint._Running(20, 4711, 0, [], checkpoints.directories.images(), False)
    running.status, running.told = 0, said
    (why,) = ended(checkpoints, running)
    assert "process 4711" in str(why)
    assert not checkpoints.busy
    assert checkpoints.image_txid == 10


def test_a_defect_in_finishing_an_image_keeps_no_checkpoint_from_being_made(
    checkpoints: Checkpoints, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise AssertionError("nobody foresaw this")

    monkeypatch.setattr(checkpoints, "finish", fail)
    running = checkpoint._Running(20, 4711, 0, [], checkpoints.directories.images(), False)
    running.status = 0
    written = checkpoint._written_by_child(image_task(checkpoints, os.getppid()))
    running.told = json.dumps(written).encode()
    (why,) = ended(checkpoints, running)
    assert "nobody foresaw this" in str(why)
    assert not checkpoints.busy


@pytest.mark.parametrize("status", [0, 1], ids=["it wrote an image", "it failed"])
def test_whoever_waits_for_an_image_hears_that_there_is_no_thread_to_end_it(
    checkpoints: Checkpoints, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = checkpoint._Running(20, 4711, 0, [], checkpoints.directories.images(), False)
    running.status = status
    written = checkpoint._written_by_child(image_task(checkpoints, os.getppid()))
    running.told = json.dumps(written).encode()

    def no_thread(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(ThreadPoolExecutor, "submit", no_thread)
        (why,) = ended(checkpoints, running)
    assert ("no thread for the end of an image" if status == 0 else "process 4711") in str(why)
    assert not checkpoints.busy


def test_image_without_a_directory_is_an_error(checkpoints: Checkpoints, tmp_path: Path) -> None:
    written = write_unfinished([tmp_path], 30, lambda sink: sink.write(b"x"))
    (tmp_path / "fsimage.ckpt_0000000000000000030").unlink()
    with pytest.raises(OSError, match="fsimage"):
        finish_image(written)
    assert not list(tmp_path.glob("*30*"))


def test_a_child_that_cannot_be_killed_keeps_nobody_waiting(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    told: list[errors.HowdahError | None] = []
    running = checkpoint._Running(20, 4711, 0, [told.append], [], False)
    checkpoints._running = running
    running.began_s -= 59
    checkpoints.tick()
    assert not killed
    running.began_s -= 1
    for _ in range(2):
        checkpoints.tick()
    assert killed == [4711]
    checkpoints.save(told.append)
    assert [str(error).split(": ")[1] for error in told] == [
        "process 4711 took longer than 60 s",
        "process 4711 hangs and cannot be killed",
    ]


def test_an_image_is_asked_for_while_what_a_killed_child_wrote_is_removed(
    checkpoints: Checkpoints,
) -> None:
    """The child is gone, and nothing of it keeps the next one from its turn."""
    told: list[errors.HowdahError | None] = []
    running = checkpoint._Running(20, 4711, 0, [], [], False)
    running.killed, running.status = True, -9
    checkpoints._running = running
    checkpoints.save(told.append)
    assert not told
    assert checkpoints._waiting == [told.append]


@pytest.mark.parametrize(
    "raised", [errors.ServiceFailed("the log is lost"), OSError("the log is lost")]
)
def test_all_who_wait_for_an_image_are_told_that_the_log_takes_no_new_segment(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    def fails() -> int:
        raise raised

    monkeypatch.setattr(checkpoints, "_roll", fails)
    told: list[errors.HowdahError | None] = []
    assert checkpoints.accept(15) is None
    checkpoints.save(told.append)
    checkpoints.save(told.append)
    checkpoints.image_stored(None)
    assert len(told) == 2
    assert all("the log is lost" in str(error) for error in told)
    assert not checkpoints.busy


def test_a_child_that_outlives_its_end_does_not_hold_up_a_stop(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (0, 0))
    monkeypatch.setattr(checkpoint, "_REAPING_S", 0.0)

    async def stop() -> None:
        reading, writing = os.pipe()
        asyncio.get_running_loop().add_reader(reading, lambda: None)
        checkpoints._running = checkpoint._Running(20, 4711, reading, [], [], False)
        checkpoints.stop()
        os.close(writing)

    asyncio.run(stop())
    assert "process 4711 hangs" in caplog.text


@pytest.mark.parametrize("lacking", ["fork", "pipe"])
def test_save_is_refused_where_a_process_cannot_be_made(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    made: list[int] = []
    real_pipe = os.pipe

    def pipe() -> tuple[int, int]:
        made.extend(real_pipe())
        return made[0], made[1]

    def fails() -> int:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(os, "pipe", pipe)
    monkeypatch.setattr(os, lacking, fails)
    monkeypatch.setattr(checkpoints, "_roll", lambda: 21)
    told: list[errors.HowdahError | None] = []
    checkpoints.save(told.append)
    assert f"{lacking}: [Errno 12]" in str(told[0])
    assert not checkpoints.busy
    for descriptor in made:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_child_gives_up_when_its_namenode_was_gone_before_it_could_look(
    checkpoints: Checkpoints, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take whoever has adopted it for its namenode, and write beside another one."""
    namenode = os.getpid()
    reading, writing = os.pipe()
    monkeypatch.setattr(os, "getppid", lambda: 1)
    monkeypatch.setattr(signal, "signal", lambda number, act: None)
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda number: -1)
    monkeypatch.setattr(gc, "disable", lambda: None)
    try:
        assert checkpoint.make_image(image_task(checkpoints, namenode, writing)) == 1
        told = json.loads(os.read(reading, 1 << 16))
    finally:
        os.close(reading)
        os.close(writing)
    assert "_Orphaned" in told["error"]


def stopped_with(checkpoints: Checkpoints, *, durable: bool, until: Callable[[], bool]) -> None:
    """The role ends when a child has written its image."""

    async def stop() -> None:
        running = checkpoint._Running(20, 4711, -1, [], checkpoints.directories.images(), False)
        running.status, running.durable = 0, durable
        checkpoints._running = running
        checkpoints.stop()

    asyncio.run(stop())
    wait_until(until)


def test_an_image_that_is_given_up_with_the_role_takes_no_room(
    checkpoints: Checkpoints, directory: Path
) -> None:
    """A namenode may change its role many times before it starts again."""
    write_unfinished([directory], 20, lambda sink: sink.write(b"x"))
    stopped_with(checkpoints, durable=False, until=lambda: not list(directory.glob("*ckpt*")))


def test_an_image_that_gets_its_name_when_the_role_ends_is_left_alone(
    checkpoints: Checkpoints, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    discarded: list[int] = []
    monkeypatch.setattr(checkpoint, "discard_unfinished", lambda *given: discarded.append(0))
    write_unfinished([directory], 20, lambda sink: sink.write(b"x"))
    stopped_with(checkpoints, durable=True, until=lambda: not checkpoints.busy)
    assert not discarded


def test_a_role_ends_also_where_there_is_no_thread_to_remove_its_image(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fails)
    stopped_with(checkpoints, durable=False, until=lambda: not checkpoints.busy)
    assert "transaction 20 stays until the next start: can't start" in caplog.text
