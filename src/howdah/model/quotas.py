"""What quotas are: bounds on what hangs below a directory, and who is refused more.

A bound is on "names" (the directory is one of its own), on "space" (bytes of all
replicas), or on the bytes of a kind of storage, where storage policies would put them.
A block that is being written counts as a full one, one that is being cut as what is
to be left of it. What is coded counts with its parity, and on no kind of storage.

What is in snapshots counts as long as one has it, by the policy that all have who have
none: who makes snapshots here gives out no policies.

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

from howdah.model.coding import Coding
from howdah.model.entries import Entry, Refused, Shown, is_under, parent_of

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
    """A namespace, for `bounded`.

    `moved` are the links of entries that were moved elsewhere and not deleted,
    `gone_bytes` what blocks counted for when their file, or they of it, were taken away.
    """

    codings: Mapping[str, Coding]

    entries: dict[str, Entry]
    snapshots: dict[int, dict[str, Shown]]
    moved: frozenset[int]
    gone_bytes: dict[int, int]


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


def usage(namespace: Bounded, top: str) -> Counter[str]:
    """What a directory and all below it take, with what only snapshots have of it."""
    total: Counter[str] = Counter()
    kept = _kept_by_directory(namespace)
    for path, entry in namespace.entries.items():
        if path == top or is_under(path, top):
            total["names"] += 1
            if not entry.is_directory:
                policy = policy_of(namespace.entries, path)
                total += _of_file(namespace, entry, policy, is_there=True)
            total += _of_kept(namespace, kept, entry.number)
    return total


def _snapshot_roots(namespace: Bounded) -> list[Shown]:
    """All snapshots, oldest first."""
    every = [shown for snapshots in namespace.snapshots.values() for shown in snapshots.values()]
    return sorted(every, key=lambda shown: shown.order)


Kept = tuple[Shown, str]
"""What is in a snapshot only: which one, the newest that has it, and where."""


def _kept_by_directory(namespace: Bounded) -> dict[int, list[Kept]]:
    """Return what is kept, by the number of the directory in which it was."""
    there = {entry.link for entry in namespace.entries.values()}
    newest: dict[int, Kept] = {}
    for shown in _snapshot_roots(namespace):
        for below, entry in shown.items():
            if below and entry.link not in there:
                newest[entry.link] = shown, below
    by_directory: dict[int, list[Kept]] = {}
    for shown, below in newest.values():
        by_directory.setdefault(shown[below.rpartition("/")[0]].number, []).append((shown, below))
    return by_directory


def _of_kept(namespace: Bounded, kept: dict[int, list[Kept]], number: int) -> Counter[str]:
    """What a directory takes beside what is there: what was moved away, as it was; and of
    what was deleted all that is left."""
    total: Counter[str] = Counter()
    for shown, below in kept.get(number, ()):
        entry = shown[below]
        if entry.link in namespace.moved:
            for path, then in shown.items():
                if path == below or path.startswith(below + "/"):
                    total["names"] += 1
                    total += _of_then(namespace, then)
            continue
        total["names"] += 1
        if not entry.is_directory:
            total += _of_file(namespace, entry, DEFAULT_POLICY, is_there=False)
        total += _of_kept(namespace, kept, entry.number)
    return total


def _of_then(namespace: Bounded, then: Entry) -> Counter[str]:
    """A file as a snapshot shows it; of a directory there are no bytes."""
    if then.coding and not then.is_directory:
        coding = namespace.codings[then.coding]
        return Counter(space=sum(map(coding.space, then.blocks)))
    return _of_bytes(sum(then.blocks), then.replication, DEFAULT_POLICY)


def sizes_of(codings: Mapping[str, Coding], entry: Entry) -> dict[int, int]:
    """What each block of a file counts for, without replicas."""
    coding = codings.get(entry.coding)
    sizes = list(entry.blocks if coding is None else map(coding.space, entry.blocks))
    if entry.is_writing:
        full = entry.block_size_bytes
        sizes[-1] = full if coding is None else coding.space_of_open(full)
    return dict(zip(entry.block_numbers, sizes, strict=True))


def _of_file(namespace: Bounded, entry: Entry, policy: str, *, is_there: bool) -> Counter[str]:
    """All blocks that it has now or in a snapshot, with as many replicas as in any."""
    states = [
        then
        for shown in _snapshot_roots(namespace)
        for then in shown.values()
        if then.number == entry.number and not then.is_directory
    ]
    counts = {
        number: namespace.gone_bytes.get(number, 0)
        for then in states
        for number in then.block_numbers[: count_begun(then.blocks)]
    }
    if is_there:
        counts.update(sizes_of(namespace.codings, entry))
        states.append(entry)
    if entry.coding:
        return Counter(space=sum(counts.values()))
    replication = max(state.replication for state in states)
    return _of_bytes(sum(counts.values()), replication, policy)


def count_begun(blocks: tuple[int, ...]) -> int:
    """How many are in a snapshot: not those at the end in which there is nothing."""
    while blocks and not blocks[-1]:
        blocks = blocks[:-1]
    return len(blocks)


def _of_bytes(count: int, replication: int, policy: str) -> Counter[str]:
    places = PLACES[policy]
    total = Counter(space=count * replication)
    for number in range(replication):
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
        moved, gone_bytes = namespace.moved, namespace.gone_bytes
        used_before = {
            path: usage(namespace, path) for path, entry in before.items() if entry.bounds
        }
        answer = operation(namespace, *args, **kwargs)
        for path, entry in namespace.entries.items():
            # A directory that was moved has nothing more in it than it had.
            if not entry.bounds or path not in before or before[path].bounds is not entry.bounds:
                continue
            used, was = usage(namespace, path), used_before[path]
            is_broken = any(was[kind] < used[kind] > bound for kind, bound in entry.bounds.items())
            if is_broken and not is_spared(path, args):
                namespace.entries = before
                namespace.moved, namespace.gone_bytes = moved, gone_bytes
                raise Refused("quota")
        return answer

    return checked
