"""What a reader makes of a store that does not do what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from howdah import errors
from howdah.client.statistics import Tally
from howdah.config import Configuration
from howdah.fs.objects.input import ObjectInput
from howdah.fs.objects.retrying import RetryRules
from howdah.fs.objects.settings import settings_of
from howdah.fs.streams import FSDataInputStream
from tests.support.objects.in_memory import InMemoryStore

DATA = b"0123456789"


@pytest.mark.req("FS-188")
@pytest.mark.parametrize("error", [errors.Unreachable("gone"), errors.CallTimeout("gone")])
def test_a_request_that_the_store_has_made_again_in_vain_is_not_made_again_by_the_reader(
    error: errors.HowdahError,
) -> None:
    """Seven times seven requests to a store that is away took minutes."""
    store = InMemoryStore()
    store.put("file", DATA, exclusive=False, writer=None)
    settings = replace(settings_of(Configuration(), "b"), retries=RetryRules(7, 0, 7, 0))
    info = store.head("file")
    stream = FSDataInputStream(ObjectInput(store, "/file", info, settings, Tally()))

    def fail(what: str, key: str) -> None:
        raise error

    store.before = fail
    store.requests.clear()
    reads: tuple[Callable[[], object], ...] = (stream.read, lambda: stream.pread(2, 3))
    for read in reads:
        with pytest.raises(type(error)) as told:
            read()
        assert told.value is error
        assert len(store.requests) == 1
        store.requests.clear()
