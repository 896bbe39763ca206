"""Hadoop's filter of requests that a page has made a browser send."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.web.cross_site import filter_of, header_of, is_from_another_page
from howdah.web.http import Request

BROWSER = {"user-agent": "Mozilla/5.0 (X11)"}
ON = {"dfs.webhdfs.rest-csrf.enabled": "true"}


@pytest.mark.req("FS-256")
@pytest.mark.parametrize(
    ("method", "headers", "passes"),
    [
        ("PUT", BROWSER, False),
        ("DELETE", {"user-agent": "Opera/9.8"}, False),
        ("PUT", {**BROWSER, "x-xsrf-header": ""}, True),
        ("GET", BROWSER, True),
        ("PUT", {"user-agent": "curl/8.5.0"}, True),
        ("PUT", {}, True),
    ],
)
def test_a_browsers_change_wants_a_header(
    method: str, headers: dict[str, str], passes: bool
) -> None:
    filter_ = filter_of(Configuration(ON))
    assert filter_ is not None
    refusal = filter_.refusal(Request(method, "/webhdfs/v1/a", headers=headers))
    if passes:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.status == 400
        assert b"Missing Required Header for CSRF Prevention" in refusal.body
        assert refusal.reason == "Missing Required Header for CSRF Prevention"


def test_header_methods_and_browsers_are_configured() -> None:
    prefix = "dfs.webhdfs.rest-csrf"
    conf = Configuration(
        {
            **ON,
            f"{prefix}.custom-header": "X-Own",
            f"{prefix}.methods-to-ignore": "get,put",
            f"{prefix}.browser-useragents-regex": "Lynx.*",
        }
    )
    filter_ = filter_of(conf)
    assert filter_ is not None
    assert filter_.refusal(Request("PUT", "/", headers={"user-agent": "Lynx/2"})) is None
    assert filter_.refusal(Request("POST", "/", headers={"user-agent": "Lynx/2"})) is not None
    assert filter_.refusal(Request("POST", "/", headers=BROWSER)) is None
    assert header_of(conf) == {"X-Own": '""'}


def test_it_is_off_unless_it_is_switched_on() -> None:
    assert filter_of(Configuration({})) is None
    assert header_of(Configuration({})) == {}


def test_a_pattern_that_is_none_is_refused() -> None:
    values = {**ON, "dfs.webhdfs.rest-csrf.browser-useragents-regex": "("}
    with pytest.raises(errors.InvalidConfiguration, match="browser-useragents-regex"):
        filter_of(Configuration(values))


@pytest.mark.parametrize(
    ("headers", "is_foreign"),
    [
        ({}, False),
        ({"user-agent": "curl/8.5.0", "host": "here:1"}, False),
        (BROWSER, True),
        ({**BROWSER, "sec-fetch-site": "none"}, False),
        ({**BROWSER, "sec-fetch-site": "same-origin"}, False),
        ({**BROWSER, "sec-fetch-site": "same-site"}, True),
        ({**BROWSER, "host": "here:1", "referer": "http://here:1/x"}, False),
        ({**BROWSER, "host": "here:1", "referer": "http://evil:1/x"}, True),
        ({**BROWSER, "host": "here:1", "origin": "http://here:1"}, False),
        ({**BROWSER, "host": "here:1", "origin": "null"}, True),
        ({"host": "here:1", "origin": "http://evil:1"}, True),
        ({"host": "here:1", "origin": "http://here:1", "referer": "http://evil:1/"}, True),
        ({**BROWSER, "sec-fetch-site": "none", "origin": "http://evil:1"}, True),
        # What names no server is not that of a request which names none.
        ({**BROWSER, "referer": "about:blank"}, True),
    ],
)
def test_a_browser_has_to_say_that_no_other_page_led_it_here(
    headers: dict[str, str], is_foreign: bool
) -> None:
    assert is_from_another_page(Request("GET", "/x", headers=headers)) == is_foreign
