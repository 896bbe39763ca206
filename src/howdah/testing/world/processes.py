"""Machines, and the processes that run on them."""

from __future__ import annotations

import errno
import os as real_os
import random
import signal as real_signal
import stat
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from howdah.testing.world.descriptors import Description, DescriptorTable, system_error
from howdah.testing.world.disk import Disk, Mounts, parts_of
from howdah.testing.world.network import Network
from howdah.testing.world.scheduler import Scheduler, Task, Uncaught

MAIN_IDENT: Final = 1
"""What the main thread of each process is called."""
_FIRST_PORT: Final = 40_000
_LARGE_BYTES: Final = 16 << 10
_FIRST_DEVICE: Final = 76
_FIRST_PID: Final = 100
_WALL_START_NS: Final = 1_800_000_000 * 10**9
"""What all wall clocks show when a world begins, but for what the monotonic clock has then."""
_ENVIRONMENT: Final = {
    "HOME": "/home/hdfs",
    "HADOOP_USER_NAME": "hdfs",
    # The native code calls the real system; its twins in Python do the same.
    "HOWDAH_COMPILED": "off",
    "HOWDAH_KERNEL": "off",
    "PATH": "/bin",
    "USER": "hdfs",
}
_ENDS: Final = (real_signal.SIGTERM, real_signal.SIGINT, real_signal.SIGHUP)

Program = Callable[[list[str]], tuple[int, bytes]]
"""What a command does: its words in, its exit status and its output out."""


class Modules(Protocol):
    """Holds the modules of a process."""

    def load(self, name: str) -> Any:
        """Return a module, imported if it is not yet there."""

    builtins: dict[str, Any]
    """Those of the code that the process runs."""

    simulated: dict[str, Any]
    """Those of this package, by the names that they have in Python."""

    def find(self, name: str) -> Any:
        """Return a module if it is there already, else None."""

    def import_module(self, name: str, package: str | None = None) -> Any:
        """Import, as of `importlib`."""

    def begin(self) -> None:
        """Say that the process begins now, which has loaded modules before."""

    def refresh(self, name: str) -> None:
        """Give the functions of a module the code that has replaced it since it was loaded."""


class Blanks(Protocol):
    """Has processes that have loaded their modules, and have not begun."""

    def take(self, kind: str) -> Process | None:
        """Return one that has loaded the modules of a kind, if there is one."""


def new_process(
    machine: Machine,
    name: str,
    environment: Mapping[str, str] | None = None,
    *,
    kind: str,
    make_modules: Callable[[Process], Modules],
    parent: Process | None = None,
    descriptors: DescriptorTable | None = None,
    blanks: Blanks | None = None,
) -> Process:
    """Make a process that has not begun, of one that has loaded its modules if there is one."""
    if blanks is not None:
        blank = blanks.take(kind)
        if blank is not None and blank.environment == {**_ENVIRONMENT, **(environment or {})}:
            blank.begin_as(machine, name, parent=parent, descriptors=descriptors, blanks=blanks)
            return blank
    return Process(
        machine,
        name,
        environment,
        make_modules=make_modules,
        parent=parent,
        descriptors=descriptors,
        blanks=blanks,
    )


class WallClock:
    """Shows the time of a machine in UTC, which may be wrong."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.offset_ns = 0
        self._drift_ppm = 0.0
        self._drifts_since_ns = 0

    def now_ns(self) -> int:
        now_ns = self._scheduler.now_ns
        return _WALL_START_NS + now_ns + self.offset_ns + self._drifted_ns()

    def _drifted_ns(self) -> int:
        if not self._drift_ppm:
            return 0
        return round((self._scheduler.now_ns - self._drifts_since_ns) * self._drift_ppm / 1e6)

    def drift(self, ppm: float) -> int:
        """Let it run faster than time does from now on, by so many millionths; slower if that is
        negative. Return the nanoseconds by which it has drifted so far, since it was last told."""
        drifted_ns = self._drifted_ns()
        self.offset_ns += drifted_ns
        self._drift_ppm, self._drifts_since_ns = ppm, self._scheduler.now_ns
        return drifted_ns

    def jump(self, seconds: float) -> None:
        """Set it forward, or back."""
        self.offset_ns += round(seconds * 1e9)


class Machine:
    """Is a host: an address, disks, a wall clock, processes."""

    def __init__(self, scheduler: Scheduler, network: Network, name: str, address: str) -> None:
        self.scheduler = scheduler
        self.network = network
        self.name = name
        self.address = address
        self.has_power = True
        self.wall = WallClock(scheduler)
        self._dice = random.Random(f"{scheduler.seed}/{name}")
        self._disks = 0
        self.mounts = Mounts(self.new_disk())
        self.processes: dict[int, Process] = {}
        self.programs: dict[str, Program] = {"bash": lambda words: (0, b"")}
        self._next_port = _FIRST_PORT
        self._next_pid = _FIRST_PID
        self._boots = 0
        network.machines[address] = self

    @property
    def boot_id(self) -> str:
        return f"{self.name}-{self._boots}"

    @property
    def disk(self) -> Disk:
        """Return the root disk."""
        return self.mounts.root

    def new_disk(self) -> Disk:
        """Make a disk to mount here."""
        self._disks += 1
        dice = random.Random(self._dice.getrandbits(64))
        return Disk(self.wall.now_ns, dice, _FIRST_DEVICE + self._disks)

    def free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    def next_pid(self) -> int:
        self._next_pid += 1
        return self._next_pid

    def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Give a file this content, durably, as an administrator does."""
        directory, last = self.mounts.parent(path)
        disk = self.mounts.disk_of(path)
        file = disk.new_file(mode)
        file.write(0, content)
        file.sync()
        disk.change_names((directory, last, file))
        disk.sync(directory)

    def make_directory(self, path: str) -> None:
        """Make a directory durably, and those above it, where they are not there."""
        made = ""
        for part in parts_of(path):
            directory, disk = self.mounts.find(made or "/"), self.mounts.disk_of(made or "/")
            if part not in directory.entries:
                disk.change_names((directory, part, disk.new_directory(0o755)))
                disk.sync(directory)
            made += f"/{part}"

    def empty_directory(self, path: str) -> None:
        """Remove all that is in a directory, durably, as if its disk were new."""
        directory, disk = self.mounts.find(path), self.mounts.disk_of(path)
        for name in list(directory.entries):
            disk.change_names((directory, name, None))
        disk.sync(directory)

    def make_socket_file(self, path: str) -> None:
        """Give a Unix domain socket its name. Raises OSError: EADDRINUSE if that is there, ENOENT
        without a directory."""
        directory, last = self.mounts.parent(path)
        if last in directory.entries:
            raise system_error(errno.EADDRINUSE)
        disk = self.mounts.disk_of(path)
        node = disk.new_file(0o755)
        node.mode = stat.S_IFSOCK | stat.S_IMODE(node.mode)
        disk.change_names((directory, last, node))

    def lose_power(self) -> None:
        """Stop everything at once; the disks forget what they were not told to keep."""
        self.has_power = False
        self.scheduler.note("power off", self.name)
        for process in list(self.processes.values()):
            process.vanish()
        self.processes.clear()
        for disk in self.mounts.disks():
            disk.lose_power()

    def start(self) -> None:
        """Turn the power on; no process runs yet."""
        if not self.has_power:
            self._boots += 1
            self.has_power = True
            self.scheduler.note("power on", self.name)


class Process:
    """Is a process: a module tree, threads, descriptors, signals."""

    def __init__(
        self,
        machine: Machine,
        name: str,
        environment: Mapping[str, str] | None = None,
        *,
        make_modules: Callable[[Process], Modules],
        parent: Process | None = None,
        descriptors: DescriptorTable | None = None,
        blanks: Blanks | None = None,
    ) -> None:
        self.scheduler = machine.scheduler
        self.environment = {**_ENVIRONMENT, **(environment or {})}
        self.random = random.Random()
        self._sources_of_chance: dict[str, random.Random] = {}
        """Those that modules made when they were loaded."""
        self.descriptors = descriptors if descriptors is not None else DescriptorTable()
        self.send_patience_s: dict[int, float] = {}
        """SO_SNDTIMEO, by descriptor."""
        self.tasks: list[Task] = []
        self.main: Task | None = None
        self.boot_locals: dict[int, dict[str, Any]] = {}
        """Of the main thread."""
        self.boot_sentinel: Callable[[], None] | None = None
        self.children: dict[int, Process] = {}
        self.watchers: list[Description] = []
        self.status: int | None = None
        """How it ended: as `os.waitstatus_to_exitcode` gives it, so -9 if it was killed."""
        self.is_dead = False
        self.is_reaped = False
        self.is_stopped = False
        self.handlers: dict[int, Any] = {}
        self.wakeup_descriptor = -1
        self.pending_signals: list[int] = []
        self.signal_count = 0
        self.at_exit: list[Callable[[], object]] = []
        self.faults: dict[str, float] = {}
        """How likely a call fails for want of something: `thread`, `open`, `socket`, `accept`,
        `fork`, and `memory` for the buffer that a read asks for."""
        self.on_log: Callable[[str, str, str], None] | None = None
        """Hears of lines in the log: level, logger, message."""
        self.on_end: Callable[[Process], None] | None = None
        self.on_fork: Callable[[Process], None] | None = None
        """Called with each child, before that begins."""
        self._closing: list[int] = []
        self._make_modules = make_modules
        self._blanks = blanks
        self._settle(machine, name, parent)
        self.modules = make_modules(self)

    def _settle(self, machine: Machine, name: str, parent: Process | None) -> None:
        self.machine = machine
        self.name = name
        self.pid = machine.next_pid()
        self.parent = parent
        self.started_ns = self.scheduler.now_ns
        self._seed(self.random, "")
        for what, source in self._sources_of_chance.items():
            self._seed(source, what)
        machine.processes[self.pid] = self

    def add_source_of_chance(self, source: random.Random, module: str) -> None:
        """Seed what a module makes when it is loaded. It must not matter when that is."""
        known = self._sources_of_chance
        name = f"{module}/{sum(each.startswith(f'{module}/') for each in known)}"
        known[name] = source
        self._seed(source, name)

    def _seed(self, source: random.Random, what: str) -> None:
        source.seed(f"{self.scheduler.seed}/{self.machine.name}/{self.name}/{self.pid}/{what}")

    def begin_as(
        self,
        machine: Machine,
        name: str,
        *,
        parent: Process | None = None,
        descriptors: DescriptorTable | None = None,
        blanks: Blanks | None = None,
    ) -> None:
        """Become a process that has not begun, of a machine: this one has loaded modules only."""
        self.machine.processes.clear()
        self._settle(machine, name, parent)
        self._blanks = blanks
        if descriptors is not None:
            self.descriptors.take_over(descriptors)
        self.modules.begin()

    def __repr__(self) -> str:
        return f"<process {self.name} ({self.pid}) on {self.machine.name}>"

    @property
    def parent_pid(self) -> int:
        return self.parent.pid if self.parent is not None and not self.parent.is_dead else 1

    # -- life

    def start(self, run: Callable[[Process], object], name: str = "main") -> Task:
        """Begin with `run`; what it returns is the exit status, None is 0. When it returns, threads
        that are no daemons are waited for."""

        def live() -> None:
            status = 1
            try:
                returned = run(self)
                status = returned if isinstance(returned, int) else 0
            except SystemExit as leaving:
                status = leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
            except Exception as error:  # noqa: BLE001 - a defect, for the scenario to judge
                text = "".join(traceback.format_exception(error))
                self.scheduler.uncaught.append(Uncaught(self.name, name, text))
            self._finish()
            self.exit(status)

        task = self.scheduler.spawn(self, name, live)
        if self.main is None:
            self.main = task
            task.ident, task.locals = MAIN_IDENT, self.boot_locals
            task.sentinel = self.boot_sentinel
        return task

    def _finish(self) -> None:
        threading = self.modules.find("threading")
        if threading is not None:
            threading._shutdown()
        while self.at_exit:
            self.at_exit.pop()()

    def exit(self, status: int) -> None:
        """End now, as by `os._exit`. Does not return if one of its own threads calls it."""
        self._end(status)
        current = self.scheduler.current
        if current is not None and current.process is self:
            self.scheduler.leave()

    def kill(self) -> None:
        """End as by SIGKILL: nothing of it runs any more, and its descriptors are closed."""
        self._end(-real_signal.SIGKILL)

    def vanish(self) -> None:
        """End because the machine loses its power."""
        if not self.is_dead:
            self.is_dead = self.is_reaped = True
            self.descriptors.lose_all()

    def _end(self, status: int) -> None:
        if self.is_dead:
            return
        self.is_dead = True
        self.status = status
        self.scheduler.note("end", self.name, status)
        self.descriptors.close_all()
        if self.parent is None or self.parent.is_dead:
            self._reap()
        for child in list(self.children.values()):
            if child.is_dead:
                child._reap()
        for watcher in self.watchers:
            watcher.changed()
        if self.parent is not None and not self.parent.is_dead:
            self.parent.receive_signal(real_signal.SIGCHLD)
            for task in self.parent.tasks:
                self.scheduler.wake(task)
        if self.on_end is not None:
            self.on_end(self)

    def _reap(self) -> None:
        self.is_reaped = True
        self.machine.processes.pop(self.pid, None)

    def stop(self) -> None:
        """Stop as by SIGSTOP: it does nothing until it goes on, and knows nothing of it."""
        self.is_stopped = True

    def go_on(self) -> None:
        """Go on as by SIGCONT."""
        if self.is_stopped:
            self.is_stopped = False
            self.scheduler.resume(self)

    def fork(self, kind: str) -> Process:
        """Make a child with the same descriptors, which has not begun. `kind` is the module that
        it needs first."""
        child = new_process(
            self.machine,
            f"{self.name}'",
            self.environment,
            kind=kind,
            make_modules=self._make_modules,
            parent=self,
            descriptors=self.descriptors.copy(),
            blanks=self._blanks,
        )
        child.send_patience_s = dict(self.send_patience_s)
        child.on_log, child.on_fork, child.faults = self.on_log, self.on_fork, self.faults
        self.children[child.pid] = child
        if self.on_fork is not None:
            self.on_fork(child)
        return child

    # -- signals

    def receive_signal(self, number: int) -> None:
        """Take a signal from whoever sends it."""
        if self.is_dead:
            return
        if number == real_signal.SIGKILL:
            self.kill()
            return
        if number == real_signal.SIGSTOP:
            self.stop()
            return
        if number == real_signal.SIGCONT:
            self.go_on()
            return
        handler = self.handlers.get(number, real_signal.SIG_DFL)
        if handler == real_signal.SIG_DFL:
            if number in _ENDS:
                self._end(-number)
            return
        if handler == real_signal.SIG_IGN:
            return
        self.signal_count += 1
        self.pending_signals.append(number)
        self._write_wakeup(number)
        if self.main is not None:
            self.scheduler.wake(self.main)

    def _write_wakeup(self, number: int) -> None:
        description = self.descriptors.find(self.wakeup_descriptor)
        if description is not None:
            description.deliver_byte(number)

    def handle_signals(self) -> None:
        """Called in the main thread, between two of its steps."""
        while self.pending_signals:
            number = self.pending_signals.pop(0)
            handler = self.handlers.get(number)
            if callable(handler):
                handler(number, None)

    # -- threads

    def thread_failed(self, thread: Any, kind: type[BaseException], error: Any, trace: Any) -> None:
        """Note that a thread ended by an exception."""
        if issubclass(kind, SystemExit):
            return
        name = getattr(thread, "name", "thread")
        text = "".join(traceback.format_exception(kind, error, trace))
        self.scheduler.uncaught.append(Uncaught(self.name, str(name), text))

    # -- chance

    def fault(self, resource: str) -> None:
        """Raise what the system does when it has no thread, descriptor or memory left, if that is
        to happen here."""
        chance = self.faults.get(resource, 0.0)
        if chance and self.scheduler.random.random() < chance:
            self.scheduler.note("fault", self.name, resource)
            if resource == "thread":
                raise RuntimeError("can't start new thread")
            raise system_error(errno.EMFILE)

    def allocate(self, size_bytes: int) -> None:
        """Raise MemoryError for a large buffer, if there is to be no memory for it."""
        chance = self.faults.get("memory", 0.0)
        if chance and size_bytes >= _LARGE_BYTES and self.scheduler.random.random() < chance:
            self.scheduler.note("fault", self.name, "memory")
            raise MemoryError

    def partial(self, count: int) -> int:
        """Draw how much of what is there a read gets."""
        dice = self.scheduler.random
        if dice.random() < self.machine.network.partial_read_chance:
            return dice.randrange(1, count + 1)
        return count

    # -- descriptors

    def descriptors_close(self, number: int) -> None:
        self.descriptors.close(number)
        self.send_patience_s.pop(number, None)

    def close_later(self, number: int) -> None:
        """Close between two turns, in the order of numbers, what the interpreter has collected."""
        if not self.is_dead:
            if not self._closing:
                self.scheduler.before_turn.append(self._close_collected)
            self._closing.append(number)

    def _close_collected(self) -> None:
        self.scheduler.before_turn.remove(self._close_collected)
        closing, self._closing = sorted(self._closing), []
        for number in closing:
            if not self.is_dead and number in self.descriptors:
                self.descriptors_close(number)

    # -- system calls

    def system_calls(self) -> dict[str, Any]:
        """Return those of `posix` that are about processes, users and chance."""

        def urandom(count: int) -> bytes:
            return self.random.randbytes(count)

        def waitpid(pid: int, flags: int) -> tuple[int, int]:
            child = self._child(pid)
            while not child.is_dead:
                if flags & real_os.WNOHANG:
                    return 0, 0
                self.scheduler.park()
            del self.children[child.pid]
            child._reap()
            status = child.status or 0
            return child.pid, -status if status < 0 else status << 8

        def waitid(kind: int, pid: int, flags: int) -> Any:
            child = self._child(pid)
            while not child.is_dead:
                if flags & real_os.WNOHANG:
                    return None
                self.scheduler.park()
            status = child.status or 0
            code = real_os.CLD_KILLED if status < 0 else real_os.CLD_EXITED
            if not flags & real_os.WNOWAIT:
                del self.children[child.pid]
                child._reap()
            return real_os.waitid_result((child.pid, 0, real_signal.SIGCHLD, abs(status), code))

        def kill(pid: int, number: int) -> None:
            target = self.machine.processes.get(pid)
            if target is None or target.is_reaped:
                raise system_error(errno.ESRCH)
            if number:
                self.scheduler.note("signal", self.name, target.name, int(number))
                target.receive_signal(number)

        return {
            "_exit": self.exit,
            "abort": lambda: self.exit(-real_signal.SIGABRT),
            "chdir": lambda path: None,
            "cpu_count": lambda: 2,
            "get_terminal_size": _no_terminal,
            "getcwd": lambda: "/",
            "getcwdb": lambda: b"/",
            "getegid": lambda: 0,
            "geteuid": lambda: 0,
            "getgid": lambda: 0,
            "getgrouplist": lambda user, group: [group],
            "getgroups": lambda: [0],
            "getloadavg": lambda: (0.0, 0.0, 0.0),
            "getpgid": lambda pid: pid,
            "getpid": lambda: self.pid,
            "getppid": lambda: self.parent_pid,
            "getrandom": lambda count, flags=0: urandom(count),
            "getuid": lambda: 0,
            "kill": kill,
            "killpg": kill,
            "posix_fadvise": lambda *_: None,
            "putenv": lambda key, value: None,
            "register_at_fork": lambda **_: None,
            "sched_getaffinity": lambda pid: {0, 1},
            "sched_yield": self.scheduler.give_way,
            "setsid": lambda: None,
            "times": lambda: real_os.times_result((0.0,) * 5),
            "umask": lambda mask: 0o022,
            "uname": lambda: real_os.uname_result(
                ("Linux", self.machine.name, "6.1", "#1", "x86_64")
            ),
            "unsetenv": lambda key: None,
            "urandom": urandom,
            "waitid": waitid,
            "waitpid": waitpid,
        }

    def _child(self, pid: int) -> Process:
        if pid == -1 and self.children:
            return min(self.children.values(), key=lambda child: (not child.is_dead, child.pid))
        try:
            return self.children[pid]
        except KeyError:
            raise system_error(errno.ECHILD) from None


def _no_terminal(*_: object) -> real_os.terminal_size:
    raise system_error(errno.ENOTTY)
