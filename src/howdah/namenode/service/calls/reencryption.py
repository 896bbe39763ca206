"""Re-encryption: the keys of a zone's files are encrypted anew by the last version of its key
(pure).

Hadoop's `ReencryptionHandler` and `ReencryptionUpdater`. A file keeps its own key, and so its
contents; what encrypts that key changes. One zone after the other, in the order of their ids:

1. The files are visited in the order of names. Those whose keys are of another version than that of
   the submission go into batches.
2. Key servers encrypt each batch anew, beside the loop, several batches at a time.
3. In the order of the batches, each file gets its new key by an edit, if it is still there and
   still has the key that was sent. Then an edit of the zone's attribute counts the batch, and says
   up to which path all is done.
4. The last edit says that the zone is done.

What stands in the zone's attribute is all that is kept: a namenode that becomes active goes on from
there, and what it does twice it finds done. Nothing is lost by a key server that does not answer:
its batch is sent again `dfs.namenode.reencrypt.sleep.interval` later, twice. After that, or where
it refuses, the files of the batch keep their keys, and are counted as failures.

No file comes from in front of the walk to behind it: nothing is moved within the zone meanwhile
(`ZoneCalls.check_move`), and new files have keys that were made after the submission.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.zone_keys import Made, ZoneKeys
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import Directory, File
from howdah.namenode.state.inodes.xattrs import ENCRYPTION_ZONE
from howdah.namenode.state.tree.encryption_zones import (
    Reencryption,
    Zone,
    attribute_of,
    file_attribute,
    file_key,
    reencryption_of,
    trouble_with,
    with_reencryption,
    zone_at,
    zone_of,
)
from howdah.namenode.state.tree.zone_walk import ZoneWalk
from howdah.protocol.encryption_zones.messages import EncryptedKey

log = logging.getLogger(__name__)

Slices = Generator[Iterable[str], None, None]

_SLICE_NAMES: Final = 100
_SLICE_CHANGES: Final = 20
"""About a millisecond each."""
_MOST_ATTEMPTS: Final = 3
_AWAY: Final = (errors.Unreachable, errors.CallTimeout, errors.RetriableError)


class Throttle:
    """Keeps some work within a share of the time. Times are in milliseconds."""

    def __init__(self, share: float, now_ms: int) -> None:
        self._share = share
        self._since_ms = now_ms
        self._worked_ms = 0

    def worked(self, began_ms: int, ended_ms: int) -> None:
        self._worked_ms += ended_ms - began_ms

    def pause_ms(self, now_ms: int) -> int:
        """Return how long it is until the share of the time is not used up any more; 0 if it is
        not. Time in which there was nothing to do is not made up for."""
        if self._share >= 1 or not self._worked_ms:
            return 0
        until_ms = self._since_ms + ceil(self._worked_ms / self._share)
        if until_ms > now_ms:
            return until_ms - now_ms
        self._since_ms, self._worked_ms = now_ms, 0
        return 0


@dataclass(slots=True, eq=False)
class _Batch:
    """Files that were visited one after the other, and what key servers made of their keys."""

    inode_ids: list[int] = field(default_factory=list)
    keys: list[EncryptedKey] = field(default_factory=list)
    position: tuple[str, ...] = ()
    """The names below the zone of the last one."""
    failures: int = 0
    attempts: int = 0
    send_after_ms: int = 0
    is_sent: bool = False
    made: list[EncryptedKey] | None = None
    applied: int = 0
    """How many of its files were looked at again."""
    changed: int = 0
    unchanged: int = 0
    """Files whose keys came back as they were."""

    def __bool__(self) -> bool:
        return bool(self.keys or self.failures)


@dataclass(slots=True, eq=False)
class _Run:
    """The zone that is being re-encrypted."""

    zone_id: int
    submitted_ms: int
    version_name: str
    walk: ZoneWalk
    batches: deque[_Batch] = field(default_factory=deque)
    next: _Batch = field(default_factory=_Batch)
    """It is being filled."""


class Reencryptor:
    """Of one namenode. `turn` is a duty of an active one."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._run: _Run | None = None
        self._passed_over: set[int] = set()
        """Zones that were named in the log once."""
        self._under_way = 0
        self.changed = 0
        """Files that got new keys, since the start."""
        self.failed = 0
        """Files that kept theirs, because key servers failed."""
        self.when_due: Callable[[], None] = lambda: None
        """Called when there is something to do before the next turn."""
        self.later: Callable[[int, Callable[[], None]], object] = lambda pause_ms, act: None
        """Calls back so many milliseconds later."""
        self._resumes_ms = 0
        """Until when there is such a call under way."""
        settings, now_ms = namesystem.settings, namesystem.clock.monotonic_ms()
        self._walking = Throttle(settings.reencryption_walk_share, now_ms)
        self._changing = Throttle(settings.reencryption_change_share, now_ms)
        namesystem.on_role.append(self._role_changed)

    @property
    def zone_id(self) -> int | None:
        """The zone that is being worked on."""
        return None if self._run is None else self._run.zone_id

    def turn(self) -> Slices | None:
        """Go on, in slices, as far as can be gone without key servers that have not answered."""
        namesystem = self._namesystem
        keys = namesystem.zone_keys
        if not namesystem.namespace.zones.has_reencryptions:
            self._run = None
            return None
        if keys is None or namesystem.safe_mode.on or not namesystem.role.writable:
            return None
        return self._work(keys)

    def submitted(self) -> None:
        """There is one zone more."""
        self._notify()

    def cancelled(self) -> None:
        """A zone is left as far as it has come; what is under way for it counts for nothing."""
        self._run = None

    def _notify(self) -> None:
        if self._namesystem.role.writable:
            self.when_due()

    def _role_changed(self) -> None:
        """What key servers answer to an earlier role is nothing any more."""
        self._run = None

    def _work(self, keys: ZoneKeys) -> Slices:
        while True:
            zone, run = self._current()
            if zone is None or run is None or self._namesystem.safe_mode.on:
                return
            self._send(keys, run)
            now_ms = self._namesystem.clock.monotonic_ms
            began_ms = now_ms()
            if run.batches and run.batches[0].made is not None:
                if pause_ms := self._changing.pause_ms(began_ms):
                    self._pause(began_ms, pause_ms)
                    return
                self._apply_batch(zone, run, run.batches[0])
                self._changing.worked(began_ms, now_ms())
            elif not run.walk.is_over and len(run.batches) < 2 * self._most_calls:
                if pause_ms := self._walking.pause_ms(began_ms):
                    self._pause(began_ms, pause_ms)
                    return
                self._visit(zone, run)
                self._walking.worked(began_ms, now_ms())
            elif run.batches:
                return  # Key servers have yet to answer.
            else:
                self._end(zone)
            yield ()

    def _pause(self, now_ms: int, pause_ms: int) -> None:
        """Go on when a throttle allows: until the next turn of all duties it may be much longer."""
        if self._resumes_ms <= now_ms:
            self._resumes_ms = now_ms + pause_ms
            self.later(pause_ms, self._notify)

    @property
    def _most_calls(self) -> int:
        return self._namesystem.settings.reencryption_calls

    def _current(self) -> tuple[Zone | None, _Run | None]:
        """The zone that is to be worked on, and how far that has come; None if there is none. A
        zone that was cancelled, deleted or submitted again is not the one that was worked on."""
        namespace = self._namesystem.namespace
        for zone_id in namespace.zones.reencrypting:
            inode = namespace.inodes.get(zone_id)
            if inode is None:
                namespace.zones.discard(zone_id)
            elif isinstance(inode, Directory) and namespace.is_attached(inode):
                progress = reencryption_of(inode)
                if progress is None:
                    continue
                zone, run = zone_at(inode), self._run
                assert zone is not None, "it has the attribute"
                if (trouble := trouble_with(zone)) is not None:
                    self._pass_over(zone_id, trouble)
                    continue
                if run is None or (run.zone_id, run.submitted_ms) != (
                    zone_id,
                    progress.submitted_ms,
                ):
                    run = self._run = self._begin(inode, progress)
                return zone, run
        self._run = None
        return None, None

    def _pass_over(self, zone_id: int, trouble: errors.HowdahError) -> None:
        """The others have their turns."""
        if zone_id not in self._passed_over:
            self._passed_over.add(zone_id)
            log.error("no key is encrypted anew there: %s", trouble)

    def _begin(self, directory: Directory, progress: Reencryption) -> _Run:
        names = names_below(directory.path, progress.last_file)
        log.info(
            "the keys of the files in the encryption zone %s are encrypted anew, %s",
            directory.path,
            f"from behind {progress.last_file}" if names else "from its first file on",
        )
        walk = ZoneWalk(directory, names)
        return _Run(directory.inode_id, progress.submitted_ms, progress.version_name, walk)

    # --- 1: files are visited -----------------------------------------------------------

    def _visit(self, zone: Zone, run: _Run) -> None:
        for file, names in run.walk.step(_SLICE_NAMES):
            self._add(zone, run, file, names)
        if run.walk.is_over:
            self._close_batch(run)

    def _add(self, zone: Zone, run: _Run, file: File, names: tuple[str, ...]) -> None:
        batch = run.next
        try:
            key = file_key(file.xattrs, zone)
        except errors.RemoteError as error:
            log.warning("%s keeps its key: %s", file.path, error)
            batch.failures += 1
        else:
            if key is None:
                log.warning("%s is in an encryption zone, and has no key", file.path)
            if key is None or key.version_name == run.version_name:
                return
            batch.inode_ids.append(file.inode_id)
            batch.keys.append(key)
        batch.position = names
        if len(batch.keys) >= self._namesystem.settings.reencryption_batch:
            self._close_batch(run)

    def _close_batch(self, run: _Run) -> None:
        if not run.next:
            return
        batch, run.next = run.next, _Batch()
        if not batch.keys:
            batch.made = []
        run.batches.append(batch)

    # --- 2: key servers encrypt their keys anew --------------------------------------------

    def _send(self, keys: ZoneKeys, run: _Run) -> None:
        now_ms = self._namesystem.clock.monotonic_ms()
        for batch in run.batches:
            if self._under_way >= self._most_calls:
                return
            if batch.made is None and not batch.is_sent and now_ms >= batch.send_after_ms:
                batch.is_sent = True
                self._under_way += 1
                keys.reencrypt(batch.keys, partial(self._answered, run, batch))

    def _answered(self, run: _Run, batch: _Batch, made: Made) -> None:
        self._under_way -= 1
        batch.is_sent = False
        batch.attempts += 1
        if self._run is not run:
            return
        if not isinstance(made, errors.HowdahError):
            wrong = _wrong_with(made, batch.keys)
            if wrong is None:
                batch.made = made
                self._notify()
                return
            made = errors.ProtocolViolation(wrong)
        settings = self._namesystem.settings
        where = f"{len(batch.keys)} files up to {'/'.join(batch.position)}"
        if isinstance(made, _AWAY) and batch.attempts < _MOST_ATTEMPTS:
            batch.send_after_ms = (
                self._namesystem.clock.monotonic_ms() + settings.reencryption_retry_ms
            )
            log.warning(
                "the keys of %s are sent to key servers again in %d s: %s",
                where,
                settings.reencryption_retry_ms // 1000,
                made,
            )
            return
        log.warning("%s keep their keys, which no key server has encrypted anew: %s", where, made)
        batch.failures += len(batch.keys)
        batch.made = []
        self._notify()

    # --- 3: files get them, and the zone says how far all is done ----------------------------

    def _apply_batch(self, zone: Zone, run: _Run, batch: _Batch) -> None:
        """A slice of it."""
        assert batch.made is not None, "key servers have answered"
        until = min(batch.applied + _SLICE_CHANGES, len(batch.made))
        for place in range(batch.applied, until):
            old, new = batch.keys[place], batch.made[place]
            if new.version_name == old.version_name:
                # A file that was made after the key was rolled once more has nothing to get.
                if not _is_later(old.version_name, run.version_name):
                    batch.failures += 1
                    batch.unchanged += 1
            else:
                batch.changed += self._replace_key(zone, batch.inode_ids[place], old, new)
        batch.applied = until
        if until < len(batch.made):
            return
        run.batches.popleft()
        if batch.unchanged:
            log.warning(
                "%d of the files up to %s keep their keys: the key server that encrypted them anew "
                "does not know %s yet",
                batch.unchanged,
                "/".join(batch.position),
                run.version_name,
            )
        self.changed += batch.changed
        self.failed += batch.failures
        progress = reencryption_of(zone.directory)
        assert progress is not None, "it was looked at in this slice"
        self._record(
            zone,
            replace(
                progress,
                reencrypted=progress.reencrypted + batch.changed,
                failures=progress.failures + batch.failures,
                last_file=path_below(zone.directory.path, batch.position),
            ),
        )

    def _replace_key(self, zone: Zone, inode_id: int, old: EncryptedKey, new: EncryptedKey) -> bool:
        """Whether the file was there, with the key that was sent, and has the new one now."""
        namespace = self._namesystem.namespace
        file = namespace.inodes.get(inode_id)
        if not isinstance(file, File) or not namespace.is_attached(file):
            return False
        now_in = zone_of(file)
        if now_in is None or now_in.directory is not zone.directory:
            return False
        try:
            if file_key(file.xattrs, now_in) != old:
                return False
        except errors.RemoteError as error:
            log.warning("%s keeps its key: %s", file.path, error)
            return False
        self._namesystem.commit(edits.SetXAttrOp(file.path, (file_attribute(new),)))
        return True

    # --- 4: the zone is done ---------------------------------------------------------------

    def _end(self, zone: Zone) -> None:
        progress = reencryption_of(zone.directory)
        assert progress is not None, "it was looked at in this slice"
        self._record(zone, ended(progress, self._namesystem.clock.wall_ms()))
        log.info(
            "the keys of %d files in the encryption zone %s were encrypted anew; %d failed",
            progress.reencrypted,
            zone.directory.path,
            progress.failures,
        )
        self._run = None

    def _record(self, zone: Zone, reencryption: Reencryption) -> None:
        self._namesystem.commit(progress_edit(zone.directory, reencryption))


def progress_edit(
    directory: Directory,
    reencryption: Reencryption,
    client_id: bytes = edits.NO_CLIENT_ID,
    call_id: int = edits.NO_CALL_ID,
) -> edits.SetXAttrOp:
    """Return the edit by which a zone says so."""
    value = attribute_of(directory.xattrs, ENCRYPTION_ZONE)
    assert value is not None, "it is a zone"
    attribute = with_reencryption(value, reencryption)
    return edits.SetXAttrOp(
        directory.path, (attribute,), rpc_client_id=client_id, rpc_call_id=call_id
    )


def ended(progress: Reencryption, now_ms: int, *, is_cancelled: bool = False) -> Reencryption:
    """Return what a zone says from then on."""
    return replace(progress, completed_ms=max(now_ms, 1), last_file="", is_cancelled=is_cancelled)


def names_below(zone: str, path: str) -> tuple[str, ...]:
    """Return the names of a path below a zone; none where it is not below: the zone was moved
    since, and is visited from its beginning.

    >>> names_below("/z", "/z/a/b"), names_below("/", "/a"), names_below("/z", "/zz/a")
    (('a', 'b'), ('a',), ())
    """
    root = zone.rstrip("/") + "/"
    return tuple(path[len(root) :].split("/")) if path.startswith(root) else ()


def path_below(zone: str, names: tuple[str, ...]) -> str:
    """Return the path that has these names below a zone.

    >>> path_below("/z", ("a", "b")), path_below("/", ("a",))
    ('/z/a/b', '/a')
    """
    return "/".join([zone.rstrip("/"), *names])


def _is_later(version: str, other: str) -> bool:
    """Whether a version of a key was made after another one, as far as their names say.

    >>> _is_later("payroll@10", "payroll@9"), _is_later("payroll@9", "payroll@9")
    (True, False)
    """
    (name, _, number), (of_other, _, before) = version.rpartition("@"), other.rpartition("@")
    are_numbers = number.isdecimal() and before.isdecimal()
    return name == of_other and are_numbers and int(number) > int(before)


def _wrong_with(made: list[EncryptedKey], sent: list[EncryptedKey]) -> str | None:
    """What of an answer would leave files that nobody can read."""
    if len(made) != len(sent):
        return f"key servers made {len(made)} keys of {len(sent)}"
    for new, old in zip(made, sent, strict=True):
        if (new.key_name, new.iv, len(new.material)) != (old.key_name, old.iv, len(old.material)):
            return f"key servers made a key that is none of the file's, by {old.key_name}"
    return None
