"""Each fault that was mended is found when it is put back: by the world that is named with it, or
by one of the next seeds, as seeds belong to a commit. That world goes well without the fault.

`python -m tests.support.old_faults NAME 1-2000` looks for another seed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, Final

import pytest

from tests.support.old_faults import KNOWN

_TIMEOUT_S: Final = 6000

pytestmark = [pytest.mark.torture, pytest.mark.timeout(_TIMEOUT_S)]


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    """What worlds say of all faults: one process, which loads the servers' code once."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.old_faults", "--all", "--known", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(findings) == len(KNOWN), done.stderr[-4000:]
    return {finding["fault"]: finding for finding in findings}


@pytest.mark.parametrize("name", KNOWN)
def test_a_world_finds_the_fault(found: dict[str, dict[str, Any]], name: str) -> None:
    finding = found[name]
    assert finding["why"], f"not found in {finding['worlds']} worlds"
    assert re.search(KNOWN[name].says, finding["why"]), finding["why"]
    assert finding["is_sound"], f"{finding['scenario']} {finding['seed']} fails without the fault"
