"""Paths of a nameservice, back to those of the router (pure).

A namenode names paths in what it says: an error's message, a symbolic link's target, the place
of a snapshot. Clients know the router's paths only. What a location covers is replaced: its
path, and the directories above that down to the destination of the mount point.
"""

from __future__ import annotations

import re

from howdah import errors
from howdah.router.state.table.mount_table import Location, MountTable, is_at_or_below, joined

_BEFORE = r"(?<![\w./-])"
_BEHIND = r"(?=[/\s\"',:;)\]}]|\.(?:\s|$)|$)"


def source_path(location: Location, path: str) -> str | None:
    """The router's path of a path at or below the destination of a location; None elsewhere."""
    if not is_at_or_below(path, location.root):
        return None
    rest = "" if path == location.root else path[len(location.root.rstrip("/")) :]
    return joined(location.source, rest)


def translate_text(text: str, location: Location) -> str:
    """Return a message with the location's paths as the router's.

    >>> where = Location("ns1", "/data/x/y", "/data", "/mnt")
    >>> translate_text("File does not exist: /data/x/y", where)
    'File does not exist: /mnt/x/y'
    """
    if location.root == location.source:
        return text
    root = location.root
    if root != "/":
        source = location.source

        def replaced(match: re.Match[str]) -> str:
            goes_on = text[match.end() : match.end() + 1] == "/"
            return source.rstrip("/") if goes_on else source

        return re.sub(_BEFORE + re.escape(root) + _BEHIND, replaced, text)
    # Every absolute path would be at or below it: only those that the call is about.
    paths = [location.path]
    while paths[-1] != "/":
        paths.append(paths[-1].rpartition("/")[0] or "/")
    known = {path: joined(location.source, path) for path in paths if path != "/"}
    if not known:
        return text
    pattern = _BEFORE + "(" + "|".join(map(re.escape, known)) + ")" + _BEHIND
    return re.sub(pattern, lambda match: known[match.group(1)], text)


def translate_error(
    error: errors.HowdahError, location: Location, table: MountTable
) -> errors.HowdahError:
    """Return the same error, of the same class, about the router's paths."""
    if isinstance(error, errors.UnresolvedPath):
        # The message is a path, and nothing else.
        path = error.message
        source = source_path(location, path) or table.source_of(location.nameservice, path)
        message = source or path
    else:
        message = translate_text(error.message, location)
    if message == error.message:
        return error
    return errors.from_java(error.remote_class, message)
