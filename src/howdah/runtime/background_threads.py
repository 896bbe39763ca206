"""Work that waits for others, on threads that the end of the process does not wait for (shell).

A namenode that is told to stop has to stop, also while it waits for a peer that is frozen or a
journal node that is cut off. The threads of executors are waited for when the process ends;
these are not, and what they do then ends in the middle. So only what asks others belongs here,
and nothing that changes the files of this machine in several steps.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from howdah.runtime import unexpected_errors

log = logging.getLogger(__name__)

T = TypeVar("T")


class NoThread(OSError):
    """The system gives this process no thread more: nothing of the work was done."""

    def __init__(self, name: str, error: RuntimeError) -> None:
        super().__init__(errno.EAGAIN, f"there is no thread for {name}: {error}")


def begin(work: Callable[[], T], name: str) -> Future[T]:
    """Do it on a thread of its own, which is named `name`. Where there is no thread to be had the
    future has a NoThread."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    try:
        threading.Thread(target=_settle, args=(future, work), name=name, daemon=True).start()
    except RuntimeError as error:
        future.set_exception(NoThread(name, error))
    return future


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    """Do the work and give its result, or whatever it raises, to those who wait."""
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - whoever waits is told
        future.set_exception(error)
    else:
        future.set_result(result)


def pooled(work: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Do it on a thread of the running loop's executor, for which the end of the process waits.
    Where there is none to be had the future has a NoThread."""
    loop = asyncio.get_running_loop()
    future: Future[T] = Future()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            _settle(future, work)

    try:
        loop.run_in_executor(None, run)
    except RuntimeError as error:
        # The executor has put it into its queue all the same, and another thread may have it.
        if future.cancel():
            failed: asyncio.Future[T] = loop.create_future()
            failed.set_exception(NoThread(name, error))
            return failed
    return asyncio.wrap_future(future, loop=loop)


async def surely(work: Callable[[], T], name: str) -> T:
    """Do the same for work that has to be done: the loop itself does it where there is no
    thread."""
    try:
        return await pooled(work, name)
    except NoThread as error:
        log.warning("%s; the loop does it, and everybody waits", error.strerror)
        return work()


def beside(work: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Do the same beside the running loop, which hears of it unless it has ended by then."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[T] = loop.create_future()

    def notify(done: Future[T]) -> None:
        if heard.cancelled():
            return
        error = done.exception()
        if error is None:
            heard.set_result(done.result())
        else:
            heard.set_exception(error)

    post = poster(loop)
    begin(work, name).add_done_callback(lambda done: post(lambda: notify(done)))
    return heard


def poster(loop: asyncio.AbstractEventLoop) -> Callable[[Callable[[], None]], None]:
    """What calls back on a loop, from any thread, and does nothing when the loop has ended."""

    def post(act: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(act)
        except RuntimeError:
            if not loop.is_closed():
                raise
            log.debug("the loop has ended, and nobody hears of %s", act)

    return post


def watcher(
    loop: asyncio.AbstractEventLoop,
) -> Callable[[int, Callable[[], None]], Callable[[], None]]:
    """What calls back on a loop whenever a descriptor can be read. It is called on the loop, and
    so is what it returns, which ends that."""

    def watch(descriptor: int, act: Callable[[], None]) -> Callable[[], None]:
        loop.add_reader(descriptor, act)

        def end() -> None:
            if not loop.is_closed():
                loop.remove_reader(descriptor)

        return end

    return watch


def note_defect(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A callback of the loop failed (`howdah.runtime.unexpected_errors`, rule 5)."""
    error = context.get("exception")
    if isinstance(error, Exception):
        unexpected_errors.note(str(context.get("message", "a callback")), error, "the loop goes on")
    else:
        loop.default_exception_handler(context)
