"""Forms of browsers: their bytes, their policies, and what they make."""

from __future__ import annotations

import base64
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.gateway.s3.protocol.forms import Form, boundary_of
from howdah.gateway.s3.protocol.policies import Lengths, check_policy, redirection
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.web import channel
from tests.support.s3_gateway import Door, in_process

USER = "ann"
NAME = "s3-forms"
BOUNDARY = b"--x"


def form_of(fields: Mapping[str, str], data: bytes, file_name: str = "f.txt") -> bytes:
    parts = [
        f'--{BOUNDARY.decode()}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    head = (
        f'--{BOUNDARY.decode()}\r\nContent-Disposition: form-data; name="file"; '
        f'filename="{file_name}"\r\nContent-Type: text/plain\r\n\r\n'
    )
    return "".join(parts).encode() + head.encode() + data + b"\r\n--" + BOUNDARY + b"--\r\n"


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(1, 80))
def test_a_form_is_read_wherever_it_is_cut(data: bytes, size: int) -> None:
    data = data.replace(b"x", b"\r\n--").replace(b"y", b"\r\n")
    body = form_of({"Key": "a/ä", "empty": ""}, data, r"C:\dir\f.txt") + b"behind"
    form = Form((body[at : at + size] for at in range(0, len(body), size)), BOUNDARY)
    assert form.fields == {"key": "a/ä", "empty": "", "file": "f.txt"}
    assert form.content_type == "text/plain"
    assert b"".join(form.file()) == data


HEAD = b'----x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing of a form",
        b"----x--\r\n",
        HEAD + b"value",
        HEAD + b"\xff\r\n----x--",
        HEAD + b"1\r\n" + HEAD + b"2\r\n----x--\r\n",
        HEAD + b"1\r\n----x--\r\n",
        HEAD + b"v" * 30_000 + b"\r\n----x--\r\n",
        b"x" * 30_000,
        b"----x\r\n" + b"a:b\r\n" * 2000,
        b"----x\r\nno header\r\n\r\n",
        b"----x\r\nContent-Disposition: form-data\r\n\r\nv\r\n----x--\r\n",
        b'----x\r\nContent-Disposition: attachment; name="a"\r\n\r\nv\r\n----x--\r\n',
        b"".join(HEAD.replace(b'"a"', b'"%d"' % at) + b"\r\n" for at in range(200)),
    ],
)
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        Form([body], BOUNDARY)


def test_a_file_ends_with_its_boundary() -> None:
    whole = form_of({}, b"data")
    form = Form([whole[:-8]], BOUNDARY)
    with pytest.raises(Refused):
        list(form.file())
    form = Form([whole, *([b"x" * (1 << 19)] * 3)], BOUNDARY)
    with pytest.raises(Refused):
        list(form.file())


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_form_or_refused(body: bytes) -> None:
    try:
        assert len(b"".join(Form([b"----x\r\n" + body], BOUNDARY).file())) <= len(body)
    except Refused:
        return


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        ("multipart/form-data; boundary=abc", b"abc"),
        ('Multipart/Form-Data;boundary="a b"', b"a b"),
        ("multipart/form-data", None),
        ("multipart/form-data; boundary=", None),
        ("multipart/form-data; boundary=" + "a" * 71, None),
        ("text/plain; boundary=abc", None),
    ],
)
def test_the_type_of_a_form_has_its_boundary(text: str, boundary: bytes | None) -> None:
    assert boundary_of(text) == boundary


# Policies.

NOW_S = 1_700_000_000.0
LATER = "2023-11-14T22:13:21Z"


def policy_of(*conditions: object, expiration: object = LATER) -> str:
    document = {"expiration": expiration, "conditions": [{"bucket": "b"}, *conditions]}
    return base64.b64encode(json.dumps(document).encode()).decode()


FIELDS = {
    "key": "user/k",
    "acl": "private",
    "policy": "p",
    "x-ignore-a": "b",
    "x-amz-checksum-crc32": "of the file",
    "file": "f",
}


def test_a_policy_allows_what_all_its_conditions_do() -> None:
    policy = policy_of(
        ["StArTs-WiTh", "$KeY", "user/"],
        {"AcL": "private"},
        ["content-length-range", 1, "9"],
        ["starts-with", "$nothing", ""],
    )
    lengths = check_policy(policy, FIELDS, "b", NOW_S)
    assert lengths == Lengths(1, 9)
    lengths.check(9)
    lengths.check_whole(1)
    with pytest.raises(Refused, match="exceeds"):
        lengths.check(10)
    with pytest.raises(Refused, match="smaller"):
        lengths.check_whole(0)


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        (policy_of(["eq", "$key", "user"], {"acl": "private"}), "AccessDenied"),
        (policy_of(["starts-with", "$key", "other"], {"acl": "private"}), "AccessDenied"),
        (policy_of(["eq", "$key", "user/k"]), "AccessDenied"),
        (policy_of(["eq", "$key", "user/k"], {"acl": ""}, {"more": "x"}), "AccessDenied"),
        (policy_of(expiration="2023-11-14T22:13:19.000Z"), "AccessDenied"),
        (policy_of(expiration="tomorrow"), "InvalidPolicyDocument"),
        (policy_of(expiration=3), "InvalidPolicyDocument"),
        (policy_of(["matches", "$key", "x"]), "InvalidPolicyDocument"),
        (policy_of(["eq", "key", "x"]), "InvalidPolicyDocument"),
        (policy_of({"a": "b", "c": "d"}), "InvalidPolicyDocument"),
        (policy_of({"key": 3}), "InvalidPolicyDocument"),
        (policy_of(["content-length-range", 1]), "InvalidPolicyDocument"),
        (policy_of(["content-length-range", -1, 1]), "InvalidPolicyDocument"),
        (policy_of(["content-length-range", "a", 1]), "InvalidPolicyDocument"),
        (policy_of(["content-length-range", True, 1]), "InvalidPolicyDocument"),
        (base64.b64encode(b"[]").decode(), "InvalidPolicyDocument"),
        (base64.b64encode(b"[" * 15_000).decode(), "InvalidPolicyDocument"),
        (base64.b64encode(b'{"conditions": []}').decode(), "InvalidPolicyDocument"),
        ("not base64", "InvalidPolicyDocument"),
    ],
)
def test_a_policy_that_does_not_allow_a_form_refuses_it(policy: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        check_policy(policy, FIELDS, "b", NOW_S)
    assert refused.value.code == code


def test_a_policy_is_for_one_bucket() -> None:
    policy = policy_of({"key": "k"})
    check_policy(policy, {"key": "k"}, "b", NOW_S)
    with pytest.raises(Refused):
        check_policy(policy, {"key": "k"}, "other", NOW_S)
    # The field says nothing: what is asked for is in the path or the host.
    with pytest.raises(Refused):
        check_policy(policy, {"key": "k", "bucket": "b"}, "other", NOW_S)
    document = {"expiration": LATER, "conditions": [{"key": "k"}]}
    of_none = base64.b64encode(json.dumps(document).encode()).decode()
    with pytest.raises(Refused, match="no bucket"):
        check_policy(of_none, {"key": "k"}, "b", NOW_S)


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        ("https://a.example/x?y=1", "https://a.example/x?y=1&bucket=b&key=k%26&etag=%22e%22"),
        ("http://a.example", "http://a.example?bucket=b&key=k%26&etag=%22e%22"),
        ("javascript:alert(1)", ""),
        ("//a.example", ""),
        ("https://a.example/\r\nSet-Cookie: a", ""),
        ("https://[", ""),
        ("", ""),
    ],
)
def test_a_browser_is_led_to_pages_alone(wanted: str, target: str) -> None:
    assert redirection({"success_action_redirect": wanted}, "b", "k&", '"e"') == target


# A gateway.


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    settings = {"howdah.s3.anonymous.user": USER}
    with in_process(tmp_path_factory.mktemp("s3"), f"mem://{NAME}", USER, **settings) as found:
        found.client().create_bucket(Bucket="data")
        yield found
    forget(NAME)


@pytest.fixture
def fs() -> MemoryFileSystem:
    return MemoryFileSystem(NAME, Configuration(), USER)


def client_of(door: Door, version: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=door.url,
        region_name="us-east-1",
        aws_access_key_id=door.access_key,
        aws_secret_access_key=door.secret_key,
        config=Config(retries={"max_attempts": 0}, signature_version=version),
    )


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def posted(
    url: str, fields: Mapping[str, str], data: bytes
) -> tuple[int, bytes, Mapping[str, str]]:
    body = form_of(fields, data)
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY.decode()}"}
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=60) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), dict(error.headers)


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_a_form_of_botocore_uploads(door: Door, fs: MemoryFileSystem, version: str) -> None:
    made = client_of(door, version).generate_presigned_post(
        "data",
        f"{version}/${{filename}}",
        Fields={"Content-Type": "text/x", "success_action_status": "201"},
        Conditions=[
            {"Content-Type": "text/x"},
            {"success_action_status": "201"},
            ["content-length-range", 3, 5],
        ],
    )
    url, fields = made["url"], made["fields"]
    status, body, headers = posted(url, fields, b"data")
    assert (status, f"<Key>{version}/f.txt</Key>".encode() in body) == (201, True)
    assert fs.read_bytes(f"/s3/data/{version}/f.txt") == b"data"
    head = door.client().head_object(Bucket="data", Key=f"{version}/f.txt")
    assert head["ETag"] == headers["ETag"]
    for data, code in ((b"da", b"EntityTooSmall"), (b"longer", b"EntityTooLarge")):
        status, body, _ = posted(url, {**fields, "key": f"{version}/${{filename}}"}, data)
        assert (status, code in body) == (400, True)
    assert fs.read_bytes(f"/s3/data/{version}/f.txt") == b"data"
    changes: tuple[tuple[dict[str, str], int], ...] = (
        ({"x-amz-meta-a": "b"}, 403),
        ({"Content-Type": "text/html"}, 403),
        ({"policy": fields["policy"][:-4] + "AAA="}, 403),
        ({"x-amz-signature" if version == "s3v4" else "signature": "0"}, 403),
    )
    for change, expected in changes:
        assert posted(url, {**fields, **change}, b"data")[0] == expected
    del fields["policy"]
    assert posted(url, fields, b"data")[0] == 403


def test_a_form_says_what_its_browser_sees_next(door: Door) -> None:
    client = client_of(door, "s3v4")
    for name, value, expected in (
        ("success_action_status", "200", 200),
        ("success_action_status", "500", 204),
        ("success_action_redirect", "http://a.example/x", 303),
    ):
        made = client.generate_presigned_post(
            "data", "next", Fields={name: value}, Conditions=[{name: value}]
        )
        status, _, headers = posted(made["url"], made["fields"], b"x")
        assert status == expected
        if expected == 303:
            assert headers["Location"].startswith("http://a.example/x?bucket=data&key=next&etag=")


def test_a_form_that_nobody_signed_is_refused_also_where_others_are_served(door: Door) -> None:
    # A page of anybody can make a browser send one.
    status, body, _ = posted(f"{door.url}/data", {"key": "k"}, b"x")
    assert (status, b"AccessDenied" in body) == (403, True)
    request = urllib.request.Request(f"{door.url}/data", b"x", method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 412
    refused.value.close()


def test_a_form_needs_a_key_and_one_that_has_a_path(door: Door) -> None:
    client = client_of(door, "s3v4")
    made = client.generate_presigned_post("data", "../other/k")
    assert posted(made["url"], made["fields"], b"x")[0] == 400
    del made["fields"]["key"]
    status, body, _ = posted(made["url"], made["fields"], b"x")
    assert (status, b"named &apos;key&apos;" in body or b"named 'key'" in body) == (400, True)


def test_the_fields_of_a_form_have_to_come_in_time(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "FORM_S", 0.2)
    host, _, port = door.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = (
            f"POST /data HTTP/1.1\r\nHost: {door.address}\r\nContent-Length: 1000\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY.decode()}\r\n\r\n"
        )
        connection.sendall(head.encode() + HEAD)
        assert connection.recv(1000) == b"", "it is closed, though it might go on"


def test_a_policy_ends(door: Door) -> None:
    made = client_of(door, "s3v4").generate_presigned_post("data", "k", ExpiresIn=-1)
    status, body, _ = posted(made["url"], made["fields"], b"x")
    assert (status, b"expired" in body) == (403, True)
