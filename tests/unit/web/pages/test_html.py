"""Markup: whatever is not markup is text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.web.pages.html import Html, tag


class Read(HTMLParser):
    """What a browser would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text())
@pytest.mark.req("FS-283")
def test_any_text_stays_text(text: str, value: str) -> None:
    read = Read()
    read.feed(tag("p", text, title=value))
    read.close()
    assert [name for name, _ in read.elements] == ["p"]
    assert read.elements[0][1].keys() == {"title"}
    if text.isprintable():
        assert read.text == text


def test_markup_goes_in_as_it_is() -> None:
    assert tag("p", tag("b", "<"), [" & ", 3, None]) == "<p><b>&lt;</b> &amp; 3</p>"


def test_attributes_have_html_s_names() -> None:
    made = tag("input", class_="x", aria_label='a"b', hidden=True, disabled=False, id=None)
    assert made == '<input class="x" aria-label="a&quot;b" hidden/>'


@pytest.mark.req("FS-283")
def test_what_would_turn_the_text_round_is_shown_as_what_it_is() -> None:
    assert tag("p", "a\u202egnp.exe\x00") == "<p>a\\u202egnp.exe\\u0000</p>"


def test_only_what_is_made_as_markup_is_markup() -> None:
    assert isinstance(tag("p"), Html)
    assert tag("p", str(tag("b"))) != tag("p", tag("b"))
