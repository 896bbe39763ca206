"""The words behind `howdah fsck`, and what is asked of the namenode for them (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

FLAGS: Final = {
    "-move": "move",
    "-delete": "delete",
    "-files": "files",
    "-openforwrite": "openforwrite",
    "-blocks": "blocks",
    "-locations": "locations",
    "-racks": "racks",
    "-replicaDetails": "replicadetails",
    "-upgradedomains": "upgradedomains",
    "-storagepolicies": "storagepolicies",
    "-showprogress": "showprogress",
    "-list-corruptfileblocks": "listcorruptfileblocks",
    "-includeSnapshots": "includeSnapshots",
    "-maintenance": "maintenance",
    "-replicate": "replicate",
}
"""The parameter that stands for each option."""

USAGE: Final = """\
Usage: howdah fsck <path> [-list-corruptfileblocks | [-move | -delete | -openforwrite] \
[-files [-blocks [-locations | -racks | -replicaDetails | -upgradedomains]]]] \
[-includeSnapshots] [-showprogress] [-storagepolicies] [-maintenance] [-blockId <blk_Id>] \
[-replicate] [--json]
\t<path>\tcheck this path and all below it; / without it
\t-move\tcopy what is left of damaged files to /lost+found
\t-delete\tdelete damaged files
\t-files\tname every file that is checked
\t-openforwrite\tcheck files that are being written, too
\t-includeSnapshots\tcheck the snapshots of directories as well
\t-list-corruptfileblocks\tlist the blocks without a good replica, with their files
\t-files -blocks\tlist the blocks of every file
\t-files -blocks -locations\tsay where their replicas are
\t-files -blocks -racks\tsay on which racks they are
\t-files -blocks -replicaDetails\tsay how each replica is
\t-files -blocks -upgradedomains\tsay in which upgrade domains they are
\t-storagepolicies\tsum up storage types and policies
\t-maintenance\tsay which replicas are in maintenance
\t-showprogress\thas no effect any more: progress is always shown
\t-blockId\tsay of each of these blocks which file has it, and how its replicas are
\t-replicate\tqueue work for blocks whose replicas are badly placed
\t--json\tprint one JSON object instead of the text

Exit codes: 0 healthy or nothing there, 1 damaged, 255 failed; of a single block also 2
decommissioned, 3 decommissioning, 4 in maintenance, 5 entering maintenance, 6 stale."""


class WrongWords(Exception):
    """What is wrong with the words."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for. `parameters` are those of `FLAGS`, in the order in which they were
    given; `-move` is done here, and so is a `-delete` that comes with it."""

    path: str
    parameters: tuple[str, ...]
    block_ids: tuple[str, ...] | None
    json: bool

    @property
    def move(self) -> bool:
        return "move" in self.parameters

    @property
    def delete(self) -> bool:
        return "delete" in self.parameters

    @property
    def list_corrupt(self) -> bool:
        return "listcorruptfileblocks" in self.parameters

    def target(self, names: Iterable[tuple[str, str]], skip: int = 0) -> str:
        """Path and query of the namenode's page; `names` say who asks, if nothing else does."""
        asked = [p for p in self.parameters if not (self.move and p in ("move", "delete"))]
        query = [f"{name}={_quoted(value)}" for name, value in names]
        query += [f"{name}=1" for name in asked]
        if self.block_ids is not None:
            query.append("blockId=" + _quoted("".join(f"{name} " for name in self.block_ids)))
        query.append(f"path={_quoted(self.path)}")
        if skip:
            query.append(f"startblockafter={skip}")
        return f"/fsck?{'&'.join(query)}"


def parse_words(words: list[str]) -> Wanted:
    """Raises WrongWords."""
    path: str | None = None
    parameters: dict[str, None] = {}
    block_ids: list[str] | None = None
    as_json = takes_blocks = False
    for word in words:
        if not word.startswith("-"):
            if takes_blocks and block_ids is not None:
                block_ids.append(word)
            elif path is None:
                path = word
            else:
                raise WrongWords(f"can only operate on one path at a time '{word}'")
            continue
        takes_blocks = word == "-blockId"
        if takes_blocks:
            block_ids = block_ids or []
        elif word == "--json":
            as_json = True
        elif word in FLAGS:
            parameters[FLAGS[word]] = None
        else:
            raise WrongWords(f"Illegal option '{word}'")
    named = None if block_ids is None else tuple(block_ids)
    return Wanted(path or "/", tuple(parameters), named, as_json)


def _quoted(text: str) -> str:
    return quote_plus(text, safe="*")
