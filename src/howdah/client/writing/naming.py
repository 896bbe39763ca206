"""Errors that name the file they are about (LM-049).

A namenode's refusal of a block, or a lease that somebody else has, may not say which file
it is about, and Hadoop's closed-channel error says nothing at all. Every error that leaves
an output stream goes through here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from howdah import errors


def named(error: errors.HowdahError, path: str) -> errors.HowdahError:
    """`error`, or the same one with `path` in front of its message if that lacks it."""
    if path in error.message:
        return error.about(path)
    return type(error)(f"{path}: {error.message}", java_class=error.remote_class).about(path)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """What is raised within names `path`."""
    try:
        yield
    except errors.HowdahError as error:
        known = named(error, path)
        if known is error:
            raise
        raise known from error
