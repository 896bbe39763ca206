"""A store that has keys and no bytes, for tests of listings (pure)."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import cast

from howdah import errors
from howdah.fs.objects.store import NotDeleted, ObjectInfo, ObjectStore, Page
from howdah.fs.objects.tree import Tree


class Keys:
    """A store of keys alone, in pages of so many. Without `sorts_keys` markers stand where their
    name without the slash would, as Azure has them."""

    def __init__(self, keys: Iterable[str], page_keys: int, *, sorts_keys: bool = True) -> None:
        self.sorts_keys = sorts_keys
        self.calls = 0
        self._page_keys = page_keys
        self._place = (lambda key: key) if sorts_keys else (lambda key: key.removesuffix("/"))
        self.keys = sorted(set(keys), key=self._place)

    def head(self, key: str) -> ObjectInfo:
        self.calls += 1
        if key not in self.keys:
            raise errors.PathNotFound(key)
        return _info(key)

    def list_page(
        self,
        prefix: str,
        *,
        delimiter: bool,
        start_after: str = "",
        token: str | None = None,
        limit: int | None = None,
    ) -> Page:
        self.calls += 1
        at = int(token or 0)
        if not token and start_after and self.sorts_keys:
            at = bisect.bisect_right(self.keys, start_after)
        objects: list[ObjectInfo] = []
        prefixes: dict[str, None] = {}
        while at < len(self.keys) and len(objects) + len(prefixes) < self._page_keys:
            key = self.keys[at]
            at += 1
            if not key.startswith(prefix) or (start_after and key <= start_after):
                continue
            name, slash, _ = key[len(prefix) :].partition("/")
            if not delimiter or not slash:
                objects.append(_info(key))
                continue
            prefixes[f"{prefix}{name}/"] = None
            while (
                self.sorts_keys
                and at < len(self.keys)
                and self.keys[at].startswith(f"{prefix}{name}/")
            ):
                at += 1
        more = any(key.startswith(prefix) for key in self.keys[at:])
        return Page(tuple(objects), tuple(prefixes), str(at) if more else None)

    def delete_many(self, keys: Iterable[str]) -> list[NotDeleted]:
        """As a store: what is not there is deleted."""
        gone = set(keys)
        self.keys = [key for key in self.keys if key not in gone]
        return []

    def put(self, key: str, body: bytes, *, exclusive: bool, writer: str | None) -> None:
        """Add a key."""
        if key not in self.keys:
            bisect.insort(self.keys, key, key=self._place)


def _info(key: str) -> ObjectInfo:
    return ObjectInfo(key, len(key), 0, key)


def tree_of(store: Keys) -> Tree:
    """The tree of a store of keys."""
    return Tree(cast(ObjectStore, store), "me")  # it has what a listing asks for, and no more
