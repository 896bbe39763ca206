"""May this connection speak that protocol? (shell; ServiceAuthorizationManager in Hadoop)

The rules are `service_policy`; what they depend on is asked here. A loop never asks: `OnLoop` has
it looked up beside it and calls back. `OnThread` waits, for servers that have a thread for each
connection. Both are `howdah.protocol.rpc.server_hooks.ServiceAuthorization`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys, warn_of_misspelt
from howdah.runtime.users.async_groups import Loop
from howdah.runtime.users.groups import KnownGroups, groups_from
from howdah.runtime.users.impersonation import (
    Done,
    Machines,
    Remembered,
    addresses_of,
    known_machines,
)
from howdah.runtime.users.service_policy import (
    FILE,
    AddressesOf,
    GroupsOf,
    Judgement,
    Question,
    ServicePolicy,
    Speaker,
)

log = logging.getLogger(__name__)

NOT_ENABLED: Final = "Service Level Authorization not enabled!"
"""What Hadoop says to who has a policy read anew that nobody follows."""


def read_policy(conf: Configuration) -> ServicePolicy:
    """The policy of a configuration and of the file beside it. Raises InvalidConfiguration."""
    conf = conf.with_own_site_file(FILE)
    warn_of_misspelt(conf)
    return ServicePolicy.parse(conf.raw)


def is_authorizing(conf: Configuration) -> bool:
    """Whether the policy is followed."""
    return conf.get(keys.HADOOP_SECURITY_AUTHORIZATION)


def _note(speaker: Speaker, error: errors.HowdahError | None) -> None:
    protocol = speaker.protocol
    if error is None:
        log.debug(
            "Authorization successful for %s for protocol=interface %s", speaker.shown, protocol
        )
    else:
        log.warning(
            "Authorization failed for %s for protocol=interface %s from %s: %s",
            speaker.shown,
            protocol,
            speaker.address,
            error,
        )


class OnThread:
    """For callers that may wait. Thread-safe."""

    def __init__(
        self,
        policy: ServicePolicy,
        groups: Callable[[str], Sequence[str]],
        resolve: Callable[[str], Sequence[str]] = addresses_of,
    ) -> None:
        """`resolve` gives the addresses of a machine, and raises OSError if nobody could be
        asked."""
        self.policy = policy
        self._groups = groups
        self._resolve = resolve

    @classmethod
    def of(cls, conf: Configuration) -> OnThread | None:
        """None where the policy is not followed. Raises InvalidConfiguration."""
        if not is_authorizing(conf):
            return None
        return cls(
            read_policy(conf),
            Remembered(groups_from(conf), conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS)),
            known_machines(addresses_of),
        )

    def replace(self, policy: ServicePolicy) -> None:
        """This holds from now on, for who is judged from now on."""
        self.policy = policy

    def authorize_protocol(self, speaker: Speaker, done: Done) -> None:
        """Call `done` at once: with AuthorizationFailed for who may not, or None."""
        judgement = self.policy.judge(speaker)
        answer: Sequence[str] | errors.HowdahError | None = None
        error: errors.HowdahError | None = None
        try:
            while True:
                if isinstance(answer, errors.HowdahError):
                    question = judgement.throw(answer)
                else:
                    question = judgement.send(answer)
                answer = self._answer(question)
        except StopIteration:
            pass
        except errors.HowdahError as refusal:
            error = refusal
        _note(speaker, error)
        done(error)

    def _answer(self, question: Question) -> Sequence[str] | errors.HowdahError:
        if isinstance(question, GroupsOf):
            return self._groups(question.user)
        try:
            return self._resolve(question.machine)
        except OSError as error:
            return errors.RetriableError(
                f"the machine {question.machine} cannot be looked up: {error}"
            )


class OnLoop:
    """For a loop, which it never keeps waiting. To be used on that loop."""

    def __init__(
        self,
        policy: ServicePolicy,
        groups: KnownGroups,
        loop: Loop,
        resolve: Callable[[str], Sequence[str]] = addresses_of,
    ) -> None:
        self.policy = policy
        self._groups = groups
        self._machines = Machines(resolve, loop)

    @classmethod
    def of(cls, conf: Configuration, groups: KnownGroups, loop: Loop) -> OnLoop | None:
        """None where the policy is not followed. Raises InvalidConfiguration."""
        return cls(read_policy(conf), groups, loop) if is_authorizing(conf) else None

    def replace(self, policy: ServicePolicy) -> None:
        """This holds from now on, for who is judged from now on; machines are looked up anew."""
        self.policy = policy
        self._machines.forget()

    def authorize_protocol(self, speaker: Speaker, done: Done) -> None:
        """Call `done`, now or later: with AuthorizationFailed for who may not, or None."""

        def judged(error: errors.HowdahError | None) -> None:
            _note(speaker, error)
            done(error)

        self._go_on(self.policy.judge(speaker), None, judged)

    def _go_on(
        self, judgement: Judgement, answer: Sequence[str] | errors.HowdahError | None, done: Done
    ) -> None:
        try:
            while True:
                if isinstance(answer, errors.HowdahError):
                    question = judgement.throw(answer)
                else:
                    question = judgement.send(answer)
                answer = self._known(question)
                if answer is None:
                    break
        except StopIteration:
            done(None)
            return
        except errors.HowdahError as refusal:
            done(refusal)
            return
        if isinstance(question, AddressesOf):
            self._machines.look_up(
                question.machine, lambda outcome: self._go_on(judgement, outcome, done)
            )
            return
        user = question.user

        def looked_up(error: errors.HowdahError | None) -> None:
            self._go_on(judgement, error or self._groups(user), done)

        self._groups.when_known(user, looked_up)

    def _known(self, question: Question) -> Sequence[str] | None:
        """What need not be looked up."""
        if isinstance(question, AddressesOf):
            return self._machines.get(question.machine)
        return self._groups(question.user) if self._groups.is_known(question.user) else None
