"""The signed cookie: Hadoop's text of it, and every other text refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.web_authentication.signed_cookie import (
    MAX_CHARACTERS,
    CookieRefused,
    CookieScope,
    CookieSigner,
    SignedIdentity,
    cookie_in,
)

SIGNER = CookieSigner(b"a secret of this test alone\n")
ALICE = SignedIdentity("alice", "alice@EXAMPLE.COM", "kerberos", 2_000)
names = st.text(string.ascii_letters + string.digits + "@/._-$", min_size=1)
identities = st.builds(
    SignedIdentity, names, names, st.just("kerberos"), st.integers(1, 10**18), st.none()
)


def signed(text: str, key: bytes = b"a secret of this test alone\n") -> str:
    """As Hadoop's Signer does it."""
    signature = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return f"{text}&s={base64.b64encode(signature).decode()}"


def test_the_text_is_hadoops() -> None:
    assert SIGNER.sign(ALICE) == signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=2000")


@given(identities)
def test_what_was_signed_is_read_until_it_ends(identity: SignedIdentity) -> None:
    text = SIGNER.sign(identity)
    assert SIGNER.read(text, identity.expires_ms - 1) == identity
    with pytest.raises(CookieRefused, match="has ended"):
        SIGNER.read(text, identity.expires_ms)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "&s=",
        "u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=9999999999999",
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=9999", b"another secret"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=9999") + "A",
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=9999").replace("alice", "hdfs"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=simple&e=9999"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos-dt&e=9999"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos"),
        signed("u=alice&u=hdfs&p=alice@EXAMPLE.COM&t=kerberos&e=9999"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=9999&x=1"),
        signed("u=&p=alice@EXAMPLE.COM&t=kerberos&e=9999"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=-1"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=٣"),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&e=" + "9" * 30),
        signed("u=alice&p=alice@EXAMPLE.COM&t=kerberos&i=1000&e=9999"),
        signed("u=" + "a" * MAX_CHARACTERS + "&p=a&t=kerberos&e=9999"),
    ],
)
def test_every_other_text_is_refused(text: str) -> None:
    with pytest.raises(CookieRefused) as caught:
        SIGNER.read(text, 1_000)
    assert "alice" not in str(caught.value)


def test_a_second_end_counts_where_a_cookie_has_one() -> None:
    text = signed("u=a&p=a@R&t=kerberos&i=1500&e=9999")
    assert SIGNER.read(text, 1_499).user == "a"
    with pytest.raises(CookieRefused, match="has ended"):
        SIGNER.read(text, 1_500)
    assert SIGNER.read(signed("u=a&p=a@R&t=kerberos&i=-1&e=9999"), 5_000).user == "a"


@given(st.text(max_size=200))
def test_no_text_of_a_stranger_is_believed(text: str) -> None:
    with pytest.raises(CookieRefused):
        SIGNER.read(text, 0)


@given(identities, st.data())
def test_no_changed_character_goes_unnoticed(identity: SignedIdentity, data: st.DataObject) -> None:
    text = SIGNER.sign(identity)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(exclude_characters=text[at]))
    with pytest.raises(CookieRefused):
        SIGNER.read(text[:at] + other + text[at + 1 :], 0)


@pytest.mark.parametrize("name", ["", "a&b", 'a"b', "a b", "a;b", "a=b", "a\nb", "ä"])
def test_names_that_would_end_a_field_get_no_cookie(name: str) -> None:
    for identity in (
        SignedIdentity(name, "p", "kerberos", 1),
        SignedIdentity("u", name, "kerberos", 1),
    ):
        with pytest.raises(CookieRefused):
            SIGNER.sign(identity)


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(SIGNER)


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (None, None),
        ("", None),
        ("hadoop.auth", None),
        ("hadoop.auth=", None),
        ('hadoop.auth=""', None),
        ("hadoop.auth=u=a&s=x==", "u=a&s=x=="),
        ('hadoop.auth="u=a&s=x=="', "u=a&s=x=="),
        ('a=b; hadoop.auth="u=a"; c=d', "u=a"),
        ('hadoop.auth="', '"'),
        ("Hadoop.auth=u", None),
        ("xhadoop.auth=u", None),
    ],
)
def test_the_cookie_is_found_among_others(header: str | None, text: str | None) -> None:
    assert cookie_in(header) == text


@given(st.text())
def test_no_header_is_too_strange(header: str) -> None:
    found = cookie_in(header)
    assert found is None or found in header


@given(identities, st.booleans())
def test_what_is_set_comes_back(identity: SignedIdentity, is_secure: bool) -> None:
    text = SIGNER.sign(identity)
    header = CookieScope().header(text, is_secure=is_secure)
    assert ("; Secure" in header) is is_secure
    assert cookie_in(header.partition(";")[0]) == text
