"""The server's side of SPNEGO (shell: a keytab; on the thread of a connection, never on a loop).

What the library finds wrong with a ticket is in the log. Who showed it hears that it was not taken.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from howdah import errors
from howdah.security.server_methods import ServerIdentity

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TicketTaken:
    """Who showed a ticket, by his principal, and what proves the server to him."""

    principal: str
    answer: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TicketContinued:
    """The library wants another round."""

    answer: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SpnegoAcceptor:
    """Looks at tickets for one principal. Thread-safe."""

    identity: ServerIdentity

    def accept(self, token: bytes, address: str) -> TicketTaken | TicketContinued:
        """Look at what somebody at `address` shows. Raises AuthenticationFailed."""
        # It loads the library of Kerberos.
        from howdah.security.gssapi import AcceptedContext, AcceptorCredential, GssFailure

        try:
            # Anew for each client: a keytab may have got new keys.
            credential = AcceptorCredential(
                self.identity.keytab, str(self.identity.principal), for_spnego=True
            )
            context = AcceptedContext(credential, for_spnego=True)
            answer = context.step(token)
        except GssFailure as failure:
            log.info(
                "a ticket that %s shows for %s is not taken: %s",
                address,
                self.identity.principal,
                failure,
            )
            raise errors.AuthenticationFailed(
                f"the ticket was not taken by {self.identity.principal}: its log has the reason"
            ) from failure
        if not context.is_established:
            return TicketContinued(answer)
        return TicketTaken(context.client, answer)
