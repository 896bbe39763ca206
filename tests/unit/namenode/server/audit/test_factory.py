"""The keys of the audit log arrive where they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.audit.factory import audit_log, format_from
from howdah.namenode.server.audit.files import RotatedFile
from howdah.namenode.service.audit.line_format import LineFormat


def test_keys_say_what_lines_have() -> None:
    conf = Configuration(
        {
            "dfs.namenode.audit.log.with.remote.port": "true",
            "dfs.namenode.audit.log.token.tracking.id": "true",
            "hadoop.caller.context.enabled": "true",
            "hadoop.caller.context.max.size": "7",
            "hadoop.caller.context.signature.max.size": "8",
            "hadoop.caller.context.separator": "_",
            "dfs.namenode.audit.log.debug.cmdlist": "getfileinfo, open",
        }
    )
    quiet = frozenset(["getfileinfo", "open"])
    assert format_from(conf) == LineFormat(True, True, True, 7, 8, "_", quiet)
    assert format_from(Configuration({})) == LineFormat()


def test_file_is_as_large_and_as_many_as_keys_say(tmp_path: Path) -> None:
    conf = Configuration(
        {
            "howdah.namenode.audit.log.file": str(tmp_path / "a.log"),
            "howdah.namenode.audit.log.max-size": "1m",
            "howdah.namenode.audit.log.backups": "3",
        }
    )
    log = audit_log(conf, "P", lambda: 0, lambda path: None)
    assert log is not None
    output = log._output
    assert isinstance(output, RotatedFile)
    assert (output._max_bytes, output._backups) == (1 << 20, 3)
    output.close()


def test_there_is_no_log_unless_it_is_asked_for() -> None:
    assert audit_log(Configuration({}), "P", lambda: 0, lambda path: None) is None


def test_relative_path_is_refused() -> None:
    conf = Configuration({"howdah.namenode.audit.log.file": "audit.log"})
    with pytest.raises(errors.InvalidConfiguration, match=r"audit\.log is not an absolute path"):
        audit_log(conf, "P", lambda: 0, lambda path: None)
