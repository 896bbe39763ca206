"""`howdah.testing.simulate`: a user's job on a simulated cluster whose servers fail."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from howdah.testing.world import runner
from howdah.testing.world.blanks import BlankProcesses
from howdah.testing.world.cluster import Cluster
from howdah.testing.world.faults import KINDS, ORDINARY, FaultPlan, Supervisor
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios import datanodes as single
from howdah.testing.world.scenarios import highly_available
from howdah.testing.world.user_code import bring_into
from howdah.testing.world.world import World

Workload = Callable[[Any], object]
"""Takes the filesystem of a client, `howdah.fs.api.FileSystem`."""

_DEFAULT_FAULTS_PER_MINUTE: Final = 6.0
_SHOWN_LINES: Final = 30
_QUIET_S: Final = 30.0
"""How long the cluster is at peace before `check` runs."""
_blanks = BlankProcesses()
_is_warm = False


@dataclass(frozen=True, slots=True)
class Simulation:
    """Reports how a simulated world went."""

    seed: int
    values: tuple[Any, ...]
    """What the workloads returned, in their order, and what `check` returned. A value that cannot
    be pickled is its `repr`."""
    faults: tuple[str, ...]
    """Those that happened: the place in the plan, the kind, the server or machine, when, and for
    how long."""
    simulated_s: float
    story: tuple[str, ...]
    """What happened, a line for each event: virtual seconds, who, and what; the last 2,000 lines.
    Lines that servers log, and what workloads print, are among them."""
    trace: str
    """A digest of everything that happened: equal for two runs of one seed of the same code."""


class SimulationFailed(AssertionError):
    """Says that a workload, a check or a server failed in a simulated world. `report` is the
    `Simulation`."""

    def __init__(self, message: str, report: Simulation) -> None:
        super().__init__(message)
        self.report = report


def simulate(
    workload: Workload | Sequence[Workload],
    *,
    seed: int,
    check: Workload | None = None,
    faults: float | Mapping[str, float] = _DEFAULT_FAULTS_PER_MINUTE,
    without: Collection[int] = (),
    namenodes: int = 1,
    datanodes: int = 3,
    settings: Mapping[str, str] | None = None,
    timeout_s: float = 600.0,
) -> Simulation:
    """Run workloads as clients of a simulated cluster while servers, machines, disks and the
    network fail, as the seed decides.

    Each workload runs in a client process of its own, on a machine that keeps running, and all
    run at the same time. When all have returned, every fault is healed, the cluster has 30 seconds
    of peace, and `check` runs. The cluster is howdah's own servers; time is virtual. The same seed
    makes the same world again, as long as the code is the same.

    A workload is a function of one argument, a filesystem. It may use `time`, `threading`,
    `random`, `os` and howdah: these are the client's own, so `time.sleep` takes virtual time.
    It runs in a forked child of this process: only what it returns comes back.

    Args:
        workload: A function, or a sequence of functions.
        seed: Decides everything that happens.
        check: What has to hold in the end. Its assertions fail the simulation.
        faults: How many faults happen in a simulated minute on average: a number for all ordinary
            kinds together, or a number for each kind by its name. 0 or {} is none.
        without: Places of faults that do not happen, as a report gives them.
        namenodes: 1, or 2 with three journal nodes and automatic failover.
        datanodes: How many datanodes there are, at least 3.
        settings: Keys of the configuration, for servers and clients.
        timeout_s: How much virtual time the workloads may take.

    Raises:
        SimulationFailed: A workload or a check raised an exception, did not return in time, or a
            server has failed in a way that it must not. The message names the seed.
        ValueError: A kind of fault is unknown, or a number is out of range.

    >>> from howdah.testing import simulate
    >>> def copy(fs):
    ...     fs.write_bytes("/in", b"x" * 100_000)
    ...     fs.rename("/in", "/out")
    >>> def check(fs):
    ...     return len(fs.read_bytes("/out"))
    >>> simulate(copy, check=check, seed=1, faults={"kill": 10, "slow disk": 5}).values[-1]
    100000
    """
    workloads = tuple(workload) if isinstance(workload, Sequence) else (workload,)
    rates = _rates(faults)
    if namenodes not in (1, 2):
        raise ValueError(f"namenodes is 1 or 2, and not {namenodes}")
    if datanodes < 3:
        raise ValueError(f"datanodes is at least 3, and not {datanodes}")
    if not workloads:
        raise ValueError("there is no workload")
    world_of = partial(
        _run,
        workloads=workloads,
        check=check,
        rates=rates,
        namenodes=namenodes,
        datanodes=datanodes,
        settings=dict(settings or {}),
        timeout_s=timeout_s,
    )
    return _report(seed, without, world_of)


def _rates(faults: float | Mapping[str, float]) -> dict[str, float]:
    if not isinstance(faults, Mapping):
        rates = dict.fromkeys(dict.fromkeys(ORDINARY), 0.0)
        for kind in ORDINARY:
            rates[kind] += faults / len(ORDINARY)
    else:
        rates = dict(faults)
    for kind, rate in rates.items():
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of fault; these are: {', '.join(KINDS)}")
        if rate < 0:
            raise ValueError(f"{rate} faults a minute are less than none ({kind!r})")
    return rates


def _report(
    seed: int, without: Collection[int], scenario: Callable[[World], Mapping[str, object]]
) -> Simulation:
    global _is_warm
    if not _is_warm:
        runner.warm_up()
        _is_warm = True
    result = runner.run_forked(scenario, seed, without, _blanks, whole_story=True)
    runner.provide(_blanks, result.processes)
    figures = result.figures
    report = Simulation(
        seed=seed,
        values=tuple(map(_value, figures.get("values", ()))),  # type: ignore[call-overload]
        faults=tuple(result.faults),
        simulated_s=result.simulated_s,
        story=result.story,
        trace=result.trace,
    )
    if result.problem:
        lines = [
            f"simulate(…, seed={seed}) failed after {result.simulated_s:.3f} simulated seconds, "
            "and fails so again",
            "",
            "faults:",
            *(f"  {fault}" for fault in report.faults or ("none",)),
            "",
            "the end of its story:",
            *(f"  {line}" for line in report.story[-_SHOWN_LINES:]),
            "",
            result.problem,
        ]
        raise SimulationFailed("\n".join(lines), report)
    return report


def _packed(value: Any) -> tuple[str, str]:
    """Return a value as text that another process reads: pickled, and its repr."""
    try:
        return pickle.dumps(value).hex(), repr(value)
    except Exception:  # noqa: BLE001 - whatever it is, its repr is the answer
        return "", repr(value)


def _value(packed: tuple[str, str]) -> Any:
    data, shown = packed
    try:
        return pickle.loads(bytes.fromhex(data))
    except (EOFError, ImportError, AttributeError, pickle.UnpicklingError):
        return shown  # Of a class that only simulated processes have.


def _run(
    world: World,
    *,
    workloads: Sequence[Workload],
    check: Workload | None,
    rates: Mapping[str, float],
    namenodes: int,
    datanodes: int,
    settings: Mapping[str, str],
    timeout_s: float,
) -> Mapping[str, object]:
    clients = world.machine("clients")
    build = single.build if namenodes == 1 else highly_available.build
    cluster, _ = build(world, settings, datanodes=datanodes)
    uri = cluster.settings["fs.defaultFS"]
    plan = _plan(world, cluster, rates, timeout_s)
    supervisor = Supervisor(cluster)
    returned: dict[int, tuple[str, str]] = {}

    def start(place: int, run: Workload, name: str) -> None:
        def live(process: Process) -> None:
            own = bring_into(process, run)
            fs = cluster.connect(process, uri)
            returned[place] = _packed(own(fs))
            world.story.record(name, f"returns {returned[place][1]}")

        world.process(clients, name).start(live)

    for place, workload in enumerate(workloads):
        start(place, workload, f"client{place}" if len(workloads) > 1 else "client")
    supervisor.follow(plan)
    world.run(lambda: len(returned) == len(workloads), timeout_s=timeout_s)
    supervisor.heal()
    if check is not None:
        world.run_for(_QUIET_S)
        start(len(workloads), check, "check")
        world.run(lambda: len(returned) > len(workloads), timeout_s=timeout_s)
    return {"values": [returned[place] for place in sorted(returned)]}


def _plan(
    world: World, cluster: Cluster, rates: Mapping[str, float], duration_s: float
) -> FaultPlan:
    """Draw the times of each kind of fault for as long as the workloads may take."""
    faults = []
    for kind, rate in rates.items():
        dice = world.dice(f"faults {kind}")
        at_s = 0.0
        while rate and (at_s := at_s + dice.expovariate(rate / 60.0)) < duration_s:
            (drawn,) = FaultPlan.draw(dice, cluster, 1, (kind,)).faults
            faults.append(replace(drawn, at_s=at_s))
    return FaultPlan(faults)
