"""`/fsck` of the namenode (shell): Hadoop's FsckServlet.

A run is made on the loop in slices. However many runs there are, the loop does one slice and
then serves everybody else. What a slice may have seen or changed is durable before its text
leaves, as with any answer. A run that meets a defect breaks off without the end of its body,
so that its client does not take it for whole.

Who acts for another (`doas`) has no run before it is known whether he may. On a secured cluster
the guard of the web port says who asks, and no name in the address does.

A browser may be led to any address by any page. So what changes something is not done for a
request that a page has caused, nor for a browser that does not say that none has.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from typing import Final

from howdah import errors
from howdah.namenode.server.webhdfs.impersonation import ProxyAuthorization
from howdah.namenode.service.fsck.options import Options, parse_options, user_of
from howdah.namenode.service.fsck.report import Fsck
from howdah.namenode.state.inodes.block_events import NamespaceBroken
from howdah.protocol.rpc.server_hooks import Impersonation
from howdah.protocol.sasl.auth_to_local import UserOf, simple_user
from howdah.runtime import unexpected_errors
from howdah.runtime.users.names import real_user_of
from howdah.web.channel import Channel
from howdah.web.cross_site import is_browser
from howdah.web.http import Request, Response, text_response
from howdah.web.server import Exchange, Stream

log = logging.getLogger(__name__)

PATH: Final = "/fsck"
_HEAD: Final = Response(200, {"Content-Type": "text/plain; charset=utf-8"})

Audit = Callable[[str, str, str, bool], None]
"""The user, his address, what was checked, and whether he may."""

WhenKnown = Callable[[str, Callable[[errors.HowdahError | None], None]], None]


class FsckPages:
    """All runs of one namenode."""

    def __init__(
        self,
        fsck: Fsck,
        soon: Callable[[Callable[[], None]], object],
        when_durable: Callable[[Callable[[], None]], None],
        when_known: WhenKnown,
        impersonation: Impersonation,
        audit: Audit | None = None,
        names: UserOf = simple_user,
    ) -> None:
        """`soon` calls back when others had their turn, `when_durable` when all that was
        committed so far is on disk, `when_known` when the groups of a user are. `audit` hears of
        each run when it is over, `names` has the users of names."""
        self.fsck = fsck
        self._soon = soon
        self._when_durable = when_durable
        self.when_known = when_known
        self._impersonation = impersonation
        self.audit = audit
        self._names = names
        self._waiting: deque[Callable[[], None]] = deque()

    def answer(self, request: Request) -> Response | Stream | Exchange:
        try:
            options = parse_options(request.query)
            user = user_of(request.query, proven_user(request), self._names)
        except errors.IllegalArgument as error:
            return text_response(400, error.message)
        except errors.AuthorizationFailed as error:
            return text_response(403, error.message)
        if options.changes_something and _comes_from_a_page(request):
            return text_response(
                403,
                "a page may not have files moved or deleted, and this browser does not say that "
                "none led it here: use howdah fsck",
            )
        run = _Run(self, user, request.peer, options)
        real_user = real_user_of(user)
        if real_user is None:
            return run
        permit = ProxyAuthorization(self._impersonation, real_user, user, request.peer)
        permit.request()
        return _Permitted(permit, run)

    def take_turn(self, slice_of_work: Callable[[], None]) -> None:
        """Do this when the slices that wait before it are done."""
        self._waiting.append(slice_of_work)
        if len(self._waiting) == 1:
            self._soon(self._turn)

    def _turn(self) -> None:
        slice_of_work = self._waiting[0]
        try:
            slice_of_work()
        finally:
            self._waiting.popleft()
            if self._waiting:
                self._soon(self._turn)

    def when_durable(self, act: Callable[[], None]) -> None:
        self._when_durable(act)


def proven_user(request: Request) -> str | None:
    """Who has proven to ask; None where everybody is believed."""
    return None if request.proven is None else request.proven.user


class _Run:
    """One run, as a stream."""

    head = _HEAD

    def __init__(self, pages: FsckPages, user: str, address: str, options: Options) -> None:
        log.info("fsck of %s for %r from %s: %s", options.path, user, address, options)
        self._pages = pages
        self._user, self._address, self._options = user, address, options
        self._text: Generator[str, None, bool] | None = pages.fsck.run(user, address, options)
        self._has_begun = False

    def next(self, ready: Callable[[bytes | None, bool], None]) -> None:
        if self._has_begun:
            self._pages.take_turn(lambda: self._slice(ready))
        else:
            self._has_begun = True
            self._pages.when_known(self._user, lambda error: self._known(ready, error))

    def stop(self) -> None:
        text = self._over(allowed=True)
        if text is not None:
            text.close()

    def _over(self, *, allowed: bool) -> Generator[str, None, bool] | None:
        """There will be no more. Returns what had not come to its end by itself."""
        text, self._text = self._text, None
        if text is not None and self._has_begun and self._pages.audit is not None:
            self._pages.audit(self._user, self._address, subject_of(self._options), allowed)
        return text

    def _known(
        self, ready: Callable[[bytes | None, bool], None], error: errors.HowdahError | None
    ) -> None:
        if error is None:
            self.next(ready)
        else:
            self._text = None  # Nothing was checked.
            ready(f"{error.message}\n\n\nfsck FAILED".encode(), True)

    def _slice(self, ready: Callable[[bytes | None, bool], None]) -> None:
        if self._text is None:
            return  # Nobody waits for it any more.
        data: bytes | None = b""
        is_last = False
        try:
            data = next(self._text).encode("utf-8", "replace")
        except StopIteration as end:
            is_last = True
            self._over(allowed=end.value)
        except NamespaceBroken:
            return  # The process ends.
        except Exception as error:  # noqa: BLE001 - only this run breaks off
            unexpected_errors.note("fsck", error, "this run breaks off")
            data, is_last = None, True
            self._over(allowed=True)
        self._pages.when_durable(lambda: ready(data, is_last))


class _Permitted:
    """A run that begins when it is known that one may act for the other."""

    def __init__(self, permit: ProxyAuthorization, run: _Run) -> None:
        self._permit = permit
        self._answer: Response | Stream = run

    def run(self, channel: Channel) -> None:
        try:
            self._permit.wait(channel.has_left)
        except errors.HowdahError as error:
            log.info("fsck is refused: %r", error.message)
            self._answer = text_response(403, error.message)

    def done(self) -> Response | Stream:
        return self._answer


def subject_of(options: Options) -> str:
    """What a run is about, as Hadoop's audit log says it."""
    if options.block_ids is None:
        return options.path
    return f"blocksIds=[{', '.join(options.block_ids)}]"


def _comes_from_a_page(request: Request) -> bool:
    """Whether one may have caused it: browsers say so, or say that none did; programs do not send
    these headers."""
    headers = request.headers
    if_silent = "" if is_browser(request) else "none"
    return bool({"origin", "referer"} & headers.keys()) or (
        headers.get("sec-fetch-site", if_silent) != "none"
    )
