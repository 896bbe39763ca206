"""What a simulated process holds: descriptors, threads, and objects in its memory.

Objects are counted by their types: all that can be reached from the modules and the threads of a
process, as a collector of garbage would find them. What is of the world, and not of the process, is
not looked into, nor is what has a limit of its own: caches, and buckets of quantiles.
"""

from __future__ import annotations

import functools
import gc
import inspect
import types
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from howdah.testing.world.processes import Process

_ATOMS: Final = frozenset(
    {bool, bytes, bytearray, complex, float, int, str, type(None), types.CodeType, range, slice}
)
_BOUNDED: Final = "howdah.runtime.metrics.quantiles.Quantiles"
_CONTAINERS: Final = (dict, list, set)
_WORLD: Final = "howdah.testing.world"


@dataclass(frozen=True, slots=True)
class Held:
    """Says what one process holds."""

    descriptors: int
    threads: int
    objects: Counter[str]
    """By type; `items of …` are those of all lists, sets or dicts together."""

    def growth(self, before: Held) -> dict[str, int]:
        """Return what has become more, by name."""
        grown = {
            "descriptors": self.descriptors - before.descriptors,
            "threads": self.threads - before.threads,
        }
        for name, count in self.objects.items():
            grown[name] = count - before.objects[name]
        return {name: count for name, count in grown.items() if count > 0}


def held(process: Process, *, counts_objects: bool = True) -> Held:
    """Look at a process. It must not run meanwhile."""
    threads = [task for task in process.tasks if task.state != "done"]
    return Held(
        len(process.descriptors),
        len(threads),
        _count(process) if counts_objects else Counter(),
    )


def _count(process: Process) -> Counter[str]:
    modules: Any = process.modules
    private = list(modules._private.values())
    prefix: str = modules._prefix
    counts: Counter[str] = Counter()
    todo: list[Any] = [vars(module) for module in private]
    for task in process.tasks:
        frame = task.glet.gr_frame if task.state != "done" else None
        while frame is not None:
            is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
            if is_function and _WORLD.replace(".", "/") not in frame.f_code.co_filename:
                copies = frame.f_locals
                todo += copies.values()
                copies.clear()  # They would live as long as the frame.
            frame = frame.f_back
    # Of all processes, and not of this one alone.
    kept = [modules.builtins, *modules.simulated.values(), process]
    seen = {id(each) for each in kept} | {id(module) for module in private}
    while todo:
        each = todo.pop()
        kind = type(each)
        if kind in _ATOMS or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, types.ModuleType | types.FrameType):
            continue
        if isinstance(each, types.FunctionType):
            if not each.__module__ or each.__module__.startswith(prefix):
                todo += [each.__closure__, each.__defaults__, each.__kwdefaults__]
            continue
        if isinstance(each, type):
            if str(each.__module__).startswith(prefix):
                todo += vars(each).values()
            continue
        if isinstance(each, functools._lru_cache_wrapper) and each.cache_parameters()["maxsize"]:
            continue  # It holds so many answers at most.
        module = str(kind.__module__)
        if module.startswith(_WORLD) or module == "greenlet" or kind.__name__ == "greenlet":
            counts[kind.__qualname__] += 1
            continue
        name = f"{module.removeprefix(prefix)}.{kind.__qualname__}"
        counts[name] += 1
        if name.endswith(_BOUNDED):  # Perhaps of another process, which has a prefix.
            continue
        if isinstance(each, _CONTAINERS):
            counts[f"items of {name}"] += len(each)
        todo += gc.get_referents(each)
    return counts
