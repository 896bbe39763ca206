"""What the tasks that list a copy are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from howdah.copy.common.filesystems import Place
from howdah.copy.common.staging import Staging
from howdah.copy.locks.tree_lock import NO_LOCK
from howdah.copy.options import Options
from howdah.spark.copy_job.copy_listing import CopyListing


@pytest.mark.parametrize("refuses", [False, True])
def test_encrypted_files_are_refused_where_that_is_asked_for(refuses: bool) -> None:
    options = Options(update=True, refuses_encrypted=refuses)
    context = SimpleNamespace(places=(), target=Place("file:///"), filters=())
    staging = Staging.of("/t", False, "key", "run")
    listing = CopyListing(
        cast(Any, None), cast(Any, context), options, [], staging, "/t", NO_LOCK, []
    )
    assert listing.walk().refuses_encrypted is refuses
