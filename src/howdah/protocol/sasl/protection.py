"""How a connection is protected once both sides are known: the quality of protection of SASL.

`hadoop.rpc.protection` and `dfs.data.transfer.protection` name one or several, in the order in
which their side prefers them. SaslRpcServer.QualityOfProtection in Hadoop.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence

from howdah import errors


class Protection(enum.Enum):
    """The value is SASL's word; the name in lower case is Hadoop's."""

    AUTHENTICATION = "auth"
    INTEGRITY = "auth-int"
    PRIVACY = "auth-conf"

    @property
    def word(self) -> str:
        """How configurations name it."""
        return self.name.lower()


_BY_WORD = {each.word: each for each in Protection}


def parse_protections(words: Iterable[str]) -> tuple[Protection, ...]:
    """Read the words of a configuration. Raises ValueError for one that is none."""
    found: list[Protection] = []
    for word in words:
        try:
            protection = _BY_WORD[word.strip().lower()]
        except KeyError:
            raise ValueError(
                f"{word.strip()!r} is not a protection: {', '.join(_BY_WORD)} are"
            ) from None
        if protection not in found:
            found.append(protection)
    return tuple(found)


def show_protections(protections: Iterable[Protection]) -> str:
    """Return the words of a configuration for them."""
    return ",".join(each.word for each in protections) or "none"


def choose_protection(
    wanted: Sequence[Protection], offered: Collection[Protection], setting: str
) -> Protection:
    """Return the first of `wanted` that the server offers.

    Raises AuthenticationFailed, which names the key (`setting`) and what to set, if it offers none.
    """
    for protection in wanted:
        if protection in offered:
            return protection
    raise errors.AuthenticationFailed(
        f"No common protection: the server offers {show_protections(offered)}, and {setting} = "
        f"{show_protections(wanted)} here. Set {setting} to one of the server's protections on "
        "this side, or add one of these on the server's side."
    )
