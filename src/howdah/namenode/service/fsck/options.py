"""What a run of fsck is asked for (pure): the parameters of Hadoop's FsckServlet.

All but `path`, `blockId`, `startblockafter` and `ugi` are flags: they count when they are
there, whatever their value. Parameters that nobody knows are ignored, as Hadoop does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.runtime.users.names import ProxyUser

DEFAULT_USER: Final = "dr.who"
"""Who asks if the request does not say: `hadoop.http.staticuser.user`."""


@dataclass(frozen=True, slots=True)
class Options:
    """One run. `block_ids` is None unless single blocks are asked for."""

    path: str = "/"
    files: bool = False
    blocks: bool = False
    locations: bool = False
    racks: bool = False
    replica_details: bool = False
    upgrade_domains: bool = False
    maintenance: bool = False
    storage_policies: bool = False
    show_progress: bool = False
    open_for_write: bool = False
    include_snapshots: bool = False
    list_corrupt: bool = False
    skip: int = 0
    """Of the list of corrupt blocks: how many the caller has seen."""
    block_ids: tuple[str, ...] | None = None
    move: bool = False
    delete: bool = False
    replicate: bool = False

    @property
    def shows_replicas(self) -> bool:
        return self.locations or self.racks or self.replica_details or self.upgrade_domains

    @property
    def changes_something(self) -> bool:
        return self.move or self.delete or self.replicate


def parse_options(query: Mapping[str, str]) -> Options:
    """Raises IllegalArgument for a number that is none."""
    return Options(
        path=query.get("path", "/"),
        files="files" in query,
        blocks="blocks" in query,
        locations="locations" in query,
        racks="racks" in query,
        replica_details="replicadetails" in query,
        upgrade_domains="upgradedomains" in query,
        maintenance="maintenance" in query,
        storage_policies="storagepolicies" in query,
        show_progress="showprogress" in query,
        open_for_write="openforwrite" in query,
        include_snapshots="includeSnapshots" in query,
        list_corrupt="listcorruptfileblocks" in query,
        skip=_count(query.get("startblockafter", "0")),
        block_ids=_split_words(query["blockId"]) if "blockId" in query else None,
        move="move" in query,
        delete="delete" in query,
        replicate="replicate" in query,
    )


def user_of(
    query: Mapping[str, str], proven: str | None = None, names: UserOf = simple_user
) -> str:
    """Who asks: who has `proven` to, or where everybody is believed `user.name`, or the first name
    of `ugi`, behind which groups may stand. With `doas` that one acts for another. `names` has the
    users of names, which may be principals.

    Raises IllegalArgument for what is no name then, AuthorizationFailed for another name than the
    proven one.
    """
    named = query.get("user.name") or query.get("ugi", "").partition(",")[0]
    acts_for = next((text for name, text in query.items() if name.lower() == "doas"), "")
    try:
        named, acts_for = names(named), names(acts_for)
    except errors.AuthenticationFailed as error:
        raise errors.IllegalArgument(f"Illegal principal name: {error.message}") from None
    if proven is not None and named not in ("", proven):
        raise errors.AuthorizationFailed(f"Usernames not matched: name={named} != {proven}")
    user = proven or named or DEFAULT_USER
    return ProxyUser(acts_for, user) if acts_for not in ("", user) else user


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise errors.IllegalArgument(f"startblockafter={text!r} is no number of blocks")
    return int(text)


def _split_words(text: str) -> tuple[str, ...]:
    """Parted by single blanks; those at the end do not count."""
    return tuple(text.rstrip(" ").split(" "))
