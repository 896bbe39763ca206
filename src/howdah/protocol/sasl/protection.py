"""How a connection is protected once both sides are known: the quality of protection of SASL.

`hadoop.rpc.protection` and `dfs.data.transfer.protection` name one or several, in the order in
which their side prefers them. SaslRpcServer.QualityOfProtection in Hadoop.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from howdah import errors

LEAST_WRAPPED_BYTES: Final = 1024
"""A client that takes shorter messages is refused: each message costs the server as much as a
thousand bytes, and who asked for messages of one byte would keep it busy for minutes by one
answer. Hadoop's clients take 65,536."""


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


def check_room(most_bytes: int, mechanism: str) -> None:
    """Raises AuthenticationFailed for a client that takes messages of `most_bytes` at most, if that
    is too few."""
    if most_bytes < LEAST_WRAPPED_BYTES:
        raise errors.AuthenticationFailed(
            f"{mechanism}: the client takes protected messages of {most_bytes} bytes at most, and "
            f"has to take {LEAST_WRAPPED_BYTES} or more"
        )
