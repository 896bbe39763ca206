"""Who may act for whom at a namenode, who may speak which protocol, and the new look at these that
an administrator asks for (shell). Hadoop: ProxyUsers and ServiceAuthorizationManager,
NameNodeRpcServer.refreshSuperUserGroupsConfiguration and refreshServiceAcl.

Anybody may ask, so there is one look at the files at a time: those who ask meanwhile share the
next one. If the files cannot be read, or say what is no rule, the rules stay as they were.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.admin_tasks import run_in_background
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import KnownGroups
from howdah.runtime.users.impersonation import Done, OnLoop, read_rules
from howdah.runtime.users.proxy_users import ProxyUsers
from howdah.runtime.users.service_authorization import NOT_ENABLED, read_policy
from howdah.runtime.users.service_authorization import OnLoop as PolicyOnLoop
from howdah.runtime.users.service_policy import ServicePolicy

log = logging.getLogger(__name__)

T = TypeVar("T")
Background = Callable[[Callable[[], Any], Callable[[Any], None]], None]
"""Does work beside the loop, and calls back with what came of it, or with a HowdahError."""


class Rereading(Generic[T]):
    """Looks at the files for those who ask for it."""

    def __init__(
        self,
        subject: str,
        read: Callable[[], T],
        replace: Callable[[T], None],
        background: Background = run_in_background,
    ) -> None:
        """`subject` is what `read` reads beside the loop, which raises HowdahError; `replace` takes
        it."""
        self._subject = subject
        self._read = read
        self._replace = replace
        self._background = background
        self._asked: list[Done] = []
        self._looks = False

    def read_again(self, done: Done) -> None:
        """`done` hears when the rules are those of the files, or why not."""
        self._asked.append(done)
        if not self._looks:
            self._reload()

    def _reload(self) -> None:
        self._looks = True
        asked, self._asked = self._asked, []

        def finish(rules: T | errors.HowdahError) -> None:
            self._looks = False
            error: errors.HowdahError | None = None
            if isinstance(rules, errors.HowdahError):
                error = rules
                log.error("%s stays as it was: %s", self._subject, error)
            else:
                self._replace(rules)
            for done in asked:
                done(error)
            if self._asked and not self._looks:
                self._reload()

        self._background(self._read, finish)


class ProxyUserRules(OnLoop):
    """The rules of one namenode."""

    def __init__(
        self,
        conf: Configuration,
        groups: KnownGroups,
        loop: Loop,
        background: Background = run_in_background,
    ) -> None:
        """Raises InvalidConfiguration for what is no rule."""
        super().__init__(read_rules(conf), groups.once_known, groups, loop)
        self.read_again = Rereading(
            "who may act for whom",
            lambda: read_rules(conf.reloaded()),
            self._taken,
            background,
        ).read_again

    def _taken(self, rules: ProxyUsers) -> None:
        self.replace(rules)
        log.info("rules of who may act for others: %s", ", ".join(rules.rules) or "none")


class ProtocolRules:
    """Who may speak which protocol at one namenode."""

    def __init__(
        self,
        conf: Configuration,
        groups: KnownGroups,
        loop: Loop,
        background: Background = run_in_background,
    ) -> None:
        """Raises InvalidConfiguration for what is no policy."""
        self.authorization = PolicyOnLoop.of(conf, groups, loop)
        """None where everybody may speak all."""
        self.on_change: list[Callable[[ServicePolicy], None]] = []
        """Who hears of another policy, which is in effect on the loop."""
        self._rereading = Rereading(
            "who may speak which protocol",
            lambda: read_policy(conf.reloaded()),
            self._taken,
            background,
        )

    def read_again(self, done: Done) -> None:
        """`done` hears when the policy is that of the files, or why not."""
        if self.authorization is None:
            done(errors.AuthorizationFailed(NOT_ENABLED))
        else:
            self._rereading.read_again(done)

    def _taken(self, policy: ServicePolicy) -> None:
        assert self.authorization is not None, "else nothing is read"
        self.authorization.replace(policy)
        log.info("who may speak which protocol was read anew")
        for listener in self.on_change:
            listener(policy)
