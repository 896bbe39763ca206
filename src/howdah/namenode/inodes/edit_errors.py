"""What `apply` raises (pure)."""

from __future__ import annotations

from howdah import errors


class EditDoesNotFit(errors.HowdahError, RuntimeError):
    """An edit contradicts the namespace that it is applied to."""
