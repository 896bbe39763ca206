"""Keycloak, a provider of OpenID Connect, as a process of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from howdah.java import find_java_home
from howdah.testing.waiting import wait_until
from tests.support.security.servers import free_port

REALM: Final = "hadoop"
_ADMINISTRATOR: Final = ("administrator", "of this test alone")
_START_S: Final = 400
"""It compiles itself at its first start, on one core for minutes where the machine is busy."""


@dataclass(frozen=True, slots=True)
class Keycloak:
    """One that runs."""

    port: int

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def issuer(self) -> str:
        return f"{self.base}/realms/{REALM}"

    def make_realm(
        self,
        client: str,
        secret: str,
        audience: str,
        passwords: Mapping[str, str],
        redirect_uris: Sequence[str],
        logout_uris: Sequence[str],
    ) -> None:
        """Make the realm with users, by their passwords, and one client, whose access tokens are
        for `audience`. Only these addresses may be led back to."""
        mapper = {
            "name": "audience",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-audience-mapper",
            "config": {"included.custom.audience": audience, "access.token.claim": "true"},
        }
        realm = {
            "realm": REALM,
            "enabled": True,
            "sslRequired": "none",
            "users": [
                {
                    "username": user,
                    "enabled": True,
                    "email": f"{user}@example.com",
                    "emailVerified": True,
                    "firstName": user,
                    "lastName": user,
                    "credentials": [{"type": "password", "value": password}],
                }
                for user, password in passwords.items()
            ],
            "clients": [
                {
                    "clientId": client,
                    "secret": secret,
                    "redirectUris": list(redirect_uris),
                    "directAccessGrantsEnabled": True,
                    "attributes": {
                        "pkce.code.challenge.method": "S256",
                        "post.logout.redirect.uris": "##".join(logout_uris),
                    },
                    "protocolMappers": [mapper],
                }
            ],
        }
        name, password = _ADMINISTRATOR
        form = {"client_id": "admin-cli", "username": name, "password": password}
        token = self._token("master", form)["access_token"]
        request = urllib.request.Request(
            f"{self.base}/admin/realms",
            json.dumps(realm).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 201

    def tokens_of(self, client: str, secret: str, user: str, password: str) -> dict[str, Any]:
        """The tokens that a program of a user gets by the password."""
        form = {
            "client_id": client,
            "client_secret": secret,
            "username": user,
            "password": password,
            "scope": "openid",
        }
        return self._token(REALM, form)

    def _token(self, realm: str, form: Mapping[str, str]) -> dict[str, Any]:
        url = f"{self.base}/realms/{realm}/protocol/openid-connect/token"
        body = urlencode({"grant_type": "password", **form}).encode()
        with urllib.request.urlopen(url, body, timeout=60) as answer:
            tokens: dict[str, Any] = json.load(answer)
            return tokens

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.base}/realms/master", timeout=10):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False


@contextmanager
def running(archive: Path, directory: Path) -> Iterator[Keycloak]:
    """Unpack Keycloak into a directory, and run it there."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(directory)
    (home,) = directory.glob("keycloak-*")
    keycloak = Keycloak(free_port())
    name, password = _ADMINISTRATOR
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java_home()),
        "JAVA_OPTS_KC_HEAP": "-Xms64m -Xmx512m",
        "KC_BOOTSTRAP_ADMIN_USERNAME": name,
        "KC_BOOTSTRAP_ADMIN_PASSWORD": password,
    }
    command = ["/bin/bash", str(home / "bin" / "kc.sh"), "start-dev", "--db=dev-mem"]
    command += ["--http-host=127.0.0.1", f"--http-port={keycloak.port}"]
    said = directory / "keycloak.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:

        def is_up() -> bool:
            assert process.poll() is None, said.read_text()[-3000:]
            return keycloak._is_up()

        wait_until(is_up, timeout_s=_START_S)
        yield keycloak
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
