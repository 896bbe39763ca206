"""How often a provider is asked for a document, and what serves where it does not answer."""

from __future__ import annotations

import threading

import pytest

from howdah.protocol.web_authentication.openid.metadata import MalformedDocument
from howdah.security.openid.cached import AGAIN_S, FRESH_S, STALE_S, CachedDocument
from howdah.security.openid.documents import ProviderUnreachable


class Source:
    """What is fetched, and when."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.count = 0
        self.error: Exception | None = None
        self.document = CachedDocument("the keys", self.fetch, lambda: self.now_s)

    def fetch(self) -> int:
        self.count += 1
        if self.error is not None:
            raise self.error
        return self.count


@pytest.fixture
def source() -> Source:
    return Source()


def test_a_document_is_fetched_once_until_it_is_old(source: Source) -> None:
    assert [source.document.get(), source.document.get()] == [1, 1]
    source.now_s = FRESH_S
    assert source.document.get() == 2


def test_a_new_key_is_looked_for_and_not_for_each_request(source: Source) -> None:
    source.document.get()
    assert source.document.newer() == 1, "it was fetched just now"
    source.now_s = AGAIN_S
    assert [source.document.newer() for _ in range(1000)] == [2] * 1000
    source.now_s += AGAIN_S
    assert source.document.newer() == 3


@pytest.mark.parametrize("error", [ProviderUnreachable("refused"), MalformedDocument("no JSON")])
def test_a_provider_that_does_not_answer_is_asked_again_after_a_while(
    source: Source, error: Exception
) -> None:
    source.error = error
    for _ in range(3):
        with pytest.raises(ProviderUnreachable, match=f"the keys cannot be had: {error}"):
            source.document.get()
    assert source.count == 1
    source.error, source.now_s = None, AGAIN_S
    assert source.document.get() == 2


def test_what_was_there_serves_for_a_day(source: Source) -> None:
    source.document.get()
    source.error, source.now_s = ProviderUnreachable("refused"), FRESH_S
    assert [source.document.get(), source.document.newer()] == [1, 1]
    assert source.count == 2
    source.now_s = STALE_S
    with pytest.raises(ProviderUnreachable, match="refused"):
        source.document.get()


def test_who_has_an_old_document_does_not_wait_for_a_new_one() -> None:
    begun, goes_on = threading.Event(), threading.Event()
    now_s = 0.0
    fetched: list[int] = []

    def fetch() -> int:
        if fetched:
            begun.set()
            assert goes_on.wait(60)
        fetched.append(len(fetched) + 1)
        return fetched[-1]

    document = CachedDocument("the keys", fetch, lambda: now_s)
    assert document.get() == 1
    now_s = FRESH_S
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(document.get()))
    thread.start()
    assert begun.wait(60)
    assert document.get() == 1, "another thread fetches it"
    goes_on.set()
    thread.join(60)
    assert answers == [2] == [document.get()]
