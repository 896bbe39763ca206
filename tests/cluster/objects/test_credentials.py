"""Who a request says it is from: by each provider of keys that a site file may name."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.store import ACCESS_KEY, SECRET_KEY, StoreServer
from tests.support.objects.trouble import Answer, Proxy

Capture = pytest.CaptureFixture[str]
SECRET, TOKEN = "what-nobody-may-read", "nor-this"
THROTTLED = "<R><Error><Code>Throttling</Code><Message>slower</Message></Error></R>"
WRONG = "<R><Error><Code>InternalFailure</Code><Message>oh</Message></Error></R>"
ROLE = "arn:aws:iam::123456789012:role/writers"
_KEY = re.compile(r"AWS4-HMAC-SHA256 Credential=(?P<key>\w+)/\d{8}/(?P<region>[\w-]+)/s3/aws4_req")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of who runs the tests counts."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


OWN = {"fs.s3a.access.key": "OWN", "fs.s3a.secret.key": SECRET}
WITH_TOKEN = OWN | {"fs.s3a.session.token": TOKEN}


def signed_by(
    store: StoreServer,
    proxy: Proxy,
    bucket: str,
    *providers: str,
    own: Mapping[str, str] | None = None,
) -> tuple[str | None, str | None]:
    """The id of the key that all requests were signed with, and its token. `own` are keys of the
    configuration."""
    keys = store.behind(proxy.port).keys()
    del keys["fs.s3a.access.key"], keys["fs.s3a.secret.key"]
    if providers:
        keys["fs.s3a.aws.credentials.provider"] = ",".join(f"org.x.{each}" for each in providers)
    proxy.plan()
    with S3FileSystem(bucket, Configuration(keys | dict(own or {}))) as fs:
        fs.write_bytes("/file", b"x")
        assert fs.read_bytes("/file") == b"x"
        fs.delete("/file")
    assert len(proxy.headers) > 4
    signatures = set()
    for headers in proxy.headers:
        signature = headers.get("authorization")
        match = _KEY.match(signature or "")
        signatures.add((match[1] if match else signature, headers.get("x-amz-security-token")))
    (found,) = signatures
    return found


@pytest.mark.req("FS-187")
def test_the_keys_of_the_configuration_sign_with_and_without_a_token(
    store: StoreServer, proxy: Proxy, bucket: str
) -> None:
    assert signed_by(store, proxy, bucket, own=OWN) == ("OWN", None)
    assert signed_by(store, proxy, bucket, own=WITH_TOKEN) == ("OWN", TOKEN)
    only = "TemporaryAWSCredentialsProvider"
    assert signed_by(store, proxy, bucket, only, own=WITH_TOKEN) == ("OWN", TOKEN)
    with pytest.raises(errors.AccessDenied, match="there are no credentials for this bucket"):
        signed_by(store, proxy, bucket, only, own=OWN)


@pytest.mark.req("FS-187")
def test_the_environment_signs(
    store: StoreServer, proxy: Proxy, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    assert signed_by(store, proxy, bucket) == ("ENVIRONMENT", None)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    only = "EnvironmentVariableCredentialsProvider"
    assert signed_by(store, proxy, bucket, only) == ("ENVIRONMENT", TOKEN)
    # The first that has keys counts.
    assert signed_by(store, proxy, bucket, own=OWN) == ("OWN", None)
    assert signed_by(store, proxy, bucket, only, "SimpleAWSCredentialsProvider", own=OWN) == (
        "ENVIRONMENT",
        TOKEN,
    )


@pytest.mark.req("FS-187")
def test_a_profile_signs(
    store: StoreServer,
    proxy: Proxy,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "keys").write_text(
        f"[default]\naws_access_key_id = PROFILE\naws_secret_access_key = {SECRET}\n"
        f"[other]\naws_access_key_id = OTHER\naws_secret_access_key = {SECRET}\n"
        f"aws_session_token = {TOKEN}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    for only in ("ProfileCredentialsProvider", "DefaultCredentialsProvider"):
        assert signed_by(store, proxy, bucket, only) == ("PROFILE", None)
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert signed_by(store, proxy, bucket, "ProfileCredentialsProvider") == ("OTHER", TOKEN)
    monkeypatch.setenv("AWS_PROFILE", "absent")
    with pytest.raises(errors.HowdahError, match=r"profile \(absent\) could not be found"):
        signed_by(store, proxy, bucket, "ProfileCredentialsProvider")


@pytest.mark.req("FS-187")
@pytest.mark.parametrize(
    "providers",
    [
        ["AnonymousAWSCredentialsProvider"],
        ["AnonymousCredentialsProvider", "SimpleAWSCredentialsProvider"],
        ["EnvironmentVariableCredentialsProvider", "AnonymousAWSCredentialsProvider"],
    ],
    ids=["alone", "first", "when there are no keys"],
)
def test_who_is_anonymous_signs_nothing(
    store: StoreServer, proxy: Proxy, bucket: str, providers: list[str]
) -> None:
    store.client().put_bucket_acl(Bucket=bucket, ACL="public-read-write")
    assert signed_by(store, proxy, bucket, *providers, own=OWN) == (None, None)


@pytest.mark.req("FS-187")
def test_who_may_be_anonymous_signs_with_the_keys_that_there_are(
    store: StoreServer, proxy: Proxy, bucket: str
) -> None:
    both = ["SimpleAWSCredentialsProvider", "AnonymousAWSCredentialsProvider"]
    assert signed_by(store, proxy, bucket, *both, own=OWN) == ("OWN", None)


# --- roles --------------------------------------------------------------------------------


class Keys:
    """A server of a machine's or a container's keys; `asked` are the targets."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: dict[str, Any] = {
            "Code": "Success",
            "Type": "AWS-HMAC",
            "AccessKeyId": "MACHINE",
            "SecretAccessKey": SECRET,
            "Token": TOKEN,
            "LastUpdated": "2026-01-01T00:00:00Z",
            "Expiration": "2099-01-01T00:00:00Z",
        }
        keys = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                keys.asked.append(f"{self.command} {self.path}")
                text = json.dumps(keys.answer)
                if self.path.endswith("/api/token"):
                    text = "a-token"
                elif self.path.endswith("/security-credentials/"):
                    text = "a-role"
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_PUT = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is logged: a test asks `asked`."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def machine() -> Iterator[Keys]:
    keys = Keys()
    thread = threading.Thread(target=keys.server.serve_forever, daemon=True)
    thread.start()
    yield keys
    keys.server.shutdown()
    keys.server.server_close()
    thread.join()


@pytest.mark.req("FS-187")
def test_the_role_of_a_machine_signs(
    store: StoreServer, proxy: Proxy, bucket: str, machine: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.url)
    for providers in ([], ["InstanceProfileCredentialsProvider"]):
        assert signed_by(store, proxy, bucket, *providers) == ("MACHINE", TOKEN)
    assert machine.asked[0] == "PUT /latest/api/token"


@pytest.mark.req("FS-187")
def test_the_role_of_a_container_signs(
    store: StoreServer, proxy: Proxy, bucket: str, machine: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{machine.url}/container")
    for providers in ([], ["ContainerCredentialsProvider"]):
        assert signed_by(store, proxy, bucket, *providers) == ("MACHINE", TOKEN)
    assert machine.asked[0] == "GET /container"


@pytest.mark.req("FS-187")
def test_a_web_identity_signs(
    store: StoreServer,
    proxy: Proxy,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "identity").write_text("a.web.identity")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "identity"))
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", store.endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    only = "WebIdentityTokenFileCredentialsProvider"
    key, token = signed_by(store, proxy, bucket, only)
    # Temporary keys of moto's, which gives some to everybody.
    assert key is not None
    assert token is not None
    assert key.startswith("ASIA")


def assuming(place: StoreServer) -> dict[str, str]:
    return {
        "fs.s3a.assumed.role.arn": ROLE,
        "fs.s3a.assumed.role.sts.endpoint": place.endpoint,
        "fs.s3a.assumed.role.sts.endpoint.region": "us-east-1",
        "fs.s3a.aws.credentials.provider": "org.x.AssumedRoleCredentialProvider",
        "fs.s3a.retry.limit": "0",
        "fs.s3a.retry.throttle.limit": "0",
    }


@pytest.mark.req("FS-187")
def test_a_role_that_is_assumed_signs(
    store: StoreServer, proxy: Proxy, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, token = signed_by(store, proxy, bucket, own=OWN | assuming(store))
    assert key is not None
    assert token is not None
    assert key.startswith("ASIA")
    # Who assumes it is found as the keys of a bucket are, and once for all requests.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENVIRONMENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    keys = store.keys() | assuming(store.behind(proxy.port))
    keys["fs.s3a.assumed.role.credentials.provider"] = "x.EnvironmentVariableCredentialsProvider"
    keys["fs.s3a.assumed.role.session.name"] = "what they call it"
    keys["fs.s3a.assumed.role.policy"] = "{}"
    proxy.plan()
    with S3FileSystem(bucket, Configuration(keys)) as fs:
        fs.write_bytes("/file", b"x")
        fs.read_bytes("/file")
    (headers,) = proxy.headers
    assert "Credential=ENVIRONMENT/" in headers["authorization"]
    assert "/us-east-1/sts/" in headers["authorization"]


@pytest.mark.req("FS-187", "FS-192")
@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            Answer(403, "AccessDenied", text="<Error><Code>AccessDenied</Code></Error>"),
            errors.AccessDenied,
            rf"^role {ROLE} is refused by http://127.0.0.1:\d+: .* \(HTTP status 403\)$",
        ),
        (Answer(400, text=THROTTLED), errors.RetriableError, rf"^role {ROLE}: http.* slow down: "),
        (Answer(500, text=WRONG), errors.RetriableError, rf"^role {ROLE}: http.* failed: "),
        (Answer(200, text="<p>"), errors.RemoteError, rf"^role {ROLE}: .* as STS does: is fs\."),
        ("refused", errors.Unreachable, rf"^role {ROLE}: http://127.0.0.1:\d+: "),
    ],
    ids=["refused", "no time", "failed", "no STS", "unreachable"],
)
def test_a_role_that_cannot_be_assumed_is_named(
    store: StoreServer,
    proxy: Proxy,
    bucket: str,
    answer: Answer | str,
    kind: type[Exception],
    said: str,
    capsys: Capture,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = store.keys() | assuming(store.behind(proxy.port))
    proxy.plan(always=answer)
    with S3FileSystem(bucket, Configuration(keys)) as fs, pytest.raises(kind, match=said):
        fs.list_status("/")
    options = [f"-D{name}={value}" for name, value in keys.items()]
    assert main(["dfs", *options, "-ls", f"s3://{bucket}/"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(f"ls: role {ROLE}")
    assert shown.count("\n") == 1
    assert SECRET_KEY not in shown + caplog.text


def test_a_role_without_a_name_or_of_itself_is_no_configuration() -> None:
    provider = {"fs.s3a.aws.credentials.provider": "org.x.AssumedRoleCredentialProvider"}
    with pytest.raises(errors.InvalidConfiguration, match=r"assumed\.role\.arn is not set"):
        S3FileSystem("b", Configuration(provider))
    itself = {
        "fs.s3a.assumed.role.arn": ROLE,
        "fs.s3a.assumed.role.credentials.provider": "org.x.AssumedRoleCredentialProvider",
    }
    with pytest.raises(errors.InvalidConfiguration, match="whose keys it is to find"):
        S3FileSystem("b", Configuration(provider | itself))


# --- how a bucket is addressed --------------------------------------------------------------


@pytest.mark.req("FS-187")
@pytest.mark.parametrize("is_path_style", [False, True])
def test_a_bucket_is_in_the_host_or_in_the_path(
    store: StoreServer,
    proxy: Proxy,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    is_path_style: bool,
) -> None:
    """Names of a domain of ours lead to this machine."""
    real = socket.getaddrinfo

    def here(host: Any, *more: Any, **others: Any) -> Any:
        return real("127.0.0.1" if str(host).endswith("store.test") else host, *more, **others)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    keys = store.keys(path_style_access=str(is_path_style).lower())
    keys["fs.s3a.endpoint"] = f"http://store.test:{proxy.port}"
    monkeypatch.setattr(proxy, "domain", "store.test")
    proxy.plan()
    with S3FileSystem(bucket, Configuration(keys)) as fs:
        fs.write_bytes("/d/file", b"x")
        assert fs.read_bytes("/d/file") == b"x"
        assert [each.path for each in fs.list_status("/")] == ["/d"]
    host = f"store.test:{proxy.port}"
    expected = host if is_path_style else f"{bucket}.{host}"
    assert {each["host"] for each in proxy.headers} == {expected}
    assert f"PUT {f'/{bucket}' if is_path_style else ''}/d/file" in proxy.seen
    assert f"Credential={ACCESS_KEY}/" in proxy.headers[0]["authorization"]


@pytest.mark.req("FS-187", "FS-192")
def test_a_host_of_a_bucket_that_nobody_knows_is_told_with_the_key_to_set(
    store: StoreServer, bucket: str
) -> None:
    keys = store.keys(path_style_access="false", retry_limit="0")
    keys["fs.s3a.endpoint"] = "http://no-such-host.invalid:9000"
    with S3FileSystem(bucket, Configuration(keys)) as fs:
        with pytest.raises(errors.UnknownHost, match=r"or set fs\.s3a\.path\.style\.access"):
            fs.list_status("/")
