"""Forked children: `howdah.runtime.forked_child` as a simulated process sees it.

A child is a process with a module tree of its own and the same descriptors. What it inherits is
copied into its tree by pickling: locks are new, sockets and shared memory are those of the parent.
A namespace of which a child writes an image is not copied: its image is made at the moment of the
fork, which is what the child's copy of the memory would give.
"""

from __future__ import annotations

import io
import marshal
import pickle
import types
from collections.abc import Callable, Collection
from typing import Any

from howdah.testing.world.primitives import NotSimulated
from howdah.testing.world.processes import Process

SEAM = "howdah.runtime.forked_child"
_IMAGES = "howdah.namenode.journal.checkpoints.checkpoint"


class Image:
    """Writes what an `ImageSource` would write, in the same pieces."""

    def __init__(self, txid: int, pieces: list[bytes]) -> None:
        self.txid = txid
        self._pieces = pieces

    def write(self, sink: Any, go_on: Callable[[], None]) -> None:
        for piece in self._pieces:
            go_on()
            sink.write(piece)
        go_on()


class _Pieces:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: Any) -> int:
        self.written.append(bytes(data))
        return len(data)


def make(parent: Process) -> Any:
    """Make the module, for one process."""

    def fork_child(
        main: Callable[[Any], int],
        inherited: Any,
        *,
        closes: Collection[int] = (),
        keeps: Collection[int] | None = None,
    ) -> int:
        parent.fault("fork")
        child = parent.fork(_code_name(main)[0])
        state = _State(parent, child)
        pickled = state.pickle((_code_name(main), inherited))
        for number in closes:
            child.descriptors.close(number)
        if keeps is not None:
            for number in child.descriptors.numbers():
                if number not in keeps:
                    child.descriptors.close(number)

        def begin(process: Process) -> int:
            (module, name), own = state.unpickle(pickled)
            status: int = getattr(process.modules.load(module), name)(own)
            return status

        child.start(begin)
        return child.pid

    module: Any = types.ModuleType(SEAM)
    module.fork_child = fork_child
    return module


def _code_name(function: Callable[..., Any]) -> tuple[str, str]:
    if "<" in function.__qualname__:
        raise NotSimulated("to begin a child with a function that is no module's")
    return function.__module__.rpartition("~")[2], function.__qualname__


class _State:
    """Carries what goes from a parent to its child."""

    def __init__(self, parent: Process, child: Process) -> None:
        self._parent = parent
        self._child = child
        self._shared: list[Any] = []

    def pickle(self, value: Any) -> bytes:
        state, tree = self, self._parent.modules
        thread, socket = tree.simulated["_thread"], tree.find("socket")
        mapped = tree.simulated["mmap"].mmap
        sources = tree.find(_IMAGES)
        calls = {
            id(value): (name, key)
            for name, module in tree.simulated.items()
            for key, value in vars(module).items()
            if callable(value) and not isinstance(value, type)
        }

        class Pickler(pickle.Pickler):
            def persistent_id(self, value: Any) -> Any:
                if isinstance(value, thread.LockType):
                    return "lock", None
                if isinstance(value, memoryview | mapped) or type(value).__name__ == "mmap":
                    state._shared.append(value)
                    return "shared", len(state._shared) - 1
                if socket is not None and isinstance(value, socket.socket):
                    return "socket", (value.family, value.type, value.fileno(), value.gettimeout())
                if id(value) in calls:
                    return "call", calls[id(value)]
                if isinstance(value, types.ModuleType):
                    return "module", value.__name__.rpartition("~")[2]
                if sources is not None and isinstance(value, sources.ImageSource):
                    pieces = _Pieces()
                    value.write(pieces, lambda: None)
                    state._shared.append(Image(value.txid, pieces.written))
                    return "shared", len(state._shared) - 1
                return None

            def reducer_override(self, value: Any) -> Any:
                if isinstance(value, types.FunctionType) and "<" in value.__qualname__:
                    cells = [cell.cell_contents for cell in value.__closure__ or ()]
                    code = marshal.dumps(value.__code__)
                    module = value.__module__.rpartition("~")[2]
                    return _rebuild, (code, module, value.__name__, value.__defaults__, cells)
                return NotImplemented

        written = io.BytesIO()
        Pickler(written, 5).dump(value)
        return written.getvalue()

    def unpickle(self, data: bytes) -> Any:
        state, child = self, self._child

        class Unpickler(pickle.Unpickler):
            def find_class(self, name: str, attribute: str) -> Any:
                real = name.rpartition("~")[2]
                if real == __name__:
                    return state.rebuild if attribute == "_rebuild" else globals()[attribute]
                named = child.modules.import_module(real)
                for part in attribute.split("."):
                    named = getattr(named, part)
                return named

            def persistent_load(self, reference: Any) -> Any:
                kind, value = reference
                match kind:
                    case "lock":
                        return child.modules.simulated["_thread"].allocate_lock()
                    case "shared":
                        return state._shared[value]
                    case "call":
                        return getattr(child.modules.simulated[value[0]], value[1])
                    case "module":
                        return child.modules.load(value)
                family, type_, number, timeout = value
                sock = child.modules.load("socket").socket(family, type_, 0, number)
                sock.settimeout(timeout)
                return sock

        return Unpickler(io.BytesIO(data)).load()

    def rebuild(
        self, code: bytes, module: str, name: str, defaults: Any, values: list[Any]
    ) -> types.FunctionType:
        """Make a function that is no module's, in the child."""
        own = vars(self._child.modules.load(module))
        cells = tuple(types.CellType(value) for value in values)
        return types.FunctionType(marshal.loads(code), own, name, defaults, cells)


def _rebuild(*_: Any) -> Any:
    """Stand in the pickled state for `_State.rebuild`, which knows the child."""
    raise AssertionError("it is called by no name but that of the child's state")
