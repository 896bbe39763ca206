"""Checkpoints by fork: the namenode goes on while a frozen copy writes the image (D6).

1. the log is rolled: what was committed so far ends with transaction N
2. the process forks; the child's memory is the namespace after N, and stays so
3. the child writes `fsimage.ckpt_N` to every name directory, says how it went
   through a pipe, and ends
4. when the log is durable up to N, a thread gives the image its sum and its name,
   and removes what no start needs any more

An image may come from a secondary namenode as well (`accept`). One at a time is made
or taken, and none that is older than what is there.

The first image after a rolling upgrade began is the one to go back to, `fsimage_rollback_N`.
Going back discards whole segments of the log, so it is made where a segment ends: an active
begins a new one for it, a standby makes it when it has followed a segment to its end. When
the upgrade is finalized, and that is durable, it becomes an ordinary image.

The loop stands still for 1 and 2 only, of which the fork is nearly all. The child
has none of the parent's descriptors, writes no log, and leaves by `os._exit`. It
gives up when its parent is gone. A child that fails is logged, and the next check
tries again; one that takes too long, as on a mount that has died, is killed. Even
then it may live until the mount is back: nobody waits for it, and no second child
joins it there. A crash anywhere leaves the images that were there.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.image.sections import Sink
from howdah.namenode.journal.directories import Directories
from howdah.namenode.state.images.image import write_image
from howdah.namenode.state.tree.namespace import Namespace
from howdah.runtime import background_threads, unexpected_errors
from howdah.runtime.forked_child import fork_child
from howdah.storage.image_files import (
    WrittenImage,
    discard_unfinished,
    end_rollback_images,
    finish_image,
    list_images,
    list_readable_images,
    write_unfinished,
)
from howdah.storage.retention import Retention, log_kept_from, purge

log = logging.getLogger(__name__)

Done = Callable[[errors.HowdahError | None], None]

_MAX_TOLD_BYTES: Final = 1 << 20
_NOT_ACTIVE: Final = "this namenode is not active, and makes and takes no images"
_REAPING_S: Final = 5.0
"""So long a child that was killed is waited for when the namenode stops."""


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """When a checkpoint is due, and how images are written and kept."""

    transactions: int
    period_s: float
    check_period_s: float
    codec: str
    retention: Retention
    timeout_s: float = 0.0
    """How long a child may take; 0: for ever."""


class Checkpoints:
    """Makes the images of one running namenode. Everything but `finish` is the loop's."""

    def __init__(
        self,
        namespace: Namespace,
        namespace_id: int,
        directories: Directories,
        settings: CheckpointSettings,
        *,
        image_txid: int | None,
        last_txid: Callable[[], int],
        roll: Callable[[], int],
        when_durable: Callable[[Callable[[], None]], None],
        made: Callable[[WrittenImage], object] = lambda written: None,
        purge_shared: Callable[[int, Retention], None] = lambda kept_txid, retention: None,
        at_segment_end: Callable[[], bool] = lambda: True,
    ) -> None:
        """`roll` begins a new segment and returns its first transaction; `when_durable`
        calls back when all that was committed so far is durable; `made` is told of each image
        that was made here; `purge_shared` is told on a thread, when the oldest image that stays
        is of this transaction, that a shared log may lose what nobody needs any more;
        `at_segment_end` says whether a segment ends where `roll` would say."""
        self._namespace = namespace
        self._namespace_id = namespace_id
        self.directories = directories
        self._settings = settings
        self._last_txid = last_txid
        self._roll = roll
        self._when_durable = when_durable
        self._made = made
        self._purge_shared = purge_shared
        self._at_segment_end = at_segment_end
        self._has_rollback_image = any(
            image.rollback for image in list_readable_images(directories.images())
        )
        self._when_begun: list[Callable[[], None]] = []
        namespace.rolling_upgrade.follow(self._rolling_upgrade_changed)
        self._image_txid = image_txid or 0
        self._image_s = self._newest_image_s()
        self._next_check_s = time.monotonic() + settings.check_period_s
        self._running: _Running | None = None
        self._taking = False
        self._stopped = False
        self._waiting: list[Done] = []
        self.last_pause_s = 0.0
        """How long the loop stood still for the last one."""

    @property
    def image_txid(self) -> int:
        """The transaction of the newest image."""
        return self._image_txid

    @property
    def busy(self) -> bool:
        """Whether an image is being made or taken."""
        return self._running is not None or self._taking

    @property
    def has_rollback_image(self) -> bool:
        """Whether there is an image to go back to from a rolling upgrade."""
        return self._has_rollback_image

    @property
    def _lacks_rollback_image(self) -> bool:
        return self._namespace.rolling_upgrade.is_under_way and not self._has_rollback_image

    @property
    def image_age_s(self) -> float | None:
        """How long ago the newest image was written; None where there is none."""
        age_s = time.monotonic() - self._image_s
        return None if age_s == float("inf") else age_s

    def _newest_image_s(self) -> float:
        """When the newest image was written, on the monotonic clock."""
        images = list_images(self.directories.images())
        if not images:
            return -float("inf")
        return time.monotonic() - max(0.0, time.time() - images[0].path.stat().st_mtime)

    # What the namenode asks for.

    def tick(self) -> None:
        """Begin a checkpoint if one is due, and end one that takes too long."""
        now_s = time.monotonic()
        if self._running is not None:
            self._watch(self._running, now_s)
        if now_s < self._next_check_s or self.busy or self._namespace.failed_edit is not None:
            return
        if self._lacks_rollback_image and not self._at_segment_end():
            return  # The next image is to be that one.
        self._next_check_s = now_s + self._settings.check_period_s
        if self._lacks_rollback_image:
            self._start()
            return
        uncovered = self._last_txid() - self._image_txid
        # The record that begins a segment changes nothing.
        if uncovered >= self._settings.transactions or (
            uncovered > 1 and now_s - self._image_s >= self._settings.period_s
        ):
            self._start()

    def _watch(self, running: _Running, now_s: float) -> None:
        limit_s = self._settings.timeout_s
        if not limit_s or running.killed or running.status is not None:
            return
        if now_s >= running.began_s + limit_s:
            running.killed = True
            os.kill(running.pid, signal.SIGKILL)
            log.error("checkpoint process %d is killed after %g s", running.pid, limit_s)
            waiting, running.waiting = running.waiting, []
            self._notify(waiting, f"process {running.pid} took longer than {limit_s:g} s")

    def is_recent(self, window_ms: int, gap: int) -> bool:
        """True if the newest image is at most so old, and lacks at most so many edits."""
        age_ms = (time.monotonic() - self._image_s) * 1000
        return age_ms <= window_ms and self._image_txid >= self._last_txid() - gap

    def save(self, done: Done, *, rollback_begun: Callable[[], None] | None = None) -> None:
        """Make an image of what is committed by now, and then call `done`. With
        `rollback_begun` it is one to go back to, and that is called when the namespace is
        frozen, before anybody else has a turn."""
        running = self._running
        if running is not None and running.killed and running.status is None:
            self._notify([done], f"process {running.pid} hangs and cannot be killed")
            return
        if self._namespace.failed_edit is not None:
            self._notify([done], "an edit failed halfway; the namenode ends, to be started anew")
            return
        if self._stopped:
            self._notify([done], _NOT_ACTIVE)
            return
        self._waiting.append(done)
        if rollback_begun is not None:
            self._when_begun.append(rollback_begun)
        if not self.busy:
            self._start()

    def make_rollback_image(self) -> bool:
        """Begin it, if a rolling upgrade has none and this is the place: at a segment's end, or
        where one can be ended. Whether it was begun now; if another image is being made, the
        next one is it."""
        if not self._lacks_rollback_image or self._stopped or self.busy:
            return False
        self._start()
        return True

    def _rolling_upgrade_changed(self) -> None:
        """One was begun or finalized. What its rollback image is, is changed when that is
        durable, on a thread: it waits for disks."""
        if self._namespace.rolling_upgrade.is_under_way:
            if not self.busy:
                self._next_check_s = time.monotonic()  # The image is made at the next turn.
            return
        self._has_rollback_image = False
        last_txid = self._last_txid() + 1  # The edit is being applied.

        def end() -> None:
            images = self.directories.images()
            ending = background_threads.pooled(
                lambda: end_rollback_images(images, last_txid), "the end of rollback images"
            )
            ending.add_done_callback(self._rollback_ended)

        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: self._when_durable(end))

    def _rollback_ended(self, done: asyncio.Future[bool]) -> None:
        error = done.exception()
        if error is not None:
            log.error(
                "the rolling upgrade is finalized, and its rollback images stay until the next "
                "start: %s",
                error,
            )

    def accept(self, txid: int, *, rollback: bool = False) -> str | None:
        """An image of `txid` is offered: why not, or None. Then `image_stored` has to follow."""
        if self._stopped:
            return _NOT_ACTIVE
        if self.busy:
            return "another image is being made or uploaded"
        if rollback and not self._lacks_rollback_image:
            return "no image to go back to from a rolling upgrade is wanted"
        if txid <= self._image_txid:
            return f"there is an image of transaction {self._image_txid} already"
        self._taking = True
        return None

    def image_stored(self, txid: int | None, *, rollback: bool = False) -> None:
        """What was accepted is there now, under its name; or it is not, with None."""
        self._taking = False
        if txid is not None:
            self._has_image(txid, rollback)
        if self._waiting and not self._stopped:
            self._start()

    def _has_image(self, txid: int, rollback: bool) -> None:
        self._has_rollback_image |= rollback
        self._image_txid = txid
        self._image_s = time.monotonic()

    def start(self) -> None:
        """Make and take images, also after a `stop`."""
        self._stopped = False

    def stop(self) -> None:
        """End a child that still writes, and tell those who wait that nothing comes of it. What
        it wrote is removed, by a thread for which nobody waits: else at the next start."""
        self._stopped = True
        self._when_begun.clear()
        running, self._running = self._running, None
        waiting, self._waiting = self._waiting, []
        if running is not None:
            waiting, running.waiting = running.waiting + waiting, []
        if waiting:
            self._notify(waiting, "the namenode stops making images")
        if running is not None and running.status is None:
            asyncio.get_running_loop().remove_reader(running.pipe)
            os.close(running.pipe)
            os.kill(running.pid, signal.SIGKILL)
            deadline_s = time.monotonic() + _REAPING_S
            while os.waitpid(running.pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline_s:
                    log.error("checkpoint process %d hangs; it is left behind", running.pid)
                    return
                time.sleep(0.01)
        # One that ended and is durable is getting its name.
        if running is not None and (running.status is None or not running.durable):
            _discard_beside(running)

    # One checkpoint.

    def _start(self) -> None:
        began_s = time.perf_counter()
        waiting, self._waiting = self._waiting, []
        begun, self._when_begun = self._when_begun, []
        rollback = bool(begun) or (self._lacks_rollback_image and self._at_segment_end())
        self._next_check_s = time.monotonic() + self._settings.check_period_s
        try:
            txid = self._roll() - 1
        except Exception as error:  # noqa: BLE001 - all who wait are told
            if not isinstance(error, errors.HowdahError | OSError):
                unexpected_errors.note(
                    "beginning a segment for an image", error, "no image is made"
                )
            self._notify(waiting, f"the log takes no new segment: {error}")
            return
        directories = self.directories.images()
        try:
            reading, writing = os.pipe()
        except OSError as error:
            self._notify(waiting, f"cannot make a pipe: {error}")
            return
        try:
            # What is there now is there to stay, but for little: the collector does not
            # visit it any more, and so its pages stay shared.
            gc.collect(1)
            gc.freeze()
            # The parent's sockets and files: a connection that the parent closes has to
            # be closed, and its port free again when it dies.
            pid = fork_child(
                make_image,
                ImageTask(self._source(txid), directories, os.getpid(), writing),
                keeps=[writing],
            )
        except OSError as error:
            os.close(reading)
            os.close(writing)
            self._notify(waiting, f"cannot fork: {error}")
            return
        os.close(writing)
        os.set_blocking(reading, False)
        self.last_pause_s = time.perf_counter() - began_s
        log.info(
            "checkpoint%s at transaction %d by process %d, after a pause of %.1f ms",
            " to go back to from the rolling upgrade" if rollback else "",
            txid,
            pid,
            self.last_pause_s * 1000,
        )
        running = self._running = _Running(txid, pid, reading, waiting, directories, rollback)
        self._when_durable(lambda: self._became_durable(running))
        asyncio.get_running_loop().add_reader(reading, self._read_child, running)
        for begin in begun:
            begin()

    def _source(self, txid: int) -> ImageSource:
        return ImageSource(self._namespace, self._namespace_id, txid, self._settings.codec)

    def _read_child(self, running: _Running) -> None:
        """The child said something, or its end of the pipe is closed."""
        try:
            data = os.read(running.pipe, _MAX_TOLD_BYTES)
        except BlockingIOError:
            return
        if data:
            running.told += data
            return
        asyncio.get_running_loop().remove_reader(running.pipe)
        os.close(running.pipe)
        _, status = os.waitpid(running.pid, 0)
        running.status = os.waitstatus_to_exitcode(status)
        self._go_on(running)

    def _became_durable(self, running: _Running) -> None:
        running.durable = True
        self._go_on(running)

    def _go_on(self, running: _Running) -> None:
        if running is not self._running or running.status is None or not running.durable:
            return
        written = running.written()
        if isinstance(written, str):
            # One that was killed could not clean up.
            discarded = background_threads.pooled(
                lambda: discard_unfinished(running.directories, running.txid),
                "what is left of an image",
            )
            told_why = None if running.killed else written  # Who waited knows already.
            discarded.add_done_callback(lambda done: self._discarded(running, told_why, done))
            return
        for directory, why in written.failed:
            log.error("no image in %s: %s", directory, why)
        future = background_threads.pooled(lambda: self.finish(written), "the end of an image")
        future.add_done_callback(lambda done: self._finished(running, written, done))

    def finish(self, written: WrittenImage) -> WrittenImage:
        """Give an image its name, and remove what it makes superfluous; return it with the
        directories in which it has its name. On a thread, for it waits for disks. Raises OSError
        if these are none."""
        named = replace(written, directories=tuple(finish_image(written)))
        images, retention = self.directories.images(), self._settings.retention
        purge(images, self.directories.edits(), retention)
        kept = log_kept_from(list_readable_images(images), retention)
        if kept is not None:
            self._purge_shared(kept, retention)
        return named

    def _discarded(self, running: _Running, why: str | None, done: asyncio.Future[None]) -> None:
        error = done.exception()
        if error is not None:
            log.error(
                "the image of transaction %d stays until the next start: %s", running.txid, error
            )
        self._end(running, why)

    def _finished(
        self, running: _Running, written: WrittenImage, done: asyncio.Future[WrittenImage]
    ) -> None:
        error = done.exception()
        if error is not None:
            if not isinstance(error, OSError):
                log.error("finishing an image failed on a defect", exc_info=error)
            self._end(running, f"{type(error).__name__}: {error}")
            return
        self._has_image(written.txid, written.rollback)
        log.info("the image of transaction %d has %d bytes", written.txid, written.size_bytes)
        self._made(done.result())
        self._end(running, None)

    def _end(self, running: _Running, why: str | None) -> None:
        if self._running is running:
            self._running = None
        waiting, running.waiting = running.waiting, []
        self._notify(waiting, why)
        if self._waiting and not self.busy:
            self._start()

    @staticmethod
    def _notify(waiting: list[Done], why: str | None) -> None:
        error = None
        if why is not None:
            log.error("the checkpoint failed: %s", why)
            error = errors.CheckpointFailed(f"the namespace could not be saved: {why}")
        for done in waiting:
            done(error)


class _Running:
    """A child at work."""

    __slots__ = (
        "began_s",
        "directories",
        "durable",
        "killed",
        "pid",
        "pipe",
        "rollback",
        "status",
        "told",
        "txid",
        "waiting",
    )

    def __init__(
        self,
        txid: int,
        pid: int,
        pipe: int,
        waiting: list[Done],
        directories: Sequence[Path],
        rollback: bool,
    ) -> None:
        self.rollback = rollback
        self.directories = directories
        self.txid = txid
        self.pid = pid
        self.pipe = pipe
        self.waiting = waiting
        self.told = b""
        self.status: int | None = None
        self.durable = False
        self.began_s = time.monotonic()
        self.killed = False

    def written(self) -> WrittenImage | str:
        """Return the image that the child made by its own account, or why it made nothing."""
        failed = f"process {self.pid} ended with status {self.status}"
        try:
            report = json.loads(self.told or b"{}")
            if self.status == 0 and "error" not in report:
                return WrittenImage(
                    self.txid,
                    report["md5"],
                    report["size_bytes"],
                    tuple(map(Path, report["directories"])),
                    tuple((Path(directory), why) for directory, why in report["failed"]),
                    self.rollback,
                )
            return str(report.get("error", failed))
        except (ValueError, KeyError, TypeError, AttributeError):
            # It died while it spoke.
            return f"{failed}, and said {self.told[:100]!r}"


def _discard_beside(running: _Running) -> None:
    """Remove what a child wrote, and wait for no disk."""
    given = running.directories, running.txid
    thread = threading.Thread(target=discard_unfinished, args=given, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        log.error("the image of transaction %d stays until the next start: %s", given[1], error)


class _Orphaned(Exception):
    """The namenode is gone, and another one may be at work."""


@dataclass(frozen=True, slots=True)
class ImageSource:
    """The namespace, and what else its image says."""

    namespace: Namespace
    namespace_id: int
    txid: int
    codec: str

    def write(self, sink: Sink, go_on: Callable[[], None]) -> None:
        """The namespace as it is now, as the image of `txid`."""
        write_image(
            self.namespace, self.namespace_id, self.txid, sink, codec=self.codec, go_on=go_on
        )


@dataclass(frozen=True, slots=True)
class ImageTask:
    """What the child inherits."""

    source: ImageSource
    directories: Sequence[Path]
    namenode: int
    """The id of the parent process."""
    pipe: int
    """Where the child says how it went."""


def make_image(task: ImageTask) -> int:
    """Write an image, and say so or say why there is none; return the exit status."""
    gc.disable()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    status, report = 0, dict[str, object]()
    try:
        report = _written_by_child(task)
    except BaseException as error:  # noqa: BLE001 - the namenode hears and logs it
        status, report = 1, {"error": f"{type(error).__name__}: {error}"}
    os.write(task.pipe, json.dumps(report).encode())
    return status


def _written_by_child(task: ImageTask) -> dict[str, object]:
    def go_on() -> None:
        if os.getppid() != task.namenode:
            raise _Orphaned

    written = write_unfinished(
        task.directories, task.source.txid, lambda sink: task.source.write(sink, go_on)
    )
    return {
        "md5": written.md5,
        "size_bytes": written.size_bytes,
        "directories": [str(directory) for directory in written.directories],
        "failed": [(str(directory), why) for directory, why in written.failed],
    }
