"""What the namenode asks key servers, beside its loop, and providers that it cannot ask."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.server.zone_keys import KeyFetcher, zone_keys_of
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.testing.waiting import wait_until
from tests.support.zones import SM4_ZONE, Scene

KEY = EncryptedKey("payroll", "payroll@0", bytes(16), bytes(16))


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    for path, key_name in (("/z", "payroll"), ("/y", "audit"), ("/x", "payroll")):
        scene.mkdir(path)
        scene.make_zone(path, key_name)
    return scene


def _at_start(scene: Scene, provider: str) -> None:
    conf = Configuration({"hadoop.security.key.provider.path": provider})
    scene.namesystem.zone_keys = zone_keys_of(conf, scene.namesystem, "hdfs", lambda act: None)


@pytest.mark.parametrize("provider", ["jceks://file/secret/keys", "localjceks://file/secret/keys"])
def test_a_provider_that_is_not_supported_is_named_at_the_start(
    scene: Scene, caplog: pytest.LogCaptureFixture, provider: str
) -> None:
    with caplog.at_level(logging.ERROR):
        _at_start(scene, provider)
    scheme = provider.partition(":")[0]
    assert f"hadoop.security.key.provider.path names a key provider {scheme}:" in caplog.text
    assert "/y of the key audit; /z, /x of the key payroll" in caplog.text
    assert "secret" not in caplog.text
    assert scheme in scene.namesystem.key_provider_trouble


def test_what_it_cannot_serve_is_refused_with_the_reason(scene: Scene) -> None:
    _at_start(scene, "jceks://file/keys")
    words = r"No KeyProvider is configured, cannot access encryption zone /z \(.*jceks:"
    with pytest.raises(errors.RemoteError, match=words):
        scene.create("/z/a")
    scene.mkdir("/new")
    with pytest.raises(errors.RemoteError, match=r"no key provider is available.*jceks:"):
        scene.make_zone("/new")
    # All else goes on, and the zones are there.
    assert scene.create("/new/a").fs.fileId
    assert len(scene.zones()) == 3


def test_a_zone_of_another_cipher_keeps_no_namenode_from_becoming_active(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.zone_from_elsewhere("/sm4", SM4_ZONE.SerializeToString())
    scene.zone_from_elsewhere("/damaged", b"\xff")
    _at_start(scene, "kms://http@127.0.0.1:1/kms")
    keys = scene.namesystem.zone_keys
    assert keys is not None
    with caplog.at_level(logging.ERROR):
        scene.namesystem.on_role[-1]()
    assert sorted(keys.ready()) == ["audit", "payroll"]
    assert "/sm4 is encrypted by SM4_CTR_NOPADDING" in caplog.text
    assert "/damaged is an encryption zone is damaged" in caplog.text


def test_an_address_without_sense_is_named(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        _at_start(scene, "kms://nowhere")
    assert "cannot be used" in caplog.text


class Hanging:
    """Key servers that answer when they may."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.asked: list[str] = []

    def generate(self, key_name: str, count: int) -> list[EncryptedKey]:
        self.asked.append("generate")
        assert self.may_answer.wait(30)
        return [KEY] * count

    def reencrypt(self, wanted: Sequence[EncryptedKey]) -> list[EncryptedKey]:
        self.asked.append("reencrypt")
        assert self.may_answer.wait(30)
        return list(wanted)


def test_re_encryption_takes_nobodys_place(scene: Scene) -> None:
    servers: Any = Hanging()
    posted: list[Callable[[], None]] = []
    fetcher = KeyFetcher(servers, posted.append)
    heard: list[Any] = []
    for _ in range(20):
        fetcher.reencrypt([KEY], heard.append)
    fetcher.generate("payroll", 1, heard.append)
    wait_until(lambda: servers.asked.count("generate") == 1)
    servers.may_answer.set()
    wait_until(lambda: len(posted) == 21)
    for act in posted:
        act()
    assert heard == [[KEY]] * 21


def test_new_keys_are_not_asked_for_by_too_many_at_a_time() -> None:
    servers: Any = Hanging()
    posted: list[Callable[[], None]] = []
    fetcher = KeyFetcher(servers, posted.append)
    heard: list[Any] = []
    for _ in range(9):
        fetcher.generate("payroll", 1, heard.append)
    assert len(posted) == 1
    posted.pop()()
    assert isinstance(heard[0], errors.RetriableError)
    servers.may_answer.set()
    wait_until(lambda: len(posted) == 8)
