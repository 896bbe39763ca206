"""The developer's script, as far as it can be had without making an environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "dev"), *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_no_command_shows_the_usage() -> None:
    assert dev().stdout.startswith("Usage: ./dev COMMAND")


def test_unknown_command_fails() -> None:
    shown = dev("nonsense")
    assert shown.returncode == 2
    assert shown.stderr.startswith("Usage: ./dev COMMAND")


@pytest.mark.parametrize("script", ["dev", ".ci/run"])
def test_script_is_plain_sh(script: str) -> None:
    subprocess.run(["sh", "-n", str(ROOT / script)], check=True, timeout=60)
    assert (ROOT / script).read_text().startswith("#!/bin/sh\n")
