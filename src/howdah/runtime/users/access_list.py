"""Who may do something, as an administrator writes it (pure): Hadoop's AccessControlList.

`user1,user2 group1,group2`: users, a blank, groups. A text that begins with a blank names groups
alone. A `*` that stands alone is everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

from howdah.config.value_types import parse_list

EVERYBODY: Final = "*"


@dataclass(frozen=True, slots=True)
class ListedUsers:
    """What the text of a list names."""

    everybody: bool
    users: frozenset[str]
    groups: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> ListedUsers:
        users, _, groups = text.partition(" ")
        return cls(
            EVERYBODY in (users.strip(), groups.strip()),
            frozenset(parse_list(users)),
            frozenset(parse_list(groups)),
        )


class AccessList(Set[str]):
    """The names of users that may. Whoever is in one of the groups is among them, too, though not
    named: that is asked for when it is."""

    def __init__(
        self, text: str, groups: Callable[[str], Sequence[str]], also: Iterable[str] = ()
    ) -> None:
        """`groups` are those of a user; `also` are more users."""
        listed = ListedUsers.parse(text)
        self._everybody = listed.everybody
        self._users = listed.users.union(also)
        self._groups = listed.groups
        self._groups_of = groups

    def __contains__(self, user: object) -> bool:
        if self._everybody or user in self._users:
            return True
        if not self._groups or not isinstance(user, str):
            return False
        return not self._groups.isdisjoint(self._groups_of(user))

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def __len__(self) -> int:
        return len(self._users)
