"""Names and passwords in a header."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.web_authentication.basic import Credentials, credentials_in, header_of


@given(
    st.text(st.characters(exclude_characters=":", exclude_categories=["Cs"]), min_size=1),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_what_is_sent_is_read(user: str, password: str) -> None:
    if len(header_of(user, password)) < 8000:
        assert credentials_in(header_of(user, password)) == Credentials(user, password)


@given(st.text())
def test_any_header_is_read_or_is_none(text: str) -> None:
    for header in (text, f"Basic {text}"):
        found = credentials_in(header)
        assert found is None or found.user


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic",
        "Basic !",
        "Bearer YTpi",
        "Basic YQ==",
        f"Basic {base64.b64encode(b':password').decode()}",
        f"Basic {base64.b64encode(bytes([255, 58, 97])).decode()}",
        f"Basic {base64.b64encode(b'a:' + b'x' * 9000).decode()}",
    ],
)
def test_what_is_none_is_none(header: str | None) -> None:
    assert credentials_in(header) is None


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(credentials_in(header_of("alice", "secret")))
