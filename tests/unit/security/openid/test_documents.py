"""What a provider answers, within bounds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from howdah import errors
from howdah.protocol.web_authentication.openid.metadata import MalformedDocument
from howdah.security.openid.documents import MOST_BYTES, ProviderDocuments, ProviderUnreachable
from tests.support.openid import FakeProvider


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    provider = FakeProvider()
    with provider.served():
        yield provider


DOCUMENTS = ProviderDocuments(None)


def test_documents_and_forms_are_answered(provider: FakeProvider) -> None:
    discovery = DOCUMENTS.fetch(f"{provider.issuer}/.well-known/openid-configuration")
    assert discovery == provider.discovery()
    status, answer = DOCUMENTS.post(f"{provider.issuer}/token", "a=b", {})
    assert (status, answer) == (401, {"error": "invalid_client"})


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (500, {}, b"{}", "answers 500"),
        (302, {"Location": "http://127.0.0.1:1/"}, b"", "answers 302"),
        (200, {}, b"[" + b"1," * (MOST_BYTES // 2) + b"1]", f"more than {MOST_BYTES} bytes"),
        (200, {}, b"[" * 100_000, "no JSON"),
        (200, {}, b"\xff", "no JSON"),
        (200, {}, b"<html>", "no JSON"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(
    provider: FakeProvider, status: int, headers: dict[str, str], body: bytes, said: str
) -> None:
    provider.answers["/keys"] = status, headers, body
    with pytest.raises((ProviderUnreachable, MalformedDocument), match=said):
        DOCUMENTS.fetch(f"{provider.issuer}/keys")
    assert provider.asked == ["/keys"], "redirects are not followed"


def test_a_form_is_answered_by_an_object(provider: FakeProvider) -> None:
    provider.answers["/token"] = 200, {}, b"[]"
    with pytest.raises(MalformedDocument, match="no JSON object"):
        DOCUMENTS.post(f"{provider.issuer}/token", "a=b", {})


def test_a_provider_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ProviderUnreachable, match=f"http://127.0.0.1:{port}/keys: .*refused"):
        DOCUMENTS.fetch(f"http://127.0.0.1:{port}/keys")


def test_one_that_does_not_speak_tls_is_named(provider: FakeProvider) -> None:
    url = provider.issuer.replace("http:", "https:")
    with pytest.raises(ProviderUnreachable, match="no TLS connection"):
        DOCUMENTS.fetch(f"{url}/keys")


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a byte of a header now and then, and never ends."""
    ends = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not ends.wait(0.01):
                    connection.sendall(b"x")
            except OSError:
                ends.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        ends.set()
        thread.join(60)


def test_a_byte_now_and_then_holds_nobody() -> None:
    with dripping() as url:
        documents = ProviderDocuments(None, timeout_s=0.2)
        with pytest.raises(ProviderUnreachable, match=r"does not answer within 0\.2 s"):
            documents.fetch(url)


def test_a_file_without_certificates_is_found_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("no certificate")
    with pytest.raises(errors.InvalidConfiguration, match="has no certificates"):
        ProviderDocuments(path)
