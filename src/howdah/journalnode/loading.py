"""What the files of a journal say, with what a crash left half-way brought to an end (shell;
A10)."""

from __future__ import annotations

import logging
import os
import re
import shutil
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.edits.segment_scan import SegmentEnd
from howdah.journalnode.state.formats import (
    COMMITTED,
    DECISIONS,
    JOINING,
    LAST_PROMISED,
    LAST_WRITER,
    LEASE,
    decode_committed,
    decode_decision,
    decode_number,
)
from howdah.journalnode.state.journal_state import JournalState, SegmentState
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory, replacing
from howdah.storage.segments import (
    Segment,
    in_progress_name,
    list_segments,
    scan_segment,
    write_again,
)

log = logging.getLogger(__name__)

STALE: Final = ".stale"
_FETCHED: Final = re.compile(r"edits_inprogress_(\d+)\.epoch=(\d+)")

Ends = dict[int, int]
"""By the first transaction of an unfinished segment, where its last record ends, in bytes."""


def load(current: Path, suspect_txid: int | None = None) -> tuple[JournalState, Ends]:
    """The state that is in a `current` directory, which is locked.

    `suspect_txid` is a segment of which a write or sync has failed: what the system shows of
    it need not be on the disk, so it is written once more. Raises InconsistentStorage, OSError.
    """
    state = JournalState(
        promised_epoch=_number(current / LAST_PROMISED, "an epoch"),
        writer_epoch=_number(current / LAST_WRITER, "an epoch"),
        committed_txid=_committed_txid(current / COMMITTED),
        is_joining=(current / JOINING).exists(),
        lease_ms=_number(current / LEASE, "the length of a lease"),
    )
    decisions = current / DECISIONS
    if decisions.is_dir():
        for path in decisions.iterdir():
            if path.name.isascii() and path.name.isdigit():
                first_txid = int(path.name)
                decision = decode_decision(path.read_bytes(), first_txid, str(path))
                state.decisions[first_txid] = decision
    _end_fetches(current, state)
    ends: Ends = {}
    for segment in list_segments(current):
        _load_segment(state, ends, segment, segment.first_txid == suspect_txid)
    _check_promises(current, state)
    return state, ends


def _check_promises(current: Path, state: JournalState) -> None:
    """The files have to be of one time: a promise that was lost, or is an older one, would let a
    writer go on that was fenced, or rank this node's edits behind those of an earlier writer.

    What a segment's first record needs is written before it, in this order: the promise, the
    writer's epoch, the segment. Raises InconsistentStorage.
    """
    advice = (
        "Bring the file back; or, while the other nodes have a majority, empty the directory and "
        "let the node take the place of a lost one (dfs.journalnode.enable.sync.format = true)"
    )
    if state.promised_epoch < state.writer_epoch:
        raise errors.InconsistentStorage(
            f"{current / LAST_PROMISED} has epoch {state.promised_epoch}, and {LAST_WRITER} the "
            f"later epoch {state.writer_epoch}: it was lost, or is an older copy. {advice}"
        )
    for first_txid, decision in state.decisions.items():
        if state.promised_epoch < decision.epoch:
            raise errors.InconsistentStorage(
                f"{current / LAST_PROMISED} has epoch {state.promised_epoch}, and the decision "
                f"about segment {first_txid} is of epoch {decision.epoch}: it was lost, or is an "
                f"older copy. {advice}"
            )
    for segment in state.segments.values():
        is_of_a_writer = segment.in_progress and segment.first_txid not in state.decisions
        if not state.writer_epoch and is_of_a_writer and not segment.is_empty:
            raise errors.InconsistentStorage(
                f"{current / LAST_WRITER} is missing, and a writer began "
                f"{in_progress_name(segment.first_txid)} here. {advice}"
            )


def set_aside(path: Path, suffix: str) -> None:
    """Keep a file under a name that is no segment's, durably."""
    target = path.with_name(path.name + suffix)
    log.warning("%s is set aside as %s", path, target.name)
    disk.rename(path, target)
    fsync_directory(path.parent)


def _number(path: Path, quantity: str) -> int:
    try:
        return decode_number(path.read_bytes(), str(path), quantity)
    except FileNotFoundError:
        return 0


def _committed_txid(path: Path) -> int | None:
    try:
        return decode_committed(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None


def _end_fetches(current: Path, state: JournalState) -> None:
    """Put what was fetched for a decision in its place, if the decision is kept."""
    for path in list(current.iterdir()):
        match = _FETCHED.fullmatch(path.name)
        if match is None:
            continue
        decision = state.decisions.get(int(match[1]))
        if decision is not None and decision.epoch == int(match[2]):
            log.info("%s takes its place: its decision is kept", path)
            disk.rename(path, current / in_progress_name(int(match[1])))
        else:
            log.info("%s is removed: no decision about it is kept", path)
            disk.unlink(path)
        fsync_directory(current)


def _load_segment(state: JournalState, ends: Ends, segment: Segment, is_suspect: bool) -> None:
    first_txid = segment.first_txid
    if segment.last_txid is not None:
        known = state.segments.get(first_txid)
        if known is not None:
            raise errors.InconsistentStorage(
                f"{segment.path} and a segment that ends with transaction "
                f"{known.last_txid} begin with the same one: move the wrong one away"
            )
        state.segments[first_txid] = SegmentState(first_txid, segment.last_txid, False)
        return
    if first_txid in state.segments:
        # Journal sync brought the finished one.
        set_aside(segment.path, STALE)
        return
    try:
        end = _scanned(segment, is_suspect)
    except (errors.CorruptEditLog, errors.IncorrectVersion) as error:
        log.error("a segment of this journal cannot be read: %s", error)
        state.damaged[first_txid] = str(error)
        return
    last_txid = first_txid - 1 if end.last_txid is None else end.last_txid
    state.segments[first_txid] = SegmentState(first_txid, last_txid, True)
    ends[first_txid] = end.valid_bytes


def _scanned(segment: Segment, is_suspect: bool) -> SegmentEnd:
    """Where a segment ends, which is durable then: others rely on what is said of it.

    A sync that failed may have been that of the process before, which left no trace. So what is
    found is always written again, and of what is suspect nothing stays where it was.
    """
    if is_suspect:
        with open(segment.path, "rb") as old, replacing(segment.path) as new:
            shutil.copyfileobj(old, new)
    end = scan_segment(segment)
    if end.torn_bytes:
        log.warning("%s has %d torn bytes: %s", segment.path, end.torn_bytes, end.torn_reason)
    descriptor = disk.open_file(segment.path, os.O_RDWR)
    try:
        write_again(descriptor, end.valid_bytes, segment.path)
        disk.sync(descriptor, segment.path)
    finally:
        os.close(descriptor)
    return end
