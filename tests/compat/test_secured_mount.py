"""`howdah mount` of Apache's HDFS in secure mode: by the tickets of the user who mounts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mounts import TIMEOUT_S, Mount, mounted, need_fuse
from tests.support.security.kdc import Kdc
from tests.support.security.secured_hadoop import AES, SecuredHadoop

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

MIB = 1 << 20


def options_of(hadoop: SecuredHadoop, **protection: str) -> list[str]:
    values = hadoop.client_conf(**protection)
    return [word for key, value in values.items() for word in ("-D", f"{key}={value}")]


@pytest.fixture(params=["authentication", "privacy"])
def mount(
    request: pytest.FixtureRequest, hadoop: SecuredHadoop, kdc: Kdc, tmp_path: Path
) -> Iterator[Mount]:
    need_fuse()
    kdc.kinit("bob", tmp_path / "ccache")
    protection = {"rpc": request.param, "data": request.param, "suites": AES}
    options = options_of(hadoop, **protection)
    with mounted(hadoop.uri, tmp_path / "hdfs", *options) as found:
        yield found


def test_files_come_in_and_out_as_those_of_the_ticket(
    mount: Mount, hadoop: SecuredHadoop, tmp_path: Path
) -> None:
    content = os.urandom(3 * MIB + 17)
    (tmp_path / "source").write_bytes(content)
    mount.run("cp", tmp_path / "source", "user/bob/copied")
    mount.shell("cd user/bob; mv copied moved; echo more >> moved; ls -l")
    assert mount.run("cat", "user/bob/moved").stdout == content + b"more\n"
    with hadoop.connect() as fs:
        assert fs.get_file_status("/user/bob/moved").owner == "bob"
    mount.shell("rm user/bob/moved")


def test_what_is_anothers_is_refused(mount: Mount, hadoop: SecuredHadoop) -> None:
    with hadoop.connect() as fs:
        fs.mkdirs("/user/alice/own")
        fs.set_permission("/user/alice/own", 0o700)
        fs.write_bytes("/user/alice/own/file", b"hers", overwrite=True)
    for command in (["cat", "user/alice/own/file"], ["touch", "user/alice/new"]):
        done = mount.run(*command, check=False)
        assert done.returncode == 1
        assert b"Permission denied" in done.stderr


def test_without_a_ticket_it_is_said_what_to_do(hadoop: SecuredHadoop, tmp_path: Path) -> None:
    need_fuse()
    (tmp_path / "hdfs").mkdir()
    command = [sys.executable, "-m", "howdah", "mount", hadoop.uri, str(tmp_path / "hdfs")]
    done = subprocess.run(
        [*command, "--foreground", *options_of(hadoop)],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 1
    assert "get one by kinit" in done.stderr
