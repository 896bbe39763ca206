"""A key server without its port: keys, keys of files, who may, and the file that they are in."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.kms.calls import KeyRequest, NoSuchCall, answer, refusal
from howdah.kms.key_file import KeyFile
from howdah.kms.service import Edit, KeyService
from howdah.kms.state.access import KeyAccess
from howdah.kms.state.key_table import Key, parse, written
from howdah.protocol.encryption_zones.key_calls import decode, encode

EVERYTHING = {f"default.key.acl.{use}": "*" for use in ("MANAGEMENT", "GENERATE_EEK", "READ")}
DECRYPT = {"default.key.acl.DECRYPT_EEK": "anna", "hadoop.kms.acl.GET": "anna"}
PASSPHRASE = "a passphrase that is long"


class Store:
    def __init__(self) -> None:
        self.there: dict[str, Key] = {}

    def keys(self) -> Mapping[str, Key]:
        return self.there

    def change(self, edit: Edit) -> None:
        changed = dict(self.there)
        edit(changed)
        self.there = changed


@pytest.fixture
def service() -> KeyService:
    access = KeyAccess([*EVERYTHING.items(), *DECRYPT.items()], lambda user: [])
    dice = iter(range(1, 1000))
    return KeyService(
        Store(),
        lambda: access,
        lambda: 1_700_000_000_000,
        lambda count: bytes([next(dice)]) * count,
    )


def ask(
    service: KeyService, method: str, path: str, body: Any = None, user: str = "anna"
) -> tuple[int, Any]:
    request = KeyRequest.of(method, f"/kms/v1{path}", "/kms/v1")
    data = b"" if body is None else json.dumps(body).encode()
    return answer(service, user, request, data)


def test_a_key_is_made_rolled_and_deleted(service: KeyService) -> None:
    status, made = ask(service, "POST", "/keys", {"name": "a", "length": 256, "description": "d"})
    assert (status, made["versionName"], len(decode(made["material"], "it"))) == (201, "a@0", 32)
    assert ask(service, "POST", "/key/a", {})[1]["versionName"] == "a@1"
    assert ask(service, "GET", "/key/a/_metadata")[1] == {
        "name": "a", "cipher": "AES/CTR/NoPadding", "length": 256, "description": "d",
        "attributes": {}, "created": 1_700_000_000_000, "versions": 2,
    }  # fmt: skip
    assert ask(service, "GET", "/keys/names")[1] == ["a"]
    assert [v["versionName"] for v in ask(service, "GET", "/key/a/_versions")[1]] == ["a@0", "a@1"]
    assert ask(service, "GET", "/key/a/_currentversion")[1]["versionName"] == "a@1"
    assert ask(service, "GET", "/keyversion/a%400")[1] == made
    assert ask(service, "GET", "/keys/metadata?key=a&key=b")[1][1] == {}
    assert ask(service, "DELETE", "/key/a") == (200, None)
    assert ask(service, "GET", "/key/a/_metadata")[1] == {}


def test_bytes_of_keys_are_for_those_who_may_get_them(service: KeyService) -> None:
    made = ask(service, "POST", "/keys", {"name": "a"}, user="bob")[1]
    assert made == {"name": "a", "versionName": "a@0"}
    with pytest.raises(errors.AccessDenied, match="bob not allowed to do 'GET_CURRENT_KEY' on 'a'"):
        ask(service, "GET", "/key/a/_currentversion", user="bob")


def test_keys_of_files_are_decrypted_by_every_version(service: KeyService) -> None:
    ask(service, "POST", "/keys", {"name": "a"})
    made = ask(service, "GET", "/key/a/_eek?eek_op=generate&num_keys=3")[1]
    assert len({entry["encryptedKeyVersion"]["material"] for entry in made}) == 3
    plain = [decrypted(service, entry) for entry in made]
    ask(service, "POST", "/key/a", {})
    again = ask(service, "POST", "/key/a/_reencryptbatch", made)[1]
    assert [entry["versionName"] for entry in again] == ["a@1"] * 3
    assert [entry["iv"] for entry in again] == [entry["iv"] for entry in made]
    assert [decrypted(service, entry) for entry in again] == plain
    assert [decrypted(service, entry) for entry in made] == plain
    # What is encrypted by the last version stays as it is.
    assert ask(service, "POST", "/key/a/_reencryptbatch", again)[1] == again


def decrypted(service: KeyService, entry: Any, user: str = "anna") -> str:
    body = {
        "name": "a",
        "iv": entry["iv"],
        "material": entry["encryptedKeyVersion"]["material"],
    }
    path = f"/keyversion/{entry['versionName'].replace('@', '%40')}/_eek?eek_op=decrypt"
    found = ask(service, "POST", path, body, user)[1]
    assert (found["name"], found["versionName"]) == ("a", "EK")
    material: str = found["material"]
    return material


def test_who_may_make_keys_of_files_may_not_read_them(
    service: KeyService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kmsaudit")
    ask(service, "POST", "/keys", {"name": "a"})
    made = ask(service, "GET", "/key/a/_eek?eek_op=generate", user="hdfs")[1]
    with pytest.raises(errors.AccessDenied, match=r"\[hdfs\] is not authorized.*DECRYPT_EEK"):
        decrypted(service, made[0], user="hdfs")
    said = [record.getMessage() for record in caplog.records if record.name == "kmsaudit"]
    assert "OK[op=GENERATE_EEK, key=a, user=hdfs, accessCount=1, interval=0ms] " in said
    assert "UNAUTHORIZED[op=DECRYPT_EEK, key=a, user=hdfs] " in said


@pytest.mark.parametrize(
    ("lists", "method", "path", "operation"),
    [
        ({}, "POST", "/keys", "CREATE_KEY"),
        ({"default.key.acl.MANAGEMENT": "*", "hadoop.kms.acl.SET_KEY_MATERIAL": "anna"},
         "POST", "/keys", "CREATE_KEY"),
        ({"default.key.acl.MANAGEMENT": "*", "hadoop.kms.acl.SET_KEY_MATERIAL": "anna"},
         "POST", "/key/a", "ROLL_NEW_VERSION"),
    ],
)  # fmt: skip
def test_each_refusal_stands_in_the_audit_log(
    lists: dict[str, str], method: str, path: str, operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kmsaudit")
    access = KeyAccess(lists.items(), lambda user: [])
    service = KeyService(Store(), lambda: access)
    with pytest.raises(errors.AccessDenied):
        ask(service, method, path, {"name": "a", "material": encode(bytes(16))}, user="bob")
    said = [record.getMessage() for record in caplog.records if record.name == "kmsaudit"]
    assert said == [f"UNAUTHORIZED[op={operation}, key=a, user=bob] "]


def test_a_version_of_another_key_is_refused(service: KeyService) -> None:
    for name in ("a", "b"):
        ask(service, "POST", "/keys", {"name": name})
    body = {"name": "b", "iv": encode(bytes(16)), "material": encode(bytes(16))}
    with pytest.raises(errors.IllegalArgument, match="does not belong"):
        ask(service, "POST", "/keyversion/a%400/_eek?eek_op=decrypt", body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "A"}, "Uppercase"),
        ({"name": "a/b"}, "slash"),
        ({"name": "a@1"}, "slash or an @"),
        ({"name": "a\nb"}, "printed"),
        ({"name": "a", "length": 64}, "128, 192 or 256"),
        ({"name": "a", "length": 130}, "128, 192 or 256"),
        ({"name": "a", "length": -128}, "128, 192 or 256"),
        ({"name": "a", "length": 1 << 80}, "128, 192 or 256"),
        ({"name": "a", "length": True}, "128, 192 or 256"),
        ({"name": "a", "cipher": "SM4/CTR/NoPadding"}, "not supported"),
        ({"name": "a", "material": "AAAA"}, "Wrong key length"),
        ({"name": "a", "attributes": []}, None),
        ({}, "'name' is missing"),
        ({"name": "a", "attributes": 3}, "malformed"),
    ],
)
def test_what_is_no_key_is_refused(service: KeyService, body: Any, words: str | None) -> None:
    if words is None:
        assert ask(service, "POST", "/keys", body)[0] == 201
        return
    with pytest.raises((errors.IllegalArgument, errors.ProtocolViolation), match=words):
        ask(service, "POST", "/keys", body)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("PUT", "/keys"), ("GET", "/key//_metadata"), ("GET", "/key/a/b/c"),
     ("GET", "/keys")],
)  # fmt: skip
def test_what_is_no_call_is_named(service: KeyService, method: str, path: str) -> None:
    with pytest.raises(NoSuchCall, match="there is no call"):
        ask(service, method, path)


@pytest.mark.parametrize("path", ["/key/%ff", "/key/a/_eek?x=%ff", "/keys?" + "&".join("a" * 2000)])
def test_addresses_that_are_none_are_refused(service: KeyService, path: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="no proper one"):
        ask(service, "GET", path)


@pytest.mark.parametrize("count", ["0", "-1", "x", "10001", "9" * 30])
def test_numbers_of_keys_are_bounded(service: KeyService, count: str) -> None:
    ask(service, "POST", "/keys", {"name": "a"})
    with pytest.raises(errors.IllegalArgument, match="keys"):
        ask(service, "GET", f"/key/a/_eek?eek_op=generate&num_keys={count}")


def test_refusals_are_as_hadoops() -> None:
    assert refusal(errors.AccessDenied("no")) == (
        403,
        {
            "RemoteException": {
                "message": "no",
                "exception": "AuthorizationException",
                "javaClassName": "org.apache.hadoop.security.authorize.AuthorizationException",
            }
        },
    )
    assert refusal(errors.PathNotFound("no"))[0] == 500
    assert refusal(errors.ProtocolViolation("no"))[0] == 400


# --- the file -----------------------------------------------------------------------------

KEYS = {"a": Key("a", 5, (b"k" * 16, b"l" * 16), "ä", {"key.acl.name": "b"})}


def test_keys_stay_in_their_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    first, second = KeyFile(path, PASSPHRASE), KeyFile(path, PASSPHRASE)
    assert first.keys() == {}
    first.change(lambda keys: keys.update(KEYS))
    assert second.keys() == KEYS
    second.change(lambda keys: keys.update(b=Key("b", 6, (b"m" * 32,))))
    assert list(first.keys()) == ["a", "b"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"kkkk" not in path.read_bytes()
    assert encode(b"k" * 16).encode() not in path.read_bytes()


def test_an_edit_that_fails_changes_nothing(tmp_path: Path) -> None:
    store = KeyFile(tmp_path / "keys", PASSPHRASE)
    store.change(lambda keys: keys.update(KEYS))

    def edit(keys: dict[str, Key]) -> None:
        keys.clear()
        raise errors.IllegalArgument("no")

    with pytest.raises(errors.IllegalArgument):
        store.change(edit)
    assert KeyFile(store.path, PASSPHRASE).keys() == KEYS


def test_a_file_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    store, other = KeyFile(tmp_path / "keys", PASSPHRASE), KeyFile(tmp_path / "keys", PASSPHRASE)
    store.change(lambda keys: keys.update(KEYS))
    assert other.keys() == KEYS
    away = store.path.rename(tmp_path / "away")
    for server in (store, other):
        with pytest.raises(errors.InvalidConfiguration, match="is gone"):
            server.keys()
        with pytest.raises(errors.InvalidConfiguration, match="is gone"):
            server.change(lambda keys: keys.update(KEYS))
    assert not store.path.exists()
    away.rename(store.path)
    assert store.keys() == other.keys() == KEYS


def test_another_passphrase_and_damage_are_named(tmp_path: Path) -> None:
    store = KeyFile(tmp_path / "keys", PASSPHRASE)
    store.change(lambda keys: keys.update(KEYS))
    with pytest.raises(errors.InvalidConfiguration, match="not its passphrase"):
        KeyFile(store.path, "another passphrase").keys()
    text = store.path.read_text()
    store.path.write_text(text[:-30] + ("A" if text[-30] != "A" else "B") + text[-29:])
    with pytest.raises(errors.InvalidConfiguration, match="damaged"):
        store.keys()


def test_a_file_that_others_read_is_refused(tmp_path: Path) -> None:
    store = KeyFile(tmp_path / "keys", PASSPHRASE)
    store.change(lambda keys: keys.update(KEYS))
    store.path.chmod(0o640)
    with pytest.raises(errors.InvalidConfiguration, match="chmod 600"):
        store.keys()


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"format": 2, "keys": []}', '{"format": 1, "keys": 3}',
     '{"format": 1, "keys": [{}]}', written(KEYS).replace("AES", "DES"),
     written(KEYS).replace('"a"', '"A"'), "[" * 100_000],
)  # fmt: skip
def test_texts_that_are_no_keys_are_refused(text: str) -> None:
    with pytest.raises(errors.ProtocolViolation):
        parse(text)
