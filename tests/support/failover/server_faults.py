"""What befalls a highly available cluster: one failover or loss at a time, ended when it is over.

Each function brings trouble to a running cluster, waits until another namenode is active, and
mends what it has broken. Afterwards all servers run again.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from howdah.local.servers import ServerFailed
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until

TIMEOUT_S = 60.0
NAME_NODE_INFO = "Hadoop:service=NameNode,name=NameNodeInfo"
SHARED = ("qjournal:", "QJM to ")
"""How ours and Hadoop's begin to name the log on the journal nodes."""
RESYNC = "(will try to re-sync on next segment)"
NOT_YET = (
    "is not currently healthy",
    "No other node is currently active",
    "journal nodes took the breadcrumb of term",
)
"""Said while a controller that was just started has not asked its namenode how it is, while the
namenode that is active has not been elected again after its controller went, and where another
controller holds an election in a newer term at that moment."""


@dataclass(frozen=True, slots=True)
class Failover:
    """One that is over; times are of `time.monotonic()`."""

    how: str
    old: str
    new: str
    began_at: float
    active_at: float

    def __str__(self) -> str:
        took_s = self.active_at - self.began_at
        return f"{self.how}: {self.old} -> {self.new} in {took_s:.2f} s"


def kill_active(cluster: MiniCluster) -> Failover:
    """`kill -9` of the active namenode."""
    old, began_at = cluster.active(), time.monotonic()
    cluster.kill(old)
    return _over(cluster, "killed", old, began_at)


def freeze_active(cluster: MiniCluster) -> Failover:
    """SIGSTOP to the active namenode, and SIGCONT when another one is active."""
    old, began_at = cluster.active(), time.monotonic()
    cluster.pause(old)
    try:
        new, active_at = cluster.active(but=old, timeout_s=TIMEOUT_S), time.monotonic()
    finally:
        cluster.resume(old)
    settle(cluster, old)
    return Failover("frozen", old, new, began_at, active_at)


def freeze_briefly(cluster: MiniCluster) -> Failover:
    """SIGSTOP to the active namenode and SIGCONT at once: it stays active, or another one is."""
    old, began_at = cluster.active(), time.monotonic()
    cluster.pause(old)
    cluster.resume(old)
    new = cluster.active(timeout_s=TIMEOUT_S)
    mend(cluster)
    return Failover("frozen for a moment", old, new, began_at, time.monotonic())


def kill_controller(cluster: MiniCluster) -> Failover:
    """`kill -9` of the active namenode's failover controller: it loses the election."""
    old, began_at = cluster.active(), time.monotonic()
    cluster.kill(old.replace("namenode", "zkfc"))
    return _over(cluster, "without its controller", old, began_at)


def fail_over(cluster: MiniCluster, target: str | None = None) -> Failover:
    """`haadmin -failover` from the active namenode to another, unless that has just become the
    active one by itself: controllers that were started anew hold a new election."""
    old = cluster.active()
    if target == old:
        return Failover("active already", old, old, time.monotonic(), time.monotonic())
    others = [name for name in cluster.ha_states() if name != old]
    new = target or others[0]
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        began_at = time.monotonic()
        status, told = haadmin(cluster, "-failover", old, new)
        if not any(text in told for text in NOT_YET) or began_at > deadline:
            break
        # A former active says that it is a standby while it ends its log. One that finds itself
        # fenced then ends, maybe after `mend` has seen it run.
        if not cluster.process(new).alive:
            cluster.start(new)
        time.sleep(0.1)
    assert status == 0, told
    assert cluster.active(but=old, timeout_s=TIMEOUT_S) == new
    return Failover("asked for", old, new, began_at, time.monotonic())


def lose_journal_node(cluster: MiniCluster, number: int) -> str:
    """`kill -9` of a journal node, and its restart."""
    name = f"journalnode{number}"
    cluster.kill(name)
    cluster.active(timeout_s=TIMEOUT_S)
    cluster.restart(name)
    wait_for_journal_nodes(cluster)
    return name


def haadmin(cluster: MiniCluster, *arguments: str, at: str | None = None) -> tuple[int, str]:
    """Run `howdah haadmin`, as a client or where a server is; its exit status, and what it
    printed."""
    from howdah.cli.main import main

    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        conf_dir = cluster.conf_dir if at is None else cluster.dir / at / "conf"
        status = main(["haadmin", "--conf", str(conf_dir), *arguments])
    return status, told.getvalue()


Trouble = Callable[[MiniCluster], Failover]
TROUBLES: tuple[Trouble, ...] = (
    kill_active,
    freeze_active,
    kill_controller,
    fail_over,
)


def bring(cluster: MiniCluster, dice: random.Random) -> Failover:
    """Some trouble that ends with another active namenode."""
    return dice.choice(TROUBLES)(cluster)


def settle(cluster: MiniCluster, old: str) -> None:
    """Return when `old`, which was active and continues, is so no more, and all of it serves."""
    wait_until(lambda: _is_no_more_active(cluster, old), TIMEOUT_S, f"{old} stops being active")
    mend(cluster)


def _over(cluster: MiniCluster, how: str, old: str, began_at: float) -> Failover:
    new = cluster.active(but=old, timeout_s=TIMEOUT_S)
    done = Failover(how, old, new, began_at, time.monotonic())
    mend(cluster)
    return done


def _is_no_more_active(cluster: MiniCluster, name: str) -> bool:
    return not cluster.process(name).alive or cluster.ha_states()[name] == "standby"


def mend(cluster: MiniCluster) -> None:
    """Start what does not run; return when all of it serves."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        for server in cluster.processes:
            if not server.alive:
                cluster.start(server.name)
        try:
            cluster.wait_ready(TIMEOUT_S)
            wait_for_journal_nodes(cluster)
            return
        except ServerFailed:
            # A former active that finds itself fenced ends, maybe after it was seen to run.
            everything_runs = all(server.alive for server in cluster.processes)
            if everything_runs or time.monotonic() > deadline:
                raise


def wait_for_journal_nodes(cluster: MiniCluster) -> None:
    """Return when the active has left out none. One that was away takes part from the next
    segment on, and until then the log outlives the loss of no other."""
    wait_until(lambda: not left_out(cluster), TIMEOUT_S, "all journal nodes take part")


def left_out(cluster: MiniCluster) -> list[str]:
    """What the active says of journal nodes that get no edits; what it says of itself if it
    has none."""
    active = cluster.process(cluster.active(timeout_s=TIMEOUT_S))
    url = f"http://{active.addresses['http']}/jmx?get={NAME_NODE_INFO}::NameJournalStatus"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            (bean,) = json.load(answer)["beans"]
    except OSError as error:
        return [str(error)]
    journals: list[dict[str, str]] = json.loads(bean["NameJournalStatus"])
    if any(each["manager"].startswith("QJM to ") for each in journals):
        return []  # Hadoop's lets it join in at the next roll, minutes later.
    shared = [each for each in journals if each["manager"].startswith(SHARED)]
    if not shared:
        return ["it writes no shared log"]
    return [each["stream"] for each in shared if RESYNC in each["stream"]]
