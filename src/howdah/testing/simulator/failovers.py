"""What happens to the namenodes of a simulated nameservice.

Each method makes one thing happen, and says whether it could. A restarted process begins
with any part of the log, as from an old image.
"""

from __future__ import annotations

from collections.abc import Callable

from howdah.testing.simulator.nameservice import Member, Nameservice
from howdah.testing.simulator.tasks import Choices


class Failovers:
    """The fate of the members."""

    def __init__(
        self, service: Nameservice, choices: Choices, edits_lost: Callable[[], None]
    ) -> None:
        """`edits_lost` is called when edits may be lost of which nobody was told."""
        self._service = service
        self._choices = choices
        self._edits_lost = edits_lost

    def _some(self, members: list[Member]) -> Member | None:
        return members[self._choices.below(len(members))] if members else None

    def _note(self, member: Member, event: str) -> None:
        self._service.world.note(member.name, event)

    def _take_over(self, chosen: Member | None) -> bool:
        if chosen is None:
            return False
        self._note(chosen, "becomes active")
        self._service.take_over(chosen)
        self._edits_lost()
        return True

    def take_over(self) -> bool:
        """The standby replaces an active that goes on, or stands still."""
        service = self._service
        if not service.has_active:
            return False
        others = [m for m in service.members if m is not service.writer and m.process.runs]
        return self._take_over(self._some([m for m in others if not m.is_active]))

    def elect(self) -> bool:
        """No namenode is active: one becomes it."""
        service = self._service
        if service.has_active:
            return False
        return self._take_over(
            self._some([m for m in service.members if m.process.runs and not m.is_active])
        )

    def hand_over(self) -> bool:
        service = self._service
        if not service.has_active or not all(m.process.runs for m in service.members):
            return False
        if sum(member.is_active for member in service.members) > 1:
            return False
        self._note(service.writer, "hands over")
        service.hand_over()
        return True

    def kill(self) -> bool:
        member = self._some([m for m in self._service.members if m.process.alive])
        if member is None:
            return False
        self._note(member, "is killed")
        member.kill()
        return True

    def end_stale(self) -> bool:
        """One that believes to be active is told that it is not, and ends."""
        service = self._service
        stale = [
            m
            for m in service.members
            if m.process.alive and m.is_active and m is not service.writer
        ]
        member = self._some(stale)
        if member is None:
            return False
        self._note(member, "is fenced")
        member.kill()
        return True

    def start(self) -> bool:
        member = self._some([m for m in self._service.members if not m.process.alive])
        if member is None:
            return False
        log = self._service.log
        txid = len(log) - self._choices.below(len(log))
        self._note(member, f"starts with {txid} of {len(log)} edits")
        member.start(txid)
        return True

    def freeze(self) -> bool:
        member = self._some([m for m in self._service.members if m.process.runs])
        if member is None or any(m.process.frozen for m in self._service.members):
            return False
        self._note(member, "freezes")
        member.process.frozen = True
        return True

    def thaw(self) -> bool:
        frozen = [m for m in self._service.members if m.process.alive and m.process.frozen]
        member = self._some(frozen)
        if member is None:
            return False
        self._note(member, "thaws")
        member.process.frozen = False
        return True

    def heal(self) -> None:
        """All run, and one of them is active."""
        while self.thaw() or self.end_stale() or self.start():
            continue
        self.elect()
