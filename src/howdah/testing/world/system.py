"""The smaller modules of a simulated process: signals, limits, users, programs, the interpreter."""

from __future__ import annotations

import atexit as real_atexit
import ctypes as real_ctypes
import errno
import gc as real_gc
import getpass as real_getpass
import grp as real_grp
import io
import pwd as real_pwd
import resource as real_resource
import signal as real_signal
import ssl as real_ssl
import subprocess as real_subprocess
import sys as real_sys
import types
from collections.abc import Callable
from typing import Any, Final

from howdah.testing.world.descriptors import system_error
from howdah.testing.world.primitives import simulated_module
from howdah.testing.world.processes import Process

USER: Final = "hdfs"
GROUP: Final = "hadoop"


def make(process: Process) -> dict[str, Any]:
    """Make the modules, for one process; by their names."""
    return {
        "atexit": _atexit(process),
        "ctypes": _ctypes(process),
        "gc": _gc(),
        "getpass": simulated_module("getpass", real_getpass, {"getuser": lambda: USER}),
        "grp": _grp(),
        "pwd": _pwd(),
        "resource": _resource(process),
        "signal": _signal(process),
        "ssl": simulated_module("ssl", real_ssl, {}),
        "subprocess": _subprocess(process),
        "sys": _sys(process),
    }


def _atexit(process: Process) -> Any:
    def register(act: Callable[..., object], *args: Any, **kwargs: Any) -> Callable[..., object]:
        process.at_exit.append(lambda: act(*args, **kwargs))
        return act

    functions = {"register": register, "unregister": lambda act: None}
    return simulated_module("atexit", real_atexit, functions)


def _signal(process: Process) -> Any:
    def handle(number: int, handler: Any) -> Any:
        before = process.handlers.get(number, real_signal.SIG_DFL)
        process.handlers[number] = handler
        return before

    def set_wakeup_fd(descriptor: int, *, warn_on_full_buffer: bool = True) -> int:
        before, process.wakeup_descriptor = process.wakeup_descriptor, descriptor
        return before

    functions = {
        "signal": handle,
        "getsignal": lambda number: process.handlers.get(number, real_signal.SIG_DFL),
        "set_wakeup_fd": set_wakeup_fd,
        "siginterrupt": lambda number, flag: None,
        "pthread_sigmask": lambda how, mask: set(),
        "setitimer": lambda *_: (0.0, 0.0),
        "raise_signal": process.receive_signal,
    }
    kept = ("Signals", "Handlers", "Sigmasks", "strsignal", "valid_signals")
    return simulated_module("signal", real_signal, functions, real_names=kept)


def _gc() -> Any:
    """Make a `gc` that does nothing. Collections would run destructors at moments that no seed
    decides: the scenario turns them off, and servers may not turn them on."""

    def ignore(*_: object, **__: object) -> int:
        return 0

    names = ("disable", "enable", "freeze", "unfreeze", "collect", "set_threshold")
    functions: dict[str, Any] = dict.fromkeys(names, ignore)
    functions |= {
        "isenabled": lambda: True,
        "get_threshold": lambda: (700, 10, 10),
        "get_stats": lambda: [{"collections": 0, "collected": 0, "uncollectable": 0}] * 3,
        "get_count": lambda: (0, 0, 0),
        "get_freeze_count": lambda: 0,
    }
    return simulated_module("gc", real_gc, functions)


def _resource(process: Process) -> Any:
    def getrlimit(kind: int) -> tuple[int, int]:
        if kind == real_resource.RLIMIT_NOFILE:
            return process.descriptors.limit, process.descriptors.limit
        return real_resource.RLIM_INFINITY, real_resource.RLIM_INFINITY

    usage = real_resource.struct_rusage((0.0, 0.0, 65536, *(0,) * 13))
    functions = {
        "getrlimit": getrlimit,
        "setrlimit": lambda kind, limits: None,
        "getrusage": lambda who: usage,
        "getpagesize": lambda: 4096,
    }
    return simulated_module("resource", real_resource, functions)


def _pwd() -> Any:
    entry = real_pwd.struct_passwd((USER, "x", 0, 0, USER, "/home/hdfs", "/bin/sh"))

    def by_name(name: str) -> real_pwd.struct_passwd:
        if name != USER:
            raise KeyError(f"getpwnam(): name not found: {name!r}")
        return entry

    def by_number(number: int) -> real_pwd.struct_passwd:
        if number:
            raise KeyError(f"getpwuid(): uid not found: {number}")
        return entry

    functions = {"getpwnam": by_name, "getpwuid": by_number, "getpwall": lambda: [entry]}
    return simulated_module("pwd", real_pwd, functions)


def _grp() -> Any:
    entry = real_grp.struct_group((GROUP, "x", 0, [USER]))

    def by_name(name: str) -> real_grp.struct_group:
        if name != GROUP:
            raise KeyError(f"getgrnam(): name not found: {name!r}")
        return entry

    def by_number(number: int) -> real_grp.struct_group:
        if number:
            raise KeyError(f"getgrgid(): gid not found: {number}")
        return entry

    functions = {"getgrnam": by_name, "getgrgid": by_number, "getgrall": lambda: [entry]}
    return simulated_module("grp", real_grp, functions)


def _ctypes(process: Process) -> Any:
    """Make a C library that has of what Linux adds to POSIX only what maps and locks memory. A
    mapping shows the file as it was when it was made."""
    mappings: dict[int, Any] = {}
    failed = [0]

    class Function:
        argtypes: Any = ()
        restype: Any = None

        def __init__(self, call: Callable[..., int]) -> None:
            self._call = call

        def __call__(self, *arguments: Any) -> int:
            process.scheduler.give_way()
            return self._call(*arguments)

    def map_file(_: None, length: int, protection: int, flags: int, fd: int, offset: int) -> int:
        file: Any = process.descriptors.get(fd)
        content = bytes(file.node.data[offset : offset + length])
        made = real_ctypes.create_string_buffer(content, length)
        address = real_ctypes.addressof(made)
        mappings[address] = made
        return address

    def unmap(address: int, length: int) -> int:
        # What is still looked at stays; a real process would end there.
        return 0 if mappings.pop(address, None) is not None else -1

    def lock(address: int, length: int) -> int:
        try:
            process.allocate(length)
        except MemoryError:
            failed[0] = errno.ENOMEM
            return -1
        return 0

    class CDLL:
        def __init__(self, name: str | None, *_: object, **__: object) -> None:
            self.mmap = Function(map_file)
            self.mlock = Function(lock)
            self.munmap = Function(unmap)

    kept = [
        name
        for name, value in vars(real_ctypes).items()
        if name.startswith("c_") and isinstance(value, type)
    ]
    functions = {
        "CDLL": CDLL,
        "get_errno": lambda: failed[0],
        "set_errno": lambda number: 0,
    }
    return simulated_module("ctypes", real_ctypes, functions, real_names=kept)


def _subprocess(process: Process) -> Any:
    """Make a `subprocess` of the machine's programs (`Machine.programs`), which end at once."""
    passive = real_subprocess

    class Popen:
        def __init__(self, args: list[str] | str, *_: object, **options: Any) -> None:
            words = [args] if isinstance(args, str) else [str(word) for word in args]
            program = process.machine.programs.get(words[0])
            if program is None:
                raise system_error(errno.ENOENT, words[0])
            process.scheduler.give_way()
            process.scheduler.note("program", process.name, words[0])
            self.args = args
            self.pid = process.machine.next_pid()
            self.returncode, output = program(words[1:])
            self.output = output
            self.stdin = None
            self.stdout = io.BytesIO(output) if options.get("stdout") is not None else None
            self.stderr = io.BytesIO() if options.get("stderr") is not None else None

        def wait(self, timeout: float | None = None) -> int:
            return self.returncode

        def poll(self) -> int:
            return self.returncode

        def communicate(self, *_: object, **__: object) -> tuple[bytes, bytes]:
            return self.output, b""

        def kill(self) -> None:
            """It has ended."""

        terminate = kill

        def __enter__(self) -> Popen:
            return self

        def __exit__(self, *_: object) -> None:
            """It has ended."""

    def run(args: Any, *, check: bool = False, text: bool = False, **options: Any) -> Any:
        done = Popen(args, stdout=passive.PIPE)
        if check and done.returncode:
            raise passive.CalledProcessError(done.returncode, args)
        output: Any = done.output.decode() if text else done.output
        return passive.CompletedProcess(args, done.returncode, output, "" if text else b"")

    functions = {"Popen": Popen, "run": run}
    return simulated_module("subprocess", passive, functions, real_names=("CompletedProcess",))


class Output(io.TextIOBase):
    """Passes on what a process writes to its standard streams, as lines of its log."""

    def __init__(self, process: Process, name: str) -> None:
        self._process = process
        self._name = name

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._process.on_log is not None and text.strip():
            self._process.on_log("PRINT", self._name, text.rstrip())
        return len(text)


def _sys(process: Process) -> Any:
    copy: Any = types.ModuleType("sys")
    copy.__dict__.update(vars(real_sys))
    copy.stdin = io.TextIOWrapper(io.BytesIO())
    copy.stdout = copy.__stdout__ = Output(process, "stdout")
    copy.stderr = copy.__stderr__ = Output(process, "stderr")
    copy.argv = ["howdah", process.name]
    copy.setswitchinterval = lambda seconds: None
    copy.settrace = copy.setprofile = copy.setrecursionlimit = lambda argument: None
    copy._current_frames = dict
    return copy


def log_handler(process: Process, logging: Any) -> Any:
    """Make a handler that passes the lines of a process's log on to the scenario."""

    class Handler(logging.Handler):  # type: ignore[misc]
        def emit(self, record: Any) -> None:
            if process.on_log is None:
                return
            message = record.getMessage()
            if record.exc_info:
                message += "\n" + logging.Formatter().formatException(record.exc_info)
            name = record.name.rpartition("~")[2]
            process.on_log(record.levelname, name, message)

    return Handler()
