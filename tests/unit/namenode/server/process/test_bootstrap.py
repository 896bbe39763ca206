"""What a new namenode wants of the shared log."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.server.process import bootstrap
from howdah.namenode.server.process.bootstrap import LOGS_UNAVAILABLE, BootstrapFailed
from howdah.namenode.state.edit_log.journal import Batch
from tests.support.journals.quorum import VERSION, Quorum

QUIET = {"howdah.ha.lease.ms": "1h"}
"""No heartbeat says what is committed, as of a namenode of Hadoop's."""


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[Quorum]:
    nodes = Quorum(tmp_path)
    nodes.log().format(VERSION)
    yield nodes
    nodes.close()


def test_a_log_that_ends_with_the_beginning_of_a_segment_is_whole(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the log of a namenode of Hadoop's ends that has just begun one."""
    monkeypatch.setattr(bootstrap, "ON_THEIR_WAY_S", 0.0)
    with contextlib.closing(quorum.log(**QUIET).take_over()) as journal:
        for first_txid, last_txid in ((1, 2), (3, 4)):
            journal.begin_segment(first_txid)
            for txid, edit in (
                (first_txid, edits.StartLogSegmentOp()),
                (last_txid, edits.EndLogSegmentOp()),
            ):
                journal.append(Batch(txid, 1, encode_record(txid, edit)))
            journal.make_durable()
            journal.end_segment(last_txid)
        journal.begin_segment(5)
        journal.append(Batch(5, 1, encode_record(5, edits.StartLogSegmentOp())))
        journal.make_durable()
        with contextlib.closing(quorum.log()) as log:
            bootstrap._check_shared(log, bootstrap._Offer("nn0", VERSION, 2, 5, None))
            lacking = bootstrap._Offer("nn0", VERSION, 2, 6, None)
            # A journal node whose request left last may have been told that 5 is committed: it is
            # readable there, then.
            with pytest.raises(BootstrapFailed, match=r"lacks transactions [56] to 6") as caught:
                bootstrap._check_shared(log, lacking)
    assert caught.value.code == LOGS_UNAVAILABLE
