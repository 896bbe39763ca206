"""How clients prove who they are at a namenode, by its configuration (shell: a keytab, dice).

Without Kerberos everybody is believed, but for who shows a delegation token, where these are issued
nevertheless (`dfs.namenode.delegation.token.always-use`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah.config import Configuration, keys
from howdah.config.settings import read
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.namenode.service.delegation_tokens import TokenTimes
from howdah.namenode.service.ha.states import HAContext
from howdah.namenode.service.namesystem import Namesystem
from howdah.protocol.client_methods import Category
from howdah.rpc.proofs import EvaluatedBeside
from howdah.security.server_methods import IssuedTokens, MethodsAtServer
from howdah.security.settings import SecuritySettings

_KEY_BYTES: Final = 20
"""Of a key of delegation tokens: as many as a password has."""


def make_tokens(
    conf: Configuration, namesystem: Namesystem, short_name: Callable[[str], str]
) -> TokenCalls | None:
    """None where no delegation tokens are issued."""
    if not conf.get(keys.DFS_NAMENODE_DELEGATION_TOKEN_ALWAYS_USE):
        return None
    return TokenCalls(
        namesystem,
        read(TokenTimes, conf),
        short_name,
        lambda: os.urandom(_KEY_BYTES),
        needs_ticket=False,
    )


def short_name_of(conf: Configuration) -> Callable[[str], str]:
    """The user of a principal. Raises InvalidConfiguration."""
    settings = SecuritySettings.from_configuration(conf)
    return lambda principal: settings.user_of(principal, "")


def make_proofs(
    conf: Configuration,
    tokens: TokenCalls | None,
    context: HAContext,
    short_name: Callable[[str], str],
) -> EvaluatedBeside | None:
    """None where everybody is believed. Raises InvalidConfiguration."""
    if tokens is None:
        return None
    settings = SecuritySettings.from_configuration(conf)
    return EvaluatedBeside(
        MethodsAtServer(None, settings.rpc_protections, short_name, _Issued(tokens, context))
    )


@dataclass(frozen=True, slots=True)
class _Issued(IssuedTokens):
    """The tokens of this namenode, on its loop."""

    tokens: TokenCalls
    context: HAContext

    def password_of(self, identifier: bytes) -> bytes:
        return self.tokens.password_of(
            identifier,
            lambda: self.context.check(Category.READ),
            is_active=self.context.is_active,
        )
