"""For how long delegation tokens of routers are good (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from howdah.config import keys
from howdah.config.settings import setting
from howdah.security import stored_tokens


@dataclass(frozen=True, slots=True)
class TokenTimes(stored_tokens.TokenTimes):
    """In seconds, as Hadoop's routers have them."""

    renewal_s: int = setting(keys.DELEGATION_TOKEN_RENEW_INTERVAL_SEC)
    lifetime_s: int = setting(keys.DELEGATION_TOKEN_MAX_LIFETIME_SEC)
    key_s: int = setting(keys.DELEGATION_TOKEN_UPDATE_INTERVAL_SEC)
    scan_s: int = setting(keys.DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC)
