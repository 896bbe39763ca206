"""What a request proves: a cookie, a ticket to look at, or nothing."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.web_authentication.negotiation import (
    MAX_TOKEN_CHARACTERS,
    Known,
    Negotiation,
    Ticket,
    Unproven,
)
from howdah.protocol.web_authentication.signed_cookie import CookieSigner

NEGOTIATION = Negotiation(CookieSigner(b"key"), 5_000)
TICKET = base64.b64encode(b"ticket").decode()


def cookie(user: str = "alice", now_ms: int = 0) -> str:
    headers = NEGOTIATION.accepted(user, f"{user}@R", b"", now_ms, is_secure=False)
    return headers["Set-Cookie"].partition(";")[0]


def test_a_ticket_leads_to_a_cookie_and_the_cookie_is_enough() -> None:
    found = NEGOTIATION.begin({"authorization": f"negotiate  {TICKET}"}, 0)
    assert found == Ticket(b"ticket")
    assert "ticket" not in repr(found)
    headers = NEGOTIATION.accepted("alice", "alice@R", b"proof", 1_000, is_secure=True)
    assert headers["WWW-Authenticate"] == "Negotiate cHJvb2Y="
    assert headers["Set-Cookie"].endswith("; Path=/; Secure; HttpOnly; SameSite=Strict")
    known = NEGOTIATION.begin({"cookie": headers["Set-Cookie"].partition(";")[0]}, 5_999)
    assert isinstance(known, Known)
    assert (known.identity.user, known.identity.principal) == ("alice", "alice@R")


def test_a_cookie_that_counts_goes_before_a_ticket_and_no_other_one_does() -> None:
    both = {"cookie": cookie(), "authorization": f"Negotiate {TICKET}"}
    assert isinstance(NEGOTIATION.begin(both, 4_999), Known)
    assert NEGOTIATION.begin(both, 5_000) == Ticket(b"ticket")
    assert NEGOTIATION.begin({"cookie": cookie()}, 5_000) == Unproven("the cookie has ended")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Negotiate",
        "Negotiate ",
        "Negotiate !!!!",
        "Negotiate ====",
        "Negotiate ä",
        f"Basic {TICKET}",
        f"NegotiateX {TICKET}",
        "Negotiate " + "A" * (MAX_TOKEN_CHARACTERS + 4),
    ],
)
def test_what_is_no_ticket_proves_nothing(header: str) -> None:
    assert isinstance(NEGOTIATION.begin({"authorization": header}, 0), Unproven)


@given(st.text(), st.text())
def test_no_header_is_too_strange(authorization: str, cookies: str) -> None:
    found = NEGOTIATION.begin({"authorization": authorization, "cookie": cookies}, 0)
    assert not isinstance(found, Known)


@given(st.binary(min_size=1, max_size=1000))
def test_every_ticket_is_looked_at(token: bytes) -> None:
    header = f"Negotiate {base64.b64encode(token).decode()}"
    assert NEGOTIATION.begin({"authorization": header}, 0) == Ticket(token)


def test_a_refusal_asks_for_a_ticket_and_takes_the_cookie_away() -> None:
    headers = NEGOTIATION.refused(b"more", is_secure=False)
    assert headers["WWW-Authenticate"] == "Negotiate bW9yZQ=="
    assert headers["Set-Cookie"].startswith("hadoop.auth=; Path=/; Expires=Thu, 01-Jan-1970")
    assert NEGOTIATION.refused(is_secure=False)["WWW-Authenticate"] == "Negotiate"


def test_a_name_that_fits_into_no_cookie_gets_none() -> None:
    headers = NEGOTIATION.accepted("a&b", "a&b@R", b"proof", 0, is_secure=False)
    assert headers == {"WWW-Authenticate": "Negotiate cHJvb2Y="}
