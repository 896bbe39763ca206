"""What a provider is asked for a login, and what its answers are worth."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from howdah.protocol.web_authentication.openid.flow import (
    RANDOM_BYTES,
    LoginFlow,
    LoginRefused,
    Resumed,
)
from howdah.protocol.web_authentication.openid.tokens import ALGORITHMS, TokenRefused
from howdah.security.openid.cached import AGAIN_S
from howdah.security.openid.documents import ProviderUnreachable
from howdah.security.openid.provider import Provider
from howdah.security.openid.settings import OpenIdSettings
from tests.support.openid import AUDIENCE, CLIENT, ISSUER, SECRET, FakeProvider

BACK = "https://nn:9871/login/openid/callback"
SETTINGS = OpenIdSettings(
    ISSUER, CLIENT, SECRET, ("openid",), "preferred_username", (), "", ALGORITHMS, AUDIENCE,
    None, False,
)  # fmt: skip
FLOW = LoginFlow(b"key", ISSUER, CLIENT, ("openid",), SETTINGS.stamp)


class World:
    """A provider, and a server that asks it."""

    def __init__(self, settings: OpenIdSettings = SETTINGS, **provider: Any) -> None:
        self.clock_s = 0.0
        self.fake = FakeProvider(**provider)
        self.provider = Provider(settings, self.fake, now_s=lambda: self.clock_s)

    def agreed(self) -> Resumed:
        """A user agrees at the provider, and comes back."""
        endpoint = self.provider.metadata().authorization_endpoint
        begun = FLOW.begin(endpoint, BACK, "/", secrets.token_bytes(RANDOM_BYTES), 0)
        location = self.fake.authorized(urlsplit(begun.location).query)
        return FLOW.resume(begun.cookie, dict(parse_qsl(urlsplit(location).query)), BACK, 1)

    def log_in(self) -> str:
        return self.provider.user_of_code(self.agreed()).user


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("methods", [None, ["client_secret_post"]])
def test_a_code_stands_for_a_user(methods: list[str] | None) -> None:
    world = World(metadata={"token_endpoint_auth_methods_supported": methods})
    assert world.log_in() == "alice"


def test_a_public_client_proves_by_pkce_alone() -> None:
    world = World(replace(SETTINGS, client_secret=None), client_secret=None)
    assert world.log_in() == "alice"


def test_a_code_counts_once(world: World) -> None:
    resumed = world.agreed()
    world.provider.user_of_code(resumed)
    with pytest.raises(LoginRefused, match="used already"):
        world.provider.user_of_code(resumed)


def test_a_code_is_nothing_without_its_verifier(world: World) -> None:
    with pytest.raises(LoginRefused, match="used already, has ended, or is another client's"):
        world.provider.user_of_code(replace(world.agreed(), verifier="a" * 43))


def test_a_wrong_secret_is_said() -> None:
    world = World(client_secret="another")
    with pytest.raises(LoginRefused, match="does not take this client and its secret"):
        world.log_in()


def test_an_id_token_of_another_login_is_refused(world: World) -> None:
    with pytest.raises(TokenRefused, match="answers another login"):
        world.provider.user_of_code(replace(world.agreed(), nonce="other"))


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"nonce": None}, "has no nonce"),
        ({"aud": "other"}, "and not for howdah"),
        ({"iss": "https://evil.example.com"}, "and not from"),
        ({"exp": 1}, "clocks is off"),
        ({"preferred_username": None}, "no claim preferred_username"),
    ],
)
def test_an_id_token_that_is_wrong_says_why(claims: dict[str, Any], said: str) -> None:
    with pytest.raises(TokenRefused, match=said):
        World(claims=claims).log_in()


@pytest.mark.parametrize("body", [{}, {"error": "<script>"}, {"id_token": 7}, {"id_token": None}])
def test_an_answer_without_an_id_token_is_none(world: World, body: dict[str, object]) -> None:
    world.fake.answers["/token"] = 200, {}, json.dumps(body).encode()
    with pytest.raises(LoginRefused, match="answers 200 and no ID token") as refused:
        world.log_in()
    assert "<" not in refused.value.message


def test_tokens_of_programs_are_for_this_cluster(world: World) -> None:
    assert world.provider.user_of_bearer(world.fake.bearer(), AUDIENCE).user == "alice"
    with pytest.raises(TokenRefused, match="and not for"):
        world.provider.user_of_bearer(world.fake.token(aud=CLIENT), AUDIENCE)


def test_keys_are_fetched_anew_for_one_that_is_not_known(world: World) -> None:
    world.provider.user_of_bearer(world.fake.bearer(), AUDIENCE)
    world.fake.key = FakeProvider().key
    world.fake.header = {"kid": "new"}
    world.fake.published = [{**world.fake.key.as_dict(private=False), "kid": "new"}]
    with pytest.raises(TokenRefused, match="which the provider has not"):
        world.provider.user_of_bearer(world.fake.bearer(), AUDIENCE)
    world.clock_s = AGAIN_S
    assert world.provider.user_of_bearer(world.fake.bearer(), AUDIENCE).user == "alice"


def test_strangers_cannot_have_the_provider_asked_again_and_again(world: World) -> None:
    stranger = FakeProvider(header={"kid": "new"})
    for _ in range(50):
        with pytest.raises(TokenRefused):
            world.provider.user_of_bearer(stranger.bearer(), AUDIENCE)
    assert world.fake.asked.count("/keys") == 1
    for text in ("", "a.b.c", stranger.bearer() + "x" * 20_000):
        with pytest.raises(TokenRefused):
            World().provider.user_of_bearer(text, AUDIENCE)


def test_what_is_no_token_costs_the_provider_nothing() -> None:
    world = World()
    for text in ("", "a.b.c", "x" * 20_000):
        with pytest.raises(TokenRefused):
            world.provider.user_of_bearer(text, AUDIENCE)
    assert world.fake.asked == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/.well-known/openid-configuration", f"the discovery document of {ISSUER} cannot be had"),
        ("/keys", f"the keys of {ISSUER} cannot be had"),
        ("/token", "no JSON"),
    ],
)
def test_a_provider_that_answers_nonsense_is_named(world: World, path: str, said: str) -> None:
    world.fake.answers[path] = 200, {}, b"<html>"
    with pytest.raises(ProviderUnreachable, match=said):
        world.log_in()


def test_no_secret_is_shown(world: World) -> None:
    resumed = world.agreed()
    shown = repr((SETTINGS, world.provider, world.provider.settings, resumed, FLOW))
    for secret in ("planted", resumed.code, resumed.verifier, resumed.nonce):
        assert secret not in shown
