"""`/stacks`: where every thread and every task of this process is (shell). Plain text, as
Hadoop's; what a thread waits for is its last line."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Final

PATH: Final = "/stacks"
_TASKS: Final = 500
_FRAMES: Final = 60


def dump(loop: asyncio.AbstractEventLoop | None = None) -> str:
    """As of now. `loop`: whose tasks are shown."""
    return "\n".join([*_threads(), *([] if loop is None else _tasks(loop))]) + "\n"


def _threads() -> Iterator[str]:
    names = {thread.ident: thread for thread in threading.enumerate()}
    frames = sys._current_frames()
    yield f"Process Thread Dump: {len(frames)} active threads"
    for number, frame in sorted(frames.items()):
        thread = names.get(number)
        kind = "" if thread is None or not thread.daemon else " daemon"
        yield f"\nThread {number} ({'?' if thread is None else thread.name}){kind}:"
        yield "".join(traceback.format_stack(frame, _FRAMES)).rstrip()


def _tasks(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    yield f"\nTasks of the event loop: {len(tasks)}"
    for task in tasks[:_TASKS]:
        yield f"\nTask {task.get_name()}: {getattr(task.get_coro(), '__qualname__', '?')}"
        for frame in task.get_stack(limit=_FRAMES):
            yield f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}, in ' + (
                frame.f_code.co_name
            )
    if len(tasks) > _TASKS:
        yield f"\n… and {len(tasks) - _TASKS} more"
