"""Who may do what with keys, by `kms-acls.xml` (pure).

Two questions are asked of each call, as Hadoop's KMS does (KMSACLs):

1. May this user make such calls at all? `hadoop.kms.acl.OPERATION` (everybody, if it is not said)
   without those of `hadoop.kms.blacklist.OPERATION`.
2. May he with this key? `key.acl.KEY.USE`, or `default.key.acl.USE` for a key that has no list at
   all, or `whitelist.key.acl.USE`. Where nothing is said nobody may, and who may ALL may the rest.

A key's list is that of its name, or of its attribute `key.acl.name`. ALL is for the lists of one
key: of all keys Hadoop's KMS passes it over, so that a file which opened nothing there would open
everything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from howdah import errors
from howdah.runtime.users.access_list import AccessList

FILE: Final = "kms-acls.xml"
ACL_NAME: Final = "key.acl.name"
"""The attribute of a key that names its list."""
_ACL: Final = "hadoop.kms.acl."
_BLACKLIST: Final = "hadoop.kms.blacklist."
_OF_KEY: Final = "key.acl."
_DEFAULT: Final = "default.key.acl."
_WHITELIST: Final = "whitelist.key.acl."
PREFIXES: Final = (_ACL, _BLACKLIST, _OF_KEY, _DEFAULT, _WHITELIST)


class Operation(StrEnum):
    """What a user may make calls for."""

    CREATE = "CREATE"
    DELETE = "DELETE"
    ROLLOVER = "ROLLOVER"
    GET = "GET"
    GET_KEYS = "GET_KEYS"
    GET_METADATA = "GET_METADATA"
    SET_KEY_MATERIAL = "SET_KEY_MATERIAL"
    GENERATE_EEK = "GENERATE_EEK"
    DECRYPT_EEK = "DECRYPT_EEK"


class Use(StrEnum):
    """What is done with a key."""

    MANAGEMENT = "MANAGEMENT"
    GENERATE_EEK = "GENERATE_EEK"
    DECRYPT_EEK = "DECRYPT_EEK"
    READ = "READ"
    ALL = "ALL"


Groups = Callable[[str], Sequence[str]]


class KeyAccess:
    """The lists of one reading of the file."""

    def __init__(self, settings: Iterable[tuple[str, str]], groups: Groups) -> None:
        """`settings` are keys and values of which those below `PREFIXES` count. Raises
        InvalidConfiguration for one that names no operation and no use."""
        self._calls: dict[Operation, AccessList] = {}
        self._barred: dict[Operation, AccessList] = {}
        self._of_key: dict[str, dict[Use, AccessList]] = {}
        self._default: dict[Use, AccessList] = {}
        self._whitelist: dict[Use, AccessList] = {}
        for name, text in settings:
            if name.startswith(_ACL):
                self._calls[_operation(name, _ACL)] = AccessList(text, groups)
            elif name.startswith(_BLACKLIST):
                self._barred[_operation(name, _BLACKLIST)] = AccessList(text, groups)
            elif name.startswith(_DEFAULT):
                self._default[_use_of_all_keys(name, _DEFAULT)] = AccessList(text, groups)
            elif name.startswith(_WHITELIST):
                self._whitelist[_use_of_all_keys(name, _WHITELIST)] = AccessList(text, groups)
            elif name.startswith(_OF_KEY):
                key, _, _ = name.removeprefix(_OF_KEY).rpartition(".")
                lists = self._of_key.setdefault(key, {})
                lists[_use(name, f"{_OF_KEY}{key}.")] = AccessList(text, groups)

    def allows_call(self, user: str, operation: Operation) -> bool:
        """Whether a user may make such calls."""
        if operation in self._barred and user in self._barred[operation]:
            return False
        return operation not in self._calls or user in self._calls[operation]

    def check_call(self, user: str, operation: Operation, name: str, key: str | None) -> None:
        """Raises AccessDenied for a user who may not make a call, which `name` is for."""
        if not self.allows_call(user, operation):
            where = "" if key is None else f" on '{key}'"
            raise errors.AccessDenied(f"User:{user} not allowed to do '{name}'{where}")

    def allows_use(self, user: str, list_name: str, use: Use) -> bool:
        """Whether a user may do so with the keys of a list."""
        is_said = list_name in self._of_key or use in self._default or use in self._whitelist
        return is_said and any(self._has(user, list_name, each) for each in (use, Use.ALL))

    def _has(self, user: str, list_name: str, use: Use) -> bool:
        lists: Mapping[Use, AccessList] = self._of_key.get(list_name, self._default)
        return any(user in those[use] for those in (lists, self._whitelist) if use in those)

    def check_use(self, user: str, list_name: str, use: Use) -> None:
        """Raises AccessDenied for a user who may not."""
        if not self.allows_use(user, list_name, use):
            raise errors.AccessDenied(
                f"User [{user}] is not authorized to perform [{use}] on key with ACL name "
                f"[{list_name}]!!"
            )


def list_name_of(name: str, attributes: Mapping[str, str]) -> str:
    """Return the name of the list of a key."""
    return attributes.get(ACL_NAME) or name


def _operation(name: str, prefix: str) -> Operation:
    try:
        return Operation(name.removeprefix(prefix))
    except ValueError:
        raise errors.InvalidConfiguration(
            f"{name} is no list: there are {prefix}{'|'.join(Operation)}"
        ) from None


def _use_of_all_keys(name: str, prefix: str) -> Use:
    use = _use(name, prefix)
    if use is Use.ALL:
        uses = "|".join(each for each in Use if each is not Use.ALL)
        raise errors.InvalidConfiguration(
            f"{name} is no list, as at Hadoop's KMS: there are {prefix}{uses}, and "
            f"{_OF_KEY}KEY.{Use.ALL} for one key"
        )
    return use


def _use(name: str, prefix: str) -> Use:
    try:
        return Use(name.removeprefix(prefix))
    except ValueError:
        raise errors.InvalidConfiguration(
            f"{name} is no list: there are {prefix}{'|'.join(Use)}"
        ) from None
