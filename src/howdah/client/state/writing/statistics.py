"""What an output stream has done so far, in numbers (pure)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputStatistics:
    """Counts of one stream since it was opened.

    `bytes_written` are those that writers handed over, `bytes_acknowledged` those that
    every datanode of the pipeline has of them. Packets that were sent again after a
    failure are in `packets_sent` as well as in `packets_resent`.
    """

    bytes_written: int = 0
    bytes_acknowledged: int = 0
    packets_sent: int = 0
    packets_resent: int = 0
    heartbeats_sent: int = 0
    blocks_begun: int = 0
    blocks_finished: int = 0
    blocks_abandoned: int = 0
    blocks_synced_late: int = 0
    hflushes: int = 0
    hsyncs: int = 0
    recoveries: int = 0
    datanodes_failed: int = 0
    datanodes_added: int = 0
    restarts_awaited: int = 0


@dataclass(slots=True)
class PipelineCounts:
    """The pipeline's share of them, as it counts."""

    bytes_acknowledged: int = 0
    packets_sent: int = 0
    packets_resent: int = 0
    heartbeats_sent: int = 0
    blocks_begun: int = 0
    blocks_finished: int = 0
    blocks_abandoned: int = 0
    blocks_synced_late: int = 0
    recoveries: int = 0
    datanodes_failed: int = 0
    datanodes_added: int = 0
    restarts_awaited: int = 0
