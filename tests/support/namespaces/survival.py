"""After a crash a namespace is what it was after its last complete transaction.

The log may end after any record, or within one, with 0xFF or nothing behind it. Images may
have been written at any transaction. A history is checked against all of that: every prefix
of its log, tails torn at some bytes (at each one in a thorough check), images at some
transactions, and starts from real directories.
"""

from __future__ import annotations

import io
import random
import zlib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.formats.edits.segment_scan import FILL, SegmentReader, encode_header
from howdah.formats.image.sections import Sink
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.tree.namespace import Namespace
from howdah.storage.image_files import save_image
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import finished_name, in_progress_name
from howdah.testing.fingerprint import Fingerprint, check_consistent, fingerprint
from howdah.testing.in_memory import InMemoryNamenode

IMAGES: Final = 2
TEARS: Final = 2
FILL_BYTES: Final = 64


class NotedNamespace(Namespace):
    """Notes what it is after each transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[Fingerprint] = [fingerprint(self)]

    def apply(self, edit: edits.Edit) -> None:
        super().apply(edit)
        self.states.append(fingerprint(self))


class Survival:
    """The log of a history, and what the namespace was after each of its records."""

    def __init__(self, log: Sequence[bytes], states: Sequence[Fingerprint]) -> None:
        assert len(states) == len(log) + 1, "nothing but edits changes a namespace"
        self._log = log
        self._states = states
        self._dice = random.Random(zlib.crc32(b"".join(log)))

    def check_prefixes(self) -> None:
        """A replay goes through every state that there was."""
        self._replay_on(Namespace(), 0)

    def _replay_on(self, namespace: Namespace, done: int) -> None:
        for txid, record in enumerate(self._log[done:], done + 1):
            logged = decode_record(record)
            assert logged.txid == txid
            namespace.apply(logged.edit)
            self._compare(namespace, txid)
            # Nobody can tell how much of what was deleted is freed by now.
            namespace.reap(self._dice.choice((0, 1, 3)))
        reap(namespace)
        check_consistent(namespace)

    def _compare(self, namespace: Namespace, txid: int) -> None:
        found = fingerprint(namespace)
        assert found == self._states[txid], f"after transaction {txid} of {len(self._log)}"

    def check_tears(self, *, thorough: bool) -> None:
        """Of a log that ends in the middle of a record all before it is left, and no more."""
        for whole, record in enumerate(self._log):
            cuts = range(1, len(record))
            for cut in cuts if thorough else self._dice.sample(cuts, TEARS):
                torn = torn_at(record, cut) + FILL * self._dice.choice([0, FILL_BYTES])
                before = encode_header() + (self._log[whole - 1] if whole else b"")
                source = io.BytesIO(before + torn)
                reader = SegmentReader(source, "torn", first_txid=max(whole, 1))
                end = reader.scan()
                assert (end.valid_bytes, end.last_txid) == (len(before), whole or None)

    def check_images(self, *, count: int = IMAGES) -> None:
        """The rest of the log does the same to what an image kept."""
        places = self._dice.choices(range(len(self._states)), k=count)
        # A copy that was not made yet is what is easiest lost.
        copying = [at for at, state in enumerate(self._states) if state["snapshots"][2]]
        places += self._dice.choices(copying, k=count) if copying else []
        for at in places:
            image = io.BytesIO()
            write_image(self._replayed(at), 7, at, image)
            image.seek(0)
            namespace, counters = read_image(image, "fsimage")
            assert counters.txid == at
            self._compare(namespace, at)
            check_consistent(namespace)
            self._replay_on(namespace, at)

    def _replayed(self, count: int) -> Namespace:
        namespace = Namespace()
        for record in self._log[:count]:
            namespace.apply(decode_record(record).edit)
        return namespace

    def check_start(self) -> None:
        """A crash somewhere, and a start from the directory that it left."""
        whole = self._dice.randint(0, len(self._log) - 1)
        rolled = self._dice.randint(0, whole)
        imaged = self._dice.choice([0, self._dice.randint(0, whole)])
        record = self._log[whole]
        torn = torn_at(record, self._dice.randrange(len(record)))
        with TemporaryDirectory() as place:
            root = Path(place) / "name"
            self._leave(root, imaged, rolled, whole, torn)
            loaded = load([root], [root])
            try:
                assert (loaded.last_txid, loaded.image_txid) == (whole, imaged)
                self._compare(loaded.namespace, whole)
                check_consistent(loaded.namespace)
            finally:
                for lock in loaded.locks:
                    lock.release()

    def _leave(self, root: Path, imaged: int, rolled: int, whole: int, torn: bytes) -> None:
        """A name directory with an image, a finished segment, and one in progress."""
        version = format_namenode(Configuration({"dfs.namenode.name.dir": root.as_uri()}))
        current = root / "current"

        def write(sink: Sink) -> None:
            write_image(self._replayed(imaged), version.namespace_id, imaged, sink)

        if imaged:
            save_image([current], imaged, write)
        head = encode_header()
        if rolled:
            finished = current / finished_name(1, rolled)
            finished.write_bytes(head + b"".join(self._log[:rolled]))
        last = current / in_progress_name(rolled + 1)
        last.write_bytes(head + b"".join(self._log[rolled:whole]) + torn + FILL * FILL_BYTES)
        # It follows the first record of a segment, and never comes before it.
        StorageDirectory(root).write_seen_txid(rolled + 1 if whole > rolled else min(rolled, 1))


def torn_at(record: bytes, cut: int) -> bytes:
    """Its first bytes; so many that what comes behind does not make it whole by chance."""
    return record[: min(cut, len(record.rstrip(FILL)) - 1)]


def reap(namespace: Namespace) -> None:
    while namespace.must_reap:
        namespace.reap(10)


def check_survival(namenode: InMemoryNamenode, *, thorough: bool = False) -> None:
    """Raises AssertionError if a crash would have cost something, or brought something."""
    noted = namenode.namesystem.namespace
    assert isinstance(noted, NotedNamespace)
    survival = Survival(namenode.log, noted.states)
    survival.check_prefixes()
    survival.check_tears(thorough=thorough)
    survival.check_images(count=10 * IMAGES if thorough else IMAGES)
    for _ in range(20 if thorough else 1):
        survival.check_start()
