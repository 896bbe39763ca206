"""Faults that this project had, or nearly had, each put back by a small change of its source.

    python -m tests.support.old_faults --list
    python -m tests.support.old_faults reads_before_durable 1-200
    python -m tests.support.old_faults --all 1-20

The first form lists them. The others run the scenarios of a fault, seed by seed, until a simulated
world finds it, and tell which seed did. The status is 1 if a fault was not found. A change that no
longer fits the source fails with its text: whoever changes the source mends it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Final

from howdah.testing.world import loader, runner
from howdah.testing.world.blanks import BlankProcesses


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces a text that a module has once."""

    module: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class OldFault:
    """Is a fault: what goes wrong, how to put it back, and which scenarios are to find it."""

    name: str
    what: str
    changes: tuple[Change, ...]
    scenarios: tuple[str, ...]

    def put_back(self) -> None:
        for change in self.changes:
            loader.change_code(change.module, change.old, change.new)


@dataclass(frozen=True, slots=True)
class Finding:
    """Says which world found a fault, and how, or that none did."""

    fault: str
    worlds: int
    seconds: float
    scenario: str = ""
    seed: int = 0
    why: str = ""
    is_sound: bool | None = None
    """Whether the same world goes well without the fault, if that was asked."""

    def __str__(self) -> str:
        if not self.why:
            return f"{self.fault}: NOT FOUND in {self.worlds} worlds ({self.seconds:.0f} s)"
        sound = {None: "", True: "; sound without", False: "; FAILS WITHOUT IT"}[self.is_sound]
        return (
            f"{self.fault}: found by {self.scenario} {self.seed}, world {self.worlds}{sound}: "
            f"{self.why} ({self.seconds:.0f} s)"
        )


_LIMIT_S: Final = 300.0
_KNOWN_WORLDS: Final = 40
_BARRIER: Final = "howdah.namenode.service.ha.durability_barrier"
_BLOCKS: Final = "howdah.namenode.state.blocks"
_WRITING: Final = "howdah.namenode.service.writing"
_REPLICAS: Final = "howdah.datanode.replicas"
_ONE: Final = ("datanodes", "datanodes-all-faults")
_PAIR: Final = ("highly-available", "highly-available-all-faults")


def _fault(
    name: str, what: str, module: str, old: str, new: str, scenarios: tuple[str, ...]
) -> OldFault:
    return OldFault(name, what, (Change(module, old, new),), scenarios)


FAULTS: Final = (
    _fault(
        "reads_before_durable",
        "answers do not wait until the log is durable",
        _BARRIER,
        "        if self._namesystem.broken is not None:\n            return True  # The process",
        "        if True:\n            return False\n"
        "        if self._namesystem.broken is not None:\n            return True  # The process",
        ("namenode",),
    ),
    _fault(
        "directory_not_synced",
        "a directory that is made is not synced into the one above it",
        "howdah.runtime.disk",
        "    _run(Operation.MAKE_DIRECTORY, path, lambda: path.mkdir(mode=mode, exist_ok=True))\n"
        "    sync_directory(path.parent)\n",
        "    _run(Operation.MAKE_DIRECTORY, path, lambda: path.mkdir(mode=mode, exist_ok=True))\n",
        ("namenode", "datanodes"),
    ),
    _fault(
        "name_of_file_not_synced",
        "a file that replaces another one is not synced into its directory",
        "howdah.runtime.atomic_files",
        "        raise\n    fsync_directory(target.parent)\n",
        "        raise\n",
        ("namenode", "highly-available"),
    ),
    _fault(
        "segment_not_synced",
        "the log is written and not synced",
        "howdah.namenode.journal.directory_journal",
        "        self._open_writer().sync()",
        "        self._open_writer().write()",
        ("namenode",),
    ),
    _fault(
        "hsync_without_sync",
        "hsync is answered without a sync of the data",
        f"{_REPLICAS}.writer",
        "        if not self.block_is_synced:\n            os.fdatasync(self._block_fd)\n",
        "",
        _ONE,
    ),
    _fault(
        "hsync_without_names",
        "hsync does not sync the directory of a new replica",
        f"{_REPLICAS}.writer",
        "        sync_directories(self._unsynced)\n",
        "",
        _ONE,
    ),
    _fault(
        "close_without_sync",
        "a block that was synced once is not synced when it ends",
        "howdah.datanode.transfer.receiver",
        "durable = self._settings.sync_on_close or self._writer.replica.synced",
        "durable = False",
        _ONE,
    ),
    OldFault(
        "recovery_takes_shortest",
        "a recovery takes the shortest of the replicas that restarted, whatever the namenode knows",
        (
            Change(
                "howdah.datanode.state.block_recovery",
                "            length = max(one.length_bytes for one in of_best)",
                "            length = min(one.length_bytes for one in of_best)",
            ),
            Change(
                "howdah.datanode.state.block_recovery",
                "    length, participants = _choose(whole or candidates)",
                "    length, participants = _choose(candidates)",
            ),
        ),
        _ONE,
    ),
    _fault(
        "recovery_believes_final",
        "a recovery believes a final replica that a power cut has damaged",
        "howdah.datanode.recovery.replica_recovery",
        "        if not _prove(store, block.pool_id, replica):\n            return None\n",
        "",
        _ONE,
    ),
    OldFault(
        "recovery_drops_silent",
        "a recovery drops a block though datanodes that may have it do not answer, and asks those "
        "that have lost it",
        (
            Change(
                "howdah.datanode.state.block_recovery",
                "        _check_empty(order, members, answers)\n",
                "",
            ),
            Change(
                f"{_BLOCKS}.block_map",
                "        return unsettled | self.postponed.at(storage)",
                "        return set()",
            ),
        ),
        ("recoveries",),
    ),
    _fault(
        "recovery_below_floor",
        "a recovery takes replicas that are shorter than what the namenode knows",
        "howdah.datanode.state.block_recovery",
        "    length, participants = _choose(whole or candidates)",
        "    length, participants = _choose(candidates)",
        _ONE,
    ),
    _fault(
        "ack_before_mirror",
        "a datanode acknowledges a packet that its mirror has failed to take",
        "howdah.datanode.transfer.responder",
        "                    pending += encode_ack(header.seqno, replies)",
        "                    pending += encode_ack(header.seqno, (Status.SUCCESS,) * len(replies))",
        ("takeovers",),
    ),
    _fault(
        "last_good_replica_deleted",
        "an order to delete a replica is not checked again before it is sent",
        f"{_BLOCKS}.invalidation",
        "    def _must_stay(self, block: Block, invalidated: Invalidated) -> bool:\n",
        "    def _must_stay(self, block: Block, invalidated: Invalidated) -> bool:\n"
        "        return False\n",
        _ONE,
    ),
    _fault(
        "future_replica_deleted",
        "a replaced active deletes replicas of blocks that its successor has added",
        f"{_BLOCKS}.invalidation",
        "        return self.keeps_future and self._last_stamp() < generation_stamp <= _MOST_STAMP",
        "        return False",
        ("rivals",),
    ),
    OldFault(
        "stale_replica_kept",
        "a replica with an older stamp stays where a newer one has to be copied to",
        (
            Change(
                f"{_BLOCKS}.block_map",
                "        if self._is_active and block.is_settled and block.replicas:\n"
                "            self.invalidation.invalidate(",
                "        if False:\n            self.invalidation.invalidate(",
            ),
            Change(
                f"{_REPLICAS}.store",
                "        if replica is not None and replica.generation_stamp >= "
                "block.generation_stamp:\n            # Also if",
                "        if replica is not None:\n            # Also if",
            ),
        ),
        ("recoveries", "replication"),
    ),
    _fault(
        "postponed_forgotten",
        "a standby forgets the reports that its log does not explain yet",
        f"{_BLOCKS}.block_map",
        "        elif self._may_come(replica.block_id, replica.generation_stamp):\n"
        "            self._postpone(storage, replica)",
        "        elif False:\n            self._postpone(storage, replica)",
        _PAIR,
    ),
    _fault(
        "pipeline_not_awaited",
        "reports of a recovered pipeline that come before its stamp is known are dropped",
        f"{_BLOCKS}.block_map",
        "            if not block.is_settled or not self._is_active:\n"
        "                self._postpone(storage, replica)\n",
        "            if not block.is_settled or not self._is_active:\n",
        _ONE,
    ),
    _fault(
        "news_lost",
        "what a datanode could not report is forgotten",
        "howdah.datanode.control.incremental_reports",
        "        except AWAY:\n            raise\n        except errors.HowdahError as error:\n"
        "            self._refused(",
        "        except AWAY:\n            return\n        except errors.HowdahError as error:\n"
        "            self._refused(",
        ("lost-messages",),
    ),
    _fault(
        "retry_runs_twice",
        "a repeated call runs again",
        "howdah.namenode.service.calls.at_most_once",
        "        if not RetryCache.applies(caller):\n",
        "        if True:\n",
        (*_ONE, *_PAIR),
    ),
    _fault(
        "journal_ack_without_sync",
        "a journal node acknowledges edits that it did not sync",
        "howdah.journalnode.journal_storage",
        "                if write.is_synced:\n",
        "                if False:\n",
        _PAIR,
    ),
    OldFault(
        "promise_not_kept",
        "a journal node takes edits of a writer that was replaced",
        (
            Change(
                "howdah.journalnode.state.acceptor",
                "        if info.epoch < state.promised_epoch:\n            raise",
                "        if False:\n            raise",
            ),
            Change(
                "howdah.journalnode.state.acceptor",
                "        if info.epoch != state.writer_epoch:\n            refusal",
                "        if False:\n            refusal",
            ),
        ),
        _PAIR,
    ),
    OldFault(
        "takeover_chooses_shortest",
        "a writer that takes over chooses the shortest segment, whatever is known to be committed",
        (
            Change(
                "howdah.namenode.state.quorum.recovery",
                "    return 1, epoch, segment.last_txid",
                "    return 1, epoch, -segment.last_txid",
            ),
            Change(
                "howdah.namenode.state.quorum.recovery",
                "        if answer.committed_txid is not None and ",
                "        if False and ",
            ),
        ),
        ("late-journal-nodes",),
    ),
    _fault(
        "serves_beside_lease",
        "a replaced active goes on to answer when its lease has ended",
        _BARRIER,
        "        until_ms = lease.lease_until_ms()\n",
        "        until_ms = None\n",
        _PAIR,
    ),
    _fault(
        "lease_not_awaited",
        "a new active does not wait for the end of its predecessor's lease",
        "howdah.namenode.state.quorum.recovery",
        "        if left_ms:\n            latest_ms",
        "        if False:\n            latest_ms",
        _PAIR,
    ),
    _fault(
        "lost_replica_counted",
        "a block that was being written keeps a datanode that lost its replica",
        f"{_BLOCKS}.block_map",
        "        return unsettled | self.postponed.at(storage)",
        "        return set()",
        _ONE,
    ),
    _fault(
        "orders_not_sent_again",
        "an order to delete that was lost on its way is not sent again",
        f"{_BLOCKS}.reconstruction",
        "            self._map.invalidation.send_again(block)\n",
        "            pass\n",
        ("lost-messages",),
    ),
    _fault(
        "append_does_not_rename",
        "a pipeline goes on under a new stamp that its replica does not have on the disk",
        f"{_REPLICAS}.store",
        "            if durable:\n                sync_directories(directories)\n",
        "",
        _ONE,
    ),
    _fault(
        "image_without_states",
        "an image does not say in which states the log left the blocks of an open file",
        "howdah.namenode.state.images.image",
        "    if file.writer is None:\n        return 0, False\n    states =",
        "    if True:\n        return 0, False\n    states =",
        ("highly-available-all-faults",),
    ),
    _fault(
        "trash_left_alone",
        "a datanode that keeps a state from before an upgrade does not bring back its trash",
        "howdah.datanode.control.directories",
        "            if went_back or (self._rolls_back and trash.restore(slice_.root)):\n",
        "            if went_back:\n",
        ("upgrades",),
    ),
    _fault(
        "excess_counts_again",
        "a replica in excess that has missed an append counts again when there are too few",
        f"{_BLOCKS}.invalidation",
        "                if invalidated.generation_stamp != block.generation_stamp:\n"
        "                    # In excess",
        "                if False:\n                    # In excess",
        ("replication",),
    ),
    _fault(
        "truncations_kept",
        "what was noted of the truncations of files is kept when these are gone",
        "howdah.namenode.state.tree.deletion",
        "                self._truncations.pop(node.inode_id, None)\n",
        "                pass\n",
        ("resources",),
    ),
    _fault(
        "disk_ends_start",
        "a disk that fails when its trash is listed ends the start of a datanode",
        "howdah.datanode.control.directories",
        "                if not is_about_the_disk(error):\n"
        "                    raise\n"
        '                log.error("the trash of %s stays for now: %s", volume, error)\n',
        "                if True:\n"
        "                    raise\n"
        '                log.error("the trash of %s stays for now: %s", volume, error)\n',
        ("datanodes-all-faults", "placing"),
    ),
    _fault(
        "zeros_at_end_of_group",
        "a recovery keeps a stripe that may be the short one at the end of a file",
        "howdah.datanode.state.group_recovery",
        "    if not layout.length or has_more or",
        "    if True or not layout.length or has_more or",
        ("striped", "striped-kills"),
    ),
    _fault(
        "dead_replica_corrupt",
        "what a dead datanode has of a block whose pipeline went on counts as corrupt",
        f"{_BLOCKS}.block_map",
        "        for storage in block.corrupt:\n"
        "            node = storage.node\n"
        "            is_there =",
        "        for storage in ():\n            node = storage.node\n            is_there =",
        _PAIR,
    ),
    _fault(
        "group_stays_open",
        "the last group of a file is waited for as long as a datanode of it is away",
        "howdah.namenode.state.blocks.replica_map",
        "        if not absent or there < needed or (here >= needed and not is_patient):\n",
        "        if not absent or there < needed:\n",
        ("striped", "striped-losses"),
    ),
    _fault(
        "purged_too_early",
        "segments that the oldest image needs are removed",
        "howdah.storage.retention",
        "    needed = kept_txid + 1\n",
        "    return 1 << 62\n    needed = kept_txid + 1\n",
        ("namenode", *_PAIR),
    ),
)


@dataclass(frozen=True, slots=True)
class Known:
    """Says which world has found a fault, at one time: later code has other worlds."""

    scenario: str
    seed: int
    worlds: int
    """How many it took."""
    says: str
    """What that world says, as a regular expression."""
    learned: str = ""
    """What worlds had to learn before one found it."""


KNOWN: Final[dict[str, Known]] = {
    "reads_before_durable": Known(
        "namenode",
        1,
        1,
        "a listing of .* lacks|directories are missing",
        "whoever looks at what others were answered",
    ),
    "directory_not_synced": Known(
        "namenode",
        2,
        2,
        "nn has ended instead of serving",
        "",
    ),
    "name_of_file_not_synced": Known(
        "highly-available",
        2,
        2,
        "has ended instead of serving",
        "60 worlds with one namenode sync the directory soon after",
    ),
    "segment_not_synced": Known(
        "namenode",
        1,
        1,
        "nn has ended instead of serving",
        "",
    ),
    "hsync_without_sync": Known(
        "datanodes",
        2,
        2,
        "differences|did not come about",
        "",
    ),
    "hsync_without_names": Known(
        "recoveries",
        20,
        10,
        "were synced|replicas are not right|bytes after a power cut",
        "writers that die while all datanodes lose their power",
    ),
    "close_without_sync": Known(
        "datanodes",
        2,
        2,
        "differences|did not come about",
        "",
    ),
    "last_good_replica_deleted": Known(
        "replication",
        1,
        1,
        "to delete its replica of",
        "replication that changes while datanodes are away; orders held against what is left",
    ),
    "postponed_forgotten": Known(
        "highly-available",
        1,
        1,
        "does not count a replica",
        "replicas that are counted held against disks, of standbys too",
    ),
    "pipeline_not_awaited": Known(
        "highly-available",
        1,
        1,
        "does not count a replica",
        "replicas that are counted held against disks",
    ),
    "news_lost": Known(
        "lost-messages",
        6,
        6,
        "replicas are not right",
        "messages that are lost one by one, so that nobody registers anew and reports all",
    ),
    "orders_not_sent_again": Known(
        "lost-messages",
        41,
        41,
        "replicas are not right",
        "messages that are lost one by one",
    ),
    "retry_runs_twice": Known(
        "failovers",
        6,
        6,
        "which is there",
        "connections that break with answers under way; directories whose state is certain",
    ),
    "journal_ack_without_sync": Known(
        "failovers",
        5,
        5,
        "main of reader failed|has ended instead|are missing|lacks",
        "",
    ),
    "append_does_not_rename": Known(
        "recoveries",
        9,
        4,
        "after a power cut|bytes, and .* were synced|replicas are not right",
        "writers that go on without a datanode, sync and die with all power",
    ),
    "recovery_takes_shortest": Known(
        "recoveries",
        13,
        4,
        "is recovered with",
        "writers that sync seldom and flush much; the fault lets go of a floor, too, that hides it",
    ),
    "promise_not_kept": Known(
        "failovers",
        7,
        7,
        "for the first time as the active",
        "actives that go on beside their successor",
    ),
    "serves_beside_lease": Known(
        "failovers",
        7,
        7,
        "for the first time as the active",
        "actives that nobody reaches but a reader",
    ),
    "lease_not_awaited": Known(
        "failovers",
        7,
        7,
        "for the first time as the active",
        "actives that go on beside their successor",
    ),
    "purged_too_early": Known(
        "namenode",
        3,
        3,
        "nn has ended instead of serving",
        "a newest image that is damaged",
    ),
    "image_without_states": Known(
        "highly-available-all-faults",
        3,
        3,
        "differ at transaction",
        "",
    ),
    "trash_left_alone": Known(
        "upgrades",
        2,
        2,
        "it takes calls",
        "",
    ),
    "excess_counts_again": Known(
        "replication",
        111,
        12,
        "counts a replica",
        "",
    ),
    "recovery_drops_silent": Known(
        "recoveries",
        4,
        4,
        "is recovered with 0 bytes",
        "the fault lets go of a check, too, that hides it",
    ),
    "ack_before_mirror": Known(
        "takeovers",
        8,
        8,
        "did not come about",
        "pipelines that break behind their first datanode",
    ),
}
"""By fault. Those that are not here were not found so far."""


class Search:
    """Runs worlds with old faults, all in children of this process, which has loaded all code."""

    def __init__(self) -> None:
        runner.warm_up()
        self._blanks = BlankProcesses()
        self._kinds: Counter[str] = Counter()

    def find(self, fault: OldFault, seeds: Iterable[int], scenarios: Sequence[str] = ()) -> Finding:
        """Run scenarios, those of the fault if none is named, in turn until a world finds it."""
        worlds, began_s = 0, time.monotonic()
        for seed in seeds:
            for scenario in scenarios or fault.scenarios:
                worlds += 1
                result = self._run(scenario, seed, partial(self._put_back, fault))
                if result.problem:
                    took_s = time.monotonic() - began_s
                    why = reason(result.problem)
                    return Finding(fault.name, worlds, took_s, scenario, seed, why)
        return Finding(fault.name, worlds, time.monotonic() - began_s)

    def is_sound(self, scenario: str, seed: int) -> bool:
        """Tell whether a world goes well without a fault."""
        return not self._run(scenario, seed, None).problem

    def _run(self, scenario: str, seed: int, before: Callable[[], None] | None) -> runner.Result:
        result = runner.run_forked(
            scenario, seed, blanks=self._blanks, limit_s=_LIMIT_S, before=before
        )
        self._kinds |= Counter(result.processes)
        runner.provide(self._blanks, self._kinds)
        return result

    def _put_back(self, fault: OldFault) -> None:
        fault.put_back()
        for change in fault.changes:
            self._blanks.refresh(change.module)


def reason(problem: str) -> str:
    """Return the line of a world's problem that says most."""
    lines = problem.strip().rpartition("Unexpected: ")[2].splitlines()
    return " | ".join(line.strip() for line in lines[:3])[:300]


def _ranges(words: Sequence[str]) -> Iterator[int]:
    for word in words:
        yield from runner.seeds_of(word)


def main() -> int:
    by_name = {fault.name: fault for fault in FAULTS}
    parser = argparse.ArgumentParser(prog="python -m tests.support.old_faults")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument(
        "--known",
        action="store_true",
        help="begin with the seed that has found the fault, and run it without the fault, too",
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each fault")
    parser.add_argument("words", nargs="*", metavar="FAULT|SEEDS")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{fault.name:28} {fault.what}" for fault in FAULTS))
        return 0
    names = [word for word in arguments.words if not word[0].isdigit()]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        parser.error(f"no such fault: {', '.join(unknown)}")
    seeds = list(_ranges([word for word in arguments.words if word[0].isdigit()] or ["1-2000"]))
    search, all_found = Search(), True
    for fault in FAULTS if arguments.all else [by_name[name] for name in names]:
        if arguments.known:
            known = KNOWN.get(fault.name)
            if known is None:
                continue
            tried = range(known.seed, known.seed + _KNOWN_WORLDS)
            found = search.find(fault, tried, [known.scenario])
        else:
            found = search.find(fault, seeds)
        if arguments.known and found.why:
            is_sound = search.is_sound(found.scenario, found.seed)
            found = replace(found, is_sound=is_sound)
        all_found &= bool(found.why)
        print(json.dumps(asdict(found)) if arguments.json else found, flush=True)
    return int(not all_found)


if __name__ == "__main__":
    sys.exit(main())
