"""The audit log that the configuration asks for (shell: opens its file)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.namenode.server.audit.files import RotatedFile
from howdah.namenode.server.audit.log import AuditLog
from howdah.namenode.service.audit.line_format import LineFormat, Shown


def audit_log(
    conf: Configuration,
    protocol: str,
    wall_ms: Callable[[], int],
    shown: Callable[[str], Shown | None],
) -> AuditLog | None:
    """The log of the calls of `protocol`, or None if there is to be none.

    Raises `InvalidConfiguration` for a file that cannot be written.
    """
    key = keys.HOWDAH_NAMENODE_AUDIT_LOG_FILE
    name = conf.get(key)
    if not name:
        return None
    path = Path(name)
    if not path.is_absolute():
        raise errors.InvalidConfiguration(f"{key.name}: {name} is not an absolute path")
    output = RotatedFile(
        path,
        conf.get(keys.HOWDAH_NAMENODE_AUDIT_LOG_MAX_SIZE),
        conf.get(keys.HOWDAH_NAMENODE_AUDIT_LOG_BACKUPS),
    )
    return AuditLog(protocol, format_from(conf), output, wall_ms, shown)


def format_from(conf: Configuration) -> LineFormat:
    """What lines have."""
    quiet = conf.get(keys.DFS_NAMENODE_AUDIT_LOG_DEBUG_CMDLIST)
    return LineFormat(
        has_client_port=conf.get(keys.DFS_NAMENODE_AUDIT_LOG_WITH_REMOTE_PORT),
        has_tracking_id=conf.get(keys.DFS_NAMENODE_AUDIT_LOG_TOKEN_TRACKING_ID),
        has_context=conf.get(keys.HADOOP_CALLER_CONTEXT_ENABLED),
        max_context=conf.get(keys.HADOOP_CALLER_CONTEXT_MAX_SIZE),
        max_signature=conf.get(keys.HADOOP_CALLER_CONTEXT_SIGNATURE_MAX_SIZE),
        separator=conf.get(keys.HADOOP_CALLER_CONTEXT_SEPARATOR),
        quiet_commands=frozenset(quiet),
    )
