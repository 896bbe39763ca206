"""A seed decides everything, nothing escapes, and processes live and die as real ones do."""

from __future__ import annotations

import signal
import sys

import pytest

from howdah.testing.world import Process, Unexpected, World
from howdah.testing.world.loader import OrderedSet
from howdah.testing.world.primitives import NotSimulated


@pytest.mark.parametrize("name", ["multiprocessing", "sqlite3", "curses", "concurrent_things"])
def test_a_module_that_nobody_has_looked_at_is_refused(name: str) -> None:
    world = World(1)

    def escape(process: Process) -> None:
        with pytest.raises(NotSimulated, match=name):
            process.modules.load(name)

    world.call(world.machine("one"), "process", escape)


@pytest.mark.parametrize(
    ("module", "function"),
    [("os", "fork"), ("os", "symlink"), ("signal", "sigwait"), ("ctypes", "string_at")],
)
def test_a_function_that_is_not_simulated_is_refused(module: str, function: str) -> None:
    world = World(1)

    def escape(process: Process) -> None:
        with pytest.raises(NotSimulated, match=function):
            getattr(process.modules.load(module), function)()

    world.call(world.machine("one"), "process", escape)


def test_processes_share_no_state() -> None:
    world = World(1)
    machine = world.machine("one")

    def mark(process: Process) -> bool:
        errors = process.modules.load("howdah.errors")
        was_marked = hasattr(errors, "marked")
        errors.marked = True
        return was_marked

    assert not world.call(machine, "first", mark)
    assert not world.call(machine, "second", mark)


def test_all_of_howdah_is_of_the_process_but_its_messages() -> None:
    world = World(1)

    def modules(process: Process) -> None:
        for name in ("howdah.errors", "howdah.protocol.rpc.failover", "howdah.rpc.client"):
            assert process.modules.load(name) is not sys.modules.get(name)
        name = "howdah.proto.client_datanode_pb2"
        assert process.modules.load(name) is sys.modules[name]

    world.call(world.machine("one"), "process", modules)


def test_threads_meet_at_locks_and_conditions() -> None:
    def work(process: Process) -> int:
        threading, queue = process.modules.load("threading"), process.modules.load("queue")
        futures = process.modules.load("concurrent.futures")
        counted, lock, news = [0], threading.Lock(), queue.SimpleQueue()

        def count() -> None:
            for _ in range(50):
                with lock:
                    counted[0] += 1
            news.put(threading.current_thread().name)

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        names = {news.get(timeout=5) for _ in threads}
        for thread in threads:
            thread.join()
        assert len(names) == 4
        with futures.ThreadPoolExecutor(2) as pool:
            assert list(pool.map(lambda number: number * 2, range(5))) == [0, 2, 4, 6, 8]
        return counted[0]

    world = World(3)
    assert world.call(world.machine("one"), "process", work) == 200


def test_an_event_loop_waits_in_virtual_time() -> None:
    def work(process: Process) -> float:
        asyncio = process.modules.load("asyncio")

        async def rest() -> float:
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            await asyncio.gather(asyncio.sleep(3600), asyncio.to_thread(lambda: None))
            return float(loop.time() - began_s)

        return float(asyncio.run(rest()))

    world = World(3)
    assert 3600 <= world.call(world.machine("one"), "process", work, timeout_s=4000) < 3601


def test_a_signal_runs_its_handler_in_the_main_thread() -> None:
    world = World(1)
    machine = world.machine("one")
    heard: list[int] = []

    def wait(process: Process) -> int:
        threading = process.modules.load("threading")
        process.modules.load("signal").signal(
            signal.SIGTERM, lambda number, frame: heard.append(threading.get_ident())
        )
        main = threading.get_ident()
        while not heard:
            process.modules.load("time").sleep(0.1)
        return 3 if heard == [main] else 4

    process = world.process(machine, "waiting")
    process.start(wait)
    world.run_for(1.0)
    process.receive_signal(signal.SIGTERM)
    world.run(lambda: process.is_dead)
    assert process.status == 3


def test_whoever_is_killed_runs_nothing_any_more() -> None:
    world = World(1)
    machine = world.machine("one")
    ran: list[str] = []

    def live(process: Process) -> None:
        try:
            process.modules.load("time").sleep(10)
        finally:
            ran.append("finally")

    process = world.process(machine, "victim")
    process.start(live)
    world.run_for(1.0)
    process.kill()
    world.run_for(60.0)
    assert not ran
    assert process.status == -signal.SIGKILL


def test_a_process_that_is_stopped_goes_on_later() -> None:
    world = World(1)
    process = world.process(world.machine("one"), "sleeper")
    process.start(lambda own: own.modules.load("time").sleep(1))
    world.run_for(0.5)
    process.stop()
    world.run_for(60.0)
    assert not process.is_dead
    process.go_on()
    world.run(lambda: process.is_dead, timeout_s=1.0)


def test_a_world_in_which_nothing_moves_shows_what_its_threads_do() -> None:
    world = World(1)

    def wait(process: Process) -> None:
        process.modules.load("threading").Lock().acquire()
        process.modules.load("threading").Event().wait()

    with pytest.raises(Unexpected, match=r"nobody is ready(.|\n)*threading.py"):
        world.call(world.machine("one"), "waiting", wait)


def test_an_exception_that_ends_a_thread_is_told() -> None:
    world = World(1)

    def fail(process: Process) -> None:
        raise RuntimeError("a defect")

    with pytest.raises(Unexpected, match="a defect"):
        world.call(world.machine("one"), "failing", fail)


def test_a_set_keeps_the_order_in_which_things_came() -> None:
    things = OrderedSet("hello world")
    assert list(things) == ["h", "e", "l", "o", " ", "w", "r", "d"]
    things.discard("e")
    things |= {"z"}
    assert things == set("hlo wrdz")
    assert list(things & set("oz")) == ["o", "z"]
    assert list(things - set("hlo")) == [" ", "w", "r", "d", "z"]
    assert things.pop() == "h"


def test_time_passes_for_others_while_a_thread_does_not_wait() -> None:
    world = World(1)

    def spin(process: Process) -> float:
        threading, time = process.modules.load("threading"), process.modules.load("time")
        timer = threading.Timer(0.001, lambda: woken.append(True))
        woken: list[bool] = []
        timer.start()
        while not woken:
            time.monotonic()
            process.scheduler.give_way()
        return float(time.monotonic())

    assert world.call(world.machine("one"), "spinner", spin, timeout_s=1) < 1.1
