"""The provider of OpenID Connect by which users of a server log in (shell: asks it, the clock)."""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote_plus

from howdah.protocol.web_authentication.openid.flow import LoginRefused, Resumed
from howdah.protocol.web_authentication.openid.metadata import (
    POST,
    WELL_KNOWN,
    MalformedDocument,
    ProviderMetadata,
    metadata_of,
)
from howdah.protocol.web_authentication.openid.tokens import (
    PublishedKeys,
    SignedToken,
    UnknownKey,
    check_access_token,
    check_id_token,
    header_of,
    keys_of,
    signed_token,
)
from howdah.security.openid.cached import CachedDocument
from howdah.security.openid.documents import ProviderDocuments, ProviderUnreachable
from howdah.security.openid.settings import OpenIdSettings
from howdah.security.openid.users import user_of

log = logging.getLogger(__name__)

_ERRORS: Final = {
    "invalid_grant": "the code was used already, has ended, or is another client's",
    "invalid_client": "it does not take this client and its secret",
    "unauthorized_client": "this client may not log users in",
    "invalid_request": "the request is not as it wants it",
    "unsupported_grant_type": "it takes no codes",
    "invalid_scope": "a scope is unknown",
}
"""Of RFC 6749, 5.2."""


class Documents(Protocol):
    """What a provider answers. Both raise ProviderUnreachable, MalformedDocument."""

    def fetch(self, url: str) -> object: ...

    def post(
        self, url: str, form: str, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, object]]: ...


@dataclass(frozen=True, slots=True)
class KnownUser:
    """Whom a provider has said somebody to be."""

    user: str
    subject: str
    """By the provider's own name, which never changes."""


class Provider:
    """Of one server. Thread-safe."""

    def __init__(
        self,
        settings: OpenIdSettings,
        documents: Documents,
        *,
        wall_s: Callable[[], float] = time.time,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings: Final = settings
        self._documents = documents
        self._wall_s = wall_s
        self._metadata = CachedDocument(
            f"the discovery document of {settings.issuer}", self._fetch_metadata, now_s
        )
        self._keys = CachedDocument(f"the keys of {settings.issuer}", self._fetch_keys, now_s)

    def metadata(self) -> ProviderMetadata:
        """Raises ProviderUnreachable."""
        return self._metadata.get()

    def check(self) -> None:
        """Fetch what the provider says of itself, and its keys. Raises ProviderUnreachable."""
        self._keys.get()

    def user_of_code(self, resumed: Resumed) -> KnownUser:
        """Return whom a code stands for: the provider says so once. Raises LoginRefused,
        TokenRefused, ProviderUnreachable."""
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        endpoint = self.metadata().token_endpoint
        client, headers = self._client()
        form = prepare_token_request(
            "authorization_code",
            redirect_uri=resumed.redirect_uri,
            code=resumed.code,
            code_verifier=resumed.verifier,
            **client,
        )
        try:
            status, answer = self._documents.post(endpoint, str(form), headers)
        except MalformedDocument as error:
            raise ProviderUnreachable(str(error)) from None
        id_token, access_token = answer.get("id_token"), answer.get("access_token")
        if status != 200 or not isinstance(id_token, str):
            reason = _ERRORS.get(str(answer.get("error")), f"it answers {status} and no ID token")
            log.warning("%s gives no token for a code: %s", endpoint, reason)
            raise LoginRefused(f"{self.settings.issuer} gives no token for the code: {reason}")
        token = self._signed(id_token)
        check_id_token(
            token,
            issuer=self.settings.issuer,
            client_id=self.settings.client_id,
            nonce=resumed.nonce,
            access_token=access_token if isinstance(access_token, str) else None,
            now_s=int(self._wall_s()),
        )
        return self._known(token)

    def user_of_bearer(self, text: str, audience: str) -> KnownUser:
        """Return whom an access token is of. Raises TokenRefused, ProviderUnreachable."""
        token = self._signed(text)
        check_access_token(
            token, issuer=self.settings.issuer, audience=audience, now_s=int(self._wall_s())
        )
        return self._known(token)

    def _client(self) -> tuple[dict[str, str], dict[str, str]]:
        """How the client shows who it is: fields of the form, and headers."""
        name, secret = self.settings.client_id, self.settings.client_secret
        if secret is None:
            return {"client_id": name}, {}
        if self.metadata().secret_by == POST:
            return {"client_id": name, "client_secret": secret}, {}
        both = f"{quote_plus(name)}:{quote_plus(secret)}".encode()
        return {}, {"Authorization": f"Basic {base64.b64encode(both).decode()}"}

    def _signed(self, text: str) -> SignedToken:
        """Raises TokenRefused, ProviderUnreachable."""
        algorithms = self.settings.algorithms
        header_of(text, algorithms)  # What is refused anyway costs no look at the provider's keys.
        try:
            return signed_token(text, self._keys.get(), algorithms)
        except UnknownKey:
            return signed_token(text, self._keys.newer(), algorithms)

    def _known(self, token: SignedToken) -> KnownUser:
        settings = self.settings
        user = user_of(token.claims, settings.username_claim, settings.user_rules)
        return KnownUser(user, f"{token.claims.get('sub')!r:.255}")

    def _fetch_metadata(self) -> ProviderMetadata:
        url = f"{self.settings.issuer.rstrip('/')}{WELL_KNOWN}"
        return metadata_of(
            self._documents.fetch(url),
            self.settings.issuer,
            allows_plain=self.settings.allows_plain,
        )

    def _fetch_keys(self) -> PublishedKeys:
        try:
            return keys_of(self._documents.fetch(self.metadata().jwks_uri))
        except MalformedDocument as error:
            raise MalformedDocument(f"{self.metadata().jwks_uri}: {error}") from None


def provider_of(settings: OpenIdSettings) -> Provider:
    """Raises InvalidConfiguration."""
    return Provider(settings, ProviderDocuments(settings.ca_file))
