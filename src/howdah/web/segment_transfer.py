"""Segments of journal nodes over HTTP: how one is asked for (pure).

Mirrors Hadoop's GetJournalEditServlet:

    GET /getJournal?jid=J&segmentTxId=N&storageInfo=S&inProgressOk=true

`storageInfo` says of which filesystem: another one's is refused. An unfinished segment is
sent as far as it is written, unless `inProgressOk` is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from howdah import errors
from howdah.web.http import Request

PATH: Final = "/getJournal"


@dataclass(frozen=True, slots=True)
class SegmentWanted:
    """One segment of a journal. `storage_info` is as in `howdah.web.image_transfer`."""

    journal_id: str
    first_txid: int
    storage_info: str | None = None
    in_progress_ok: bool = True

    def target(self) -> str:
        """To be appended to `http://host:port`."""
        values = {"jid": self.journal_id, "segmentTxId": self.first_txid}
        if self.storage_info is not None:
            values["storageInfo"] = self.storage_info
        values["inProgressOk"] = "true" if self.in_progress_ok else "false"
        return f"{PATH}?{urlencode(values)}"

    def is_of(self, namespace_id: int, cluster_id: str) -> bool:
        """Whether the segment of this filesystem is asked for, or of any."""
        if self.storage_info is None:
            return True
        _, _, rest = self.storage_info.partition(":")
        namespace, _, rest = rest.partition(":")
        _, _, cluster = rest.partition(":")
        return (namespace, cluster) == (str(namespace_id), cluster_id)


def parse_wanted(request: Request) -> SegmentWanted:
    """Raises IllegalArgument."""
    query = request.query
    first_txid = query.get("segmentTxId", "")
    if not (first_txid.isascii() and first_txid.isdigit() and len(first_txid) <= 19):
        raise errors.IllegalArgument(f"segmentTxId has to be a number, not {first_txid!r}")
    return SegmentWanted(
        query.get("jid", ""),
        int(first_txid),
        query.get("storageInfo") or None,
        query.get("inProgressOk", "true").lower() != "false",
    )
