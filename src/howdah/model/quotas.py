"""What quotas are: bounds on what hangs below a directory, and who is refused more.

A bound is on "names" (the directory is one of its own), on "space" (bytes of all
replicas), or on the bytes of a kind of storage, where storage policies would put them.
A block that is being written counts as a full one, one that is being cut as what is
to be left of it.

What is used is counted anew each time: no counter can be wrong. One rule says who is
refused: an operation after which something bounded is more than it was, and more than
its bound. Then it does not happen. (What makes nothing bigger is let through however
much there is, and so is whoever writes a block that he was given.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from howdah.model.entries import Entry, Refused, is_under, parent_of

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_POLICY = "HOT"
# Where each policy wants replicas; the last place is for all further ones.
PLACES = {
    "HOT": ("DISK",),
    "WARM": ("DISK", "ARCHIVE"),
    "ONE_SSD": ("SSD", "DISK"),
    "ALL_SSD": ("SSD",),
    "LAZY_PERSIST": ("RAM_DISK", "DISK"),
}
# Nobody is given this for a file that is there, nor loses it.
FIXED_POLICY = "LAZY_PERSIST"
NOT_COUNTED = "RAM_DISK"


class Bounded(Protocol):
    """A namespace, for `bounded`."""

    entries: dict[str, Entry]


N = TypeVar("N", bound=Bounded)


def policy_of(entries: Mapping[str, Entry], path: str) -> str:
    """The policy that counts: its own, or the nearest above."""
    while True:
        if entries[path].policy:
            return entries[path].policy
        if path == "/":
            return DEFAULT_POLICY
        path = parent_of(path)


def fixed_policy(entries: Mapping[str, Entry], directory: str) -> str:
    """The policy that what is made in a directory keeps for itself, if so."""
    return FIXED_POLICY if policy_of(entries, directory) == FIXED_POLICY else ""


def usage(entries: Mapping[str, Entry], top: str) -> Counter[str]:
    """What a directory and all below it take."""
    total: Counter[str] = Counter()
    for path, entry in entries.items():
        if path == top or is_under(path, top):
            total["names"] += 1
            if not entry.is_directory:
                total += _of_blocks(entries, path, entry)
    return total


def _of_blocks(entries: Mapping[str, Entry], path: str, entry: Entry) -> Counter[str]:
    count = sum(entry.blocks)
    if entry.is_writing:
        count += entry.block_size_bytes - entry.blocks[-1]
    places = PLACES[policy_of(entries, path)]
    total = Counter(space=count * entry.replication)
    for number in range(entry.replication):
        kind = places[min(number, len(places) - 1)]
        if kind != NOT_COUNTED:
            total[kind] += count
    return total


def bounded(
    operation: Callable[Concatenate[N, P], T],
) -> Callable[Concatenate[N, P], T]:
    """The operation, which happens only if no bound forbids it."""
    return _checked(operation, lambda directory, args: False)


def bounded_move(
    operation: Callable[Concatenate[N, P], T],
) -> Callable[Concatenate[N, P], T]:
    """The same for a move, whose first argument says from where. What is moved within a
    directory is no growth of that, though it may come under another policy."""
    return _checked(operation, lambda directory, args: is_under(str(args[0]), directory))


def _checked(
    operation: Callable[Concatenate[N, P], T],
    is_spared: Callable[[str, tuple[object, ...]], bool],
) -> Callable[Concatenate[N, P], T]:
    @wraps(operation)
    def checked(namespace: N, /, *args: P.args, **kwargs: P.kwargs) -> T:
        before = dict(namespace.entries)
        answer = operation(namespace, *args, **kwargs)
        for path, entry in namespace.entries.items():
            # A directory that was moved has nothing more in it than it had.
            if not entry.bounds or path not in before or before[path].bounds is not entry.bounds:
                continue
            used, was = usage(namespace.entries, path), usage(before, path)
            is_broken = any(was[what] < used[what] > bound for what, bound in entry.bounds.items())
            if is_broken and not is_spared(path, args):
                namespace.entries = before
                raise Refused("quota")
        return answer

    return checked
