"""A failover that an administrator orders where no controllers do (shell).

Mirrors Hadoop's FailoverController, whose words scripts may look for:

M1. The namenode that is to become active is standby, ready and healthy.
M2. The one before is ordered to be standby. If it does not obey, or an administrator insists, it
    is fenced. If that fails, nothing more happens.
M3. The new one is ordered to be active. If that fails, and the one before was not fenced, it is
    made active again, after the new one was fenced: it may still be on its way.
"""

from __future__ import annotations

import logging

from howdah import errors
from howdah.failover.fencing_methods import Fencer
from howdah.failover.namenodes import Namenode, fence_gracefully, make_active
from howdah.failover.settings import Timeouts
from howdah.failover.state.fencing import parse_methods
from howdah.failover.state.service import RequestSource, ServiceState, Target

log = logging.getLogger(__name__)


class ManualFailover:
    """Makes one namenode active in the place of another."""

    def __init__(
        self, fencer: Fencer, timeouts: Timeouts, source: RequestSource, user: str
    ) -> None:
        """`user` is who orders it."""
        self._user = user
        self._fencer = fencer
        self._timeouts = timeouts
        self._source = source

    def run(
        self, before: Target, after: Target, *, forces_fence: bool, forces_active: bool
    ) -> None:
        """Raises FailoverFailed; BadFencingConfiguration before anything has happened."""
        parse_methods(before.fencing)
        self._check(before, after, forces_active=forces_active)
        is_standby = fence_gracefully(before, self._source, self._timeouts.to_standby_s, self._user)
        fences = forces_fence or not is_standby
        if fences:
            try:
                self._fencer.fence(before)
            except errors.HowdahError as error:
                log.error("%s", error)
                raise errors.FailoverFailed(f"Unable to fence {before}. Fencing failed.") from error
        try:
            make_active(after, self._source, self._timeouts.to_active_s, self._user)
        except errors.HowdahError as error:
            log.error("unable to make %s active: %s", after, error)
            message = f"Unable to failover to {after}"
            if not fences:
                message += self._fail_back(before, after)
            raise errors.FailoverFailed(f"{message}: {error}") from error

    def _fail_back(self, before: Target, after: Target) -> str:
        """What is to be added to the message."""
        try:
            self.run(after, before, forces_fence=True, forces_active=True)
        except errors.HowdahError as error:
            log.error("unable to make %s active again: %s", before, error)
            return f". Failback to {before} failed ({error})"
        return ""

    def _check(self, before: Target, after: Target, *, forces_active: bool) -> None:
        if before.address == after.address:
            raise errors.FailoverFailed("Can't failover a service to itself")
        namenode = Namenode(after, self._timeouts.to_active_s, self._user)
        try:
            try:
                status = namenode.status()
            except errors.HowdahError as error:
                raise errors.FailoverFailed(
                    f"Unable to get service state for {after}: {error}"
                ) from error
            if status.state is not ServiceState.STANDBY:
                raise errors.FailoverFailed(f"Can't failover to an {status.state.value} service")
            if not status.is_ready:
                if not forces_active:
                    raise errors.FailoverFailed(
                        f"{after} is not ready to become active: {status.not_ready_reason}"
                    )
                log.warning("%s is not ready to become active: %s", after, status.not_ready_reason)
            try:
                namenode.check_health()
            except errors.HealthCheckFailed as error:
                raise errors.FailoverFailed("Can't failover to an unhealthy service") from error
            except errors.HowdahError as error:
                raise errors.FailoverFailed(f"Got an IO exception: {error}") from error
        finally:
            namenode.close()
