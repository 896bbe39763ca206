"""The delegation tokens of a job, by which its tasks are the user who runs it.

Tasks run in processes that may have neither the user's ticket nor his keytab. So a job that runs on
a secured cluster gets a token for each of its filesystems, and one for the key servers of each that
has encryption zones. The tokens go with the places of its
tasks (`filesystems.Place`), and nowhere else: to no file, no log and no command line.

1. A user with a ticket or a keytab gets tokens of which he is the renewer. They are renewed while
   the job runs, and cancelled when it ends. Jobs of one process that run at the same time share
   them.
2. A user who has tokens alone, or one that goes before his ticket, cannot get others. The tasks
   have those; whoever made them renews and cancels them.
3. Without a job (`with_job_tokens`) and without security nothing goes with a place.
"""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.users.names import ProvenUser

if TYPE_CHECKING:
    from howdah.formats.tokens.token import Token
    from howdah.security.users import SecuredUser

log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")

RENEWED_AT: Final = 0.75
"""The part of a token's remaining time after which it is renewed."""
_AGAIN_S: Final = 60.0
_USUAL_INTERVAL_MS: Final = 24 * 60 * 60 * 1000
_LEAST_PAUSE_S: Final = 0.5


class _Issued:
    """A token that a job made, and until when it is renewed."""

    def __init__(self, fs: HdfsNamespace, token: Token, until_ms: int, now_ms: int) -> None:
        self.fs = fs
        self.token = token
        self.until_ms = until_ms
        self.renew_at_s = (now_ms + (until_ms - now_ms) * RENEWED_AT) / 1000


class JobTokens:
    """The tokens of jobs that run at the same time. `jobs` is how many these are.

    `lock` protects what is issued.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self.jobs = 0
        self._issued: dict[tuple[str, str], list[_Issued]] = {}
        self._ended = threading.Event()
        self._changed = threading.Event()
        self._renewer: threading.Thread | None = None

    def carrying(self, fs: HdfsNamespace, user: SecuredUser) -> SecuredUser:
        """The user of a filesystem, with the tokens by which tasks are the same."""
        if user.carried:
            return user
        # Who acts for another has tokens of his own, which make the tasks him.
        given = [] if user.real_user is not None else user.tokens()
        if user.login is None:
            return _with(user, given) if given else user
        key = fs.uri, str(user)
        issued = self._issued.get(key)
        if issued is None:
            try:
                token = fs.get_delegation_token(str(user))
            except errors.HowdahError:
                # A token goes before a ticket: who has one for this namenode gets no other.
                if not given:
                    raise
                return _with(user, given)
            if token is None:
                return user
            tokens = [token, *_of_key_servers(fs, user)]
            issued = [_Issued(fs, token, *self._renewed_at_first(fs, token)) for token in tokens]
            self._issued[key] = issued
            self._go_on_renewing()
        return user.carrying([entry.token for entry in issued])

    def _renewed_at_first(self, fs: HdfsNamespace, token: Token) -> tuple[int, int]:
        """Until when a token is good: a namenode says so when it is renewed."""
        try:
            return self._renewed(fs, token)
        except errors.HowdahError as error:
            log.warning(
                "the delegation token of this job for %s cannot be renewed: %s. It ends after "
                "the renewal interval of its servers, a day by default",
                token.service,
                error,
            )
            now_ms = int(time.time() * 1000)
            return now_ms + _USUAL_INTERVAL_MS, now_ms

    def _renewed(self, fs: HdfsNamespace, token: Token) -> tuple[int, int]:
        """Until when it is good now, and when that was asked."""
        return fs.renew_delegation_token(token), int(time.time() * 1000)

    def _go_on_renewing(self) -> None:
        self._changed.set()
        if self._renewer is None:
            self._renewer = threading.Thread(target=self._renew, name="job-tokens", daemon=True)
            self._renewer.start()

    def _renew(self) -> None:
        while True:
            self._changed.clear()
            if self._ended.is_set():
                return
            with self._lock:
                issued = [entry for entries in self._issued.values() for entry in entries]
            due = min((entry.renew_at_s for entry in issued), default=time.time() + _AGAIN_S)
            if self._changed.wait(max(due - time.time(), _LEAST_PAUSE_S)):
                continue
            for entry in issued:
                if entry.renew_at_s <= time.time() and not self._ended.is_set():
                    self._renew_one(entry)

    def _renew_one(self, entry: _Issued) -> None:
        try:
            until_ms, now_ms = self._renewed(entry.fs, entry.token)
        except (errors.HowdahError, OSError) as error:
            log.warning(
                "the delegation token of this job for %s was not renewed: %s. It is good until %s, "
                "and is tried again in %g s",
                entry.token.service,
                error,
                time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.until_ms / 1000)),
                again_s := _until_again(entry.until_ms / 1000 - time.time()),
            )
            entry.renew_at_s = time.time() + again_s
            return
        entry.until_ms = until_ms
        pause_s = max((until_ms - now_ms) * RENEWED_AT / 1000, _LEAST_PAUSE_S)
        entry.renew_at_s = now_ms / 1000 + pause_s

    def close(self) -> None:
        """Cancel the tokens, and end the thread that renews them."""
        self._ended.set()
        self._changed.set()
        for entry in itertools.chain.from_iterable(self._issued.values()):
            try:
                entry.fs.cancel_delegation_token(entry.token)
            except (errors.HowdahError, OSError) as error:
                log.warning(
                    "the delegation token of this job for %s was not cancelled: %s. It ends by "
                    "itself when nobody renews it",
                    entry.token.service,
                    error,
                )
        self._issued.clear()


def _of_key_servers(fs: HdfsNamespace, user: SecuredUser) -> list[Token]:
    try:
        token = fs.get_key_server_token(str(user))
    except errors.HowdahError as error:
        # Most jobs open no file in a zone, and those that do fail there, by name.
        log.warning("this job's tasks cannot open files in encryption zones: %s", error)
        return []
    return [] if token is None else [token]


def _with(user: SecuredUser, given: Sequence[Token]) -> SecuredUser:
    """The user with those of the given tokens that are of filesystems and key servers."""
    from howdah.formats.tokens.token import KMS_DELEGATION, WEB_KINDS

    kinds = {*WEB_KINDS, KMS_DELEGATION}
    return user.carrying(token for token in given if token.kind in kinds)


def _until_again(left_s: float) -> float:
    """How long to wait after a renewal that failed, of a token that is good for a time still."""
    return round(min(_AGAIN_S, max(left_s / 4, _LEAST_PAUSE_S)), 1)


class _Jobs:
    """Those of one process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.tokens: JobTokens | None = None


_jobs: Final = PerProcess(_Jobs)


def begin_job() -> Callable[[], None]:
    """Begin a job: places that are made meanwhile have the tokens that its tasks need. Return the
    function that ends it."""
    jobs = _jobs.get()
    with jobs.lock:
        if jobs.tokens is None:
            jobs.tokens = JobTokens(jobs.lock)
        mine = jobs.tokens
        mine.jobs += 1
    has_ended: list[bool] = []

    def end() -> None:
        if _jobs.get() is not jobs:
            return  # A forked child ends nothing of its parent's.
        with jobs.lock:
            if has_ended:
                return
            has_ended.append(True)
            mine.jobs -= 1
            if mine.jobs:
                return
            jobs.tokens = None
        mine.close()

    return end


@contextmanager
def job_tokens() -> Iterator[None]:
    """Run a block as a job."""
    end = begin_job()
    try:
        yield
    finally:
        end()


def end_with(thing: object, end: Callable[[], None]) -> None:
    """End a job when nobody has its result any more, which may need its tasks again."""
    weakref.finalize(thing, _end_aside, end)


def _end_aside(end: Callable[[], None]) -> None:
    """In a thread: whoever happens to collect the garbage may hold any lock."""
    try:
        threading.Thread(target=end, name="job-tokens-end").start()
    except RuntimeError:
        end()  # The interpreter ends, and starts no threads.


def with_job_tokens(job: Callable[P, R]) -> Callable[P, R]:
    """Make a function a job."""

    @functools.wraps(job)
    def run(*arguments: P.args, **options: P.kwargs) -> R:
        with job_tokens():
            return job(*arguments, **options)

    return run


def carrying_tokens(fs: FileSystem, user: str | None) -> str | None:
    """Return the user of a filesystem as tasks have to know him."""
    if not isinstance(user, ProvenUser) or not isinstance(fs, HdfsNamespace):
        return user
    from howdah.security.users import SecuredUser

    if not isinstance(user, SecuredUser) or not user.settings.is_enabled:
        return user
    jobs = _jobs.get()
    with jobs.lock:
        return user if jobs.tokens is None else jobs.tokens.carrying(fs, user)
