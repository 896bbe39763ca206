"""Who may act for whom at a namenode, and the new look at that which an administrator asks for
(shell). Hadoop: ProxyUsers, NameNodeRpcServer.refreshSuperUserGroupsConfiguration.

Anybody may ask, so there is one look at the files at a time: those who ask meanwhile share the
next one. If the files cannot be read, or say what is no rule, the rules stay as they were.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.process.admin_tasks import run_in_background
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import KnownGroups
from howdah.runtime.users.impersonation import Done, OnLoop, read_rules
from howdah.runtime.users.proxy_users import ProxyUsers

log = logging.getLogger(__name__)

Background = Callable[
    [Callable[[], ProxyUsers], Callable[[ProxyUsers | errors.HowdahError], None]], None
]


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
        self._conf = conf
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

        def found(rules: ProxyUsers | errors.HowdahError) -> None:
            self._looks = False
            if isinstance(rules, errors.HowdahError):
                log.error("who may act for whom stays as it was: %s", rules)
            else:
                self.replace(rules)
                log.info("rules of who may act for others: %s", ", ".join(rules.rules) or "none")
            for done in asked:
                done(rules if isinstance(rules, errors.HowdahError) else None)
            if self._asked and not self._looks:
                self._reload()

        self._background(lambda: read_rules(self._conf.reloaded()), found)
