"""A passphrase that Vault decrypts, from a server that answers as Vault does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration, keys
from howdah.kms.server import passphrase_of

pytest.importorskip("hvac")

CIPHER_TEXT = "vault:v2:bm8gcGxhaW4gdGV4dA=="
PASSPHRASE = "a passphrase that is long"
TOKEN = "hvs.token"


class Vault(ThreadingHTTPServer):
    """Answers one call of the transit engine."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        plain = base64.b64encode(f"{PASSPHRASE}\n".encode()).decode()
        self.status = 200
        self.answer: Any = {"data": {"plaintext": plain}}
        self.asked: list[tuple[str, str | None, Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Vault

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers.get("X-Vault-Token"), body))
        data = json.dumps(self.server.answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture
def vault() -> Iterator[Vault]:
    with Vault() as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def conf_for(directory: Path, address: str, **more: str) -> Configuration:
    values = {
        keys.HOWDAH_KMS_PASSPHRASE_FILE.name: str(private(directory / "p", f"{CIPHER_TEXT}\n")),
        keys.HOWDAH_KMS_VAULT_TOKEN_FILE.name: str(private(directory / "t", f"{TOKEN}\n")),
        keys.HOWDAH_KMS_VAULT_ADDRESS.name: address,
        **more,
    }
    return Configuration({name: value for name, value in values.items() if value})


def test_vault_decrypts_the_passphrase(tmp_path: Path, vault: Vault) -> None:
    assert passphrase_of(conf_for(tmp_path, vault.address)) == PASSPHRASE
    ((path, token, body),) = vault.asked
    assert (path, token) == ("/v1/transit/decrypt/howdah", TOKEN)
    assert body == {"ciphertext": CIPHER_TEXT}


def test_the_key_and_its_engine_have_names(tmp_path: Path, vault: Vault) -> None:
    conf = conf_for(
        tmp_path,
        vault.address,
        **{
            keys.HOWDAH_KMS_VAULT_KEY.name: "zones",
            keys.HOWDAH_KMS_VAULT_MOUNT.name: "team/transit",
        },
    )
    assert passphrase_of(conf) == PASSPHRASE
    assert vault.asked[0][0] == "/v1/team/transit/decrypt/zones"


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (403, {"errors": ["permission denied"]}, "transit/howdah: permission denied"),
        (400, {"errors": ["encryption key not found"]}, "encryption key not found"),
        (503, {"errors": ["Vault is sealed"]}, "Vault is sealed"),
        (302, {}, "does not decrypt|no passphrase"),
        (200, {"data": {}}, "no passphrase in base64"),
        (200, {"data": {"plaintext": "%"}}, "no passphrase in base64"),
        (200, {"data": {"plaintext": ""}}, "empty passphrase"),
        (200, [], "no passphrase in base64"),
    ],
)
def test_what_vault_refuses_is_said_in_its_words(
    tmp_path: Path, vault: Vault, status: int, answer: Any, words: str
) -> None:
    vault.status, vault.answer = status, answer
    with pytest.raises(errors.InvalidConfiguration, match=words) as refused:
        passphrase_of(conf_for(tmp_path, vault.address))
    assert TOKEN not in str(refused.value)


def test_a_vault_that_is_not_there_is_named(tmp_path: Path, vault: Vault) -> None:
    address = vault.address
    vault.shutdown()
    vault.server_close()
    with pytest.raises(errors.InvalidConfiguration, match=f"Vault at {address} does not decrypt"):
        passphrase_of(conf_for(tmp_path, address))


@pytest.mark.parametrize(
    "missing", [keys.HOWDAH_KMS_VAULT_ADDRESS.name, keys.HOWDAH_KMS_VAULT_TOKEN_FILE.name]
)
def test_what_is_not_set_is_named(tmp_path: Path, missing: str) -> None:
    conf = conf_for(tmp_path, "http://127.0.0.1:1", **{missing: ""})
    with pytest.raises(errors.InvalidConfiguration, match=missing):
        passphrase_of(conf)


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    conf = conf_for(tmp_path, "http://127.0.0.1:1")
    (tmp_path / "t").chmod(0o644)
    with pytest.raises(errors.InvalidConfiguration, match="chmod 600"):
        passphrase_of(conf)


def test_another_passphrase_is_taken_as_it_is(tmp_path: Path) -> None:
    conf = conf_for(tmp_path, "")
    private(tmp_path / "p", PASSPHRASE)
    assert passphrase_of(conf) == PASSPHRASE
