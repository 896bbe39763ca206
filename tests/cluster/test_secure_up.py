"""`howdah up --secure`, as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from howdah.local.kdc import check_available
from howdah.testing import NoKdc


@pytest.fixture(autouse=True)
def _needs_a_kdc() -> None:
    try:
        check_available()
    except NoKdc as missing:
        pytest.skip(missing.message)


def run(*arguments: str, expect: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "howdah", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


def by_what_is_printed(text: str, user: str, command: str, cache: Path) -> str:
    """What a shell says to a command, after it was given what `up` prints for a user."""
    lines = [line.strip() for line in text.splitlines()]
    exports = [line for line in lines if line.startswith("export ")]
    (login,) = [line for line in lines if line.startswith("kinit ") and f" {user}" in line]
    script = "\n".join(["set -e", *exports, f"export KRB5CCNAME=FILE:{cache}", login, command])
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_users_keys_and_files_are_there_after_a_restart(tmp_path: Path) -> None:
    base, cache = tmp_path / "c", tmp_path / "cache"
    there = ("--dir", str(base))
    howdah = f"{sys.executable} -m howdah dfs"
    try:
        said = run("up", *there, "--datanodes", "1", "--secure", "--user", "alice").stdout
        made = f"echo content | {howdah} -put - /user/alice/file"
        by_what_is_printed(said, "alice", made, cache)
        keytab = (base / "kerberos" / "keytabs" / "alice.keytab").read_bytes()
        facts: dict[str, Any] = json.loads(run("status", *there, "--json").stdout)
        assert facts["kerberos"]["realm"] == "HOWDAH.TEST"
        assert "kdc" in [server["name"] for server in facts["processes"]]
        run("down", *there)
        again = run("up", *there, "--user", "bob").stdout
        assert (base / "kerberos" / "keytabs" / "alice.keytab").read_bytes() == keytab
        read = by_what_is_printed(again, "alice", f"{howdah} -cat file", cache)
        assert read == "content\n"
        assert "bob.keytab bob" in again
    finally:
        run("down", *there)


def test_a_user_without_a_realm_is_refused(tmp_path: Path) -> None:
    refused = run("up", "--dir", str(tmp_path / "c"), "--user", "alice", expect=1)
    assert "--user gives a realm a user, and wants --secure" in refused.stderr
