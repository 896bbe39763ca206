"""What becomes of an edit: what `Namespace.apply` raises (pure)."""

from __future__ import annotations

from howdah import errors


class EditDoesNotFit(errors.HowdahError, RuntimeError):
    """An edit contradicts the namespace that it is applied to."""


class NamespaceBroken(RuntimeError):
    """An edit failed in a namenode that serves. The namespace may be between two states:
    nothing that it says may be answered, logged or checkpointed, and the process ends.

    No `HowdahError`, which handlers catch to go on without what failed.
    """
