"""What a store refuses, and what keeps it from being reached, is said in one clear line: by the
API, and by the shell. No line shows a secret."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.objects.filesystem import S3FileSystem
from tests.support.objects.store import SECRET_KEY, StoreServer
from tests.support.objects.trouble import Answer, Proxy

Capture = pytest.CaptureFixture[str]
NO_RETRIES: dict[str, Any] = {"retry_limit": "0", "retry_throttle_limit": "0"}


REFUSALS = {
    "no such key of an account": (
        Answer(403, "InvalidAccessKeyId", "The AWS Access Key Id does not exist"),
        errors.AccessDenied,
        "refuses the credentials: InvalidAccessKeyId: The AWS Access Key Id does not exist "
        "(HTTP status 403)",
    ),
    "a wrong secret": (
        Answer(
            403,
            "SignatureDoesNotMatch",
            "The signature does not match",
            more=f"<StringToSign>{SECRET_KEY}</StringToSign>",
        ),
        errors.AccessDenied,
        "refuses the credentials: SignatureDoesNotMatch: The signature does not match",
    ),
    "an expired token": (
        Answer(400, "ExpiredToken", "The provided token has expired."),
        errors.AccessDenied,
        "refuses the credentials: ExpiredToken: The provided token has expired.",
    ),
    "no permission": (
        Answer(403, "AccessDenied", "Access Denied"),
        errors.AccessDenied,
        "access denied by http://127.0.0.1:",
    ),
    "no bucket": (
        Answer(404, "NoSuchBucket", "The specified bucket does not exist"),
        errors.UnknownStore,
        "Bucket {bucket} does not exist at http://127.0.0.1:",
    ),
    "another region": (
        Answer(301, "PermanentRedirect", "The bucket must be addressed at another endpoint"),
        errors.RemoteError,
        "Bucket {bucket} is in another region than us-east-1: set its endpoint or region",
    ),
    "a way round": (
        Answer(302, headers={"Location": "https://example.org/login?x"}, text="<p>Go on"),
        errors.RemoteError,
        " sends us on to https://example.org: set fs.s3a.endpoint",
    ),
    "a region that signing again does not help": (
        Answer(400, "AuthorizationHeaderMalformed", "wrong", more="<Region>eu-west-1</Region>"),
        errors.RemoteError,
        "Bucket {bucket} is in another region than us-east-1: set fs.s3a.endpoint.region to "
        "eu-west-1",
    ),
    "a clock that is fast": (
        Answer(403, "RequestTimeTooSkewed", "skewed", headers={"Date": formatdate(1_000_000_000)}),
        errors.AccessDenied,
        "s ahead of the store's: set the clock",
    ),
    "a clock that is slow": (
        Answer(403, "RequestTimeTooSkewed", "skewed", headers={"Date": formatdate(9_000_000_000)}),
        errors.AccessDenied,
        "s behind the store's: set the clock",
    ),
    "a clock, and no date": (
        Answer(403, "RequestTimeTooSkewed", "skewed"),
        errors.AccessDenied,
        "this machine's clock differs too much from the store's: set the clock",
    ),
    "a name that it does not take": (
        Answer(400, "XMinioInvalidObjectName", "Object name contains unsupported characters."),
        errors.InvalidPath,
        "cannot be a key of http://127.0.0.1:",
    ),
    "no store": (
        Answer(200, text="<html>\n<p>Welcome\n</html>"),
        errors.HowdahError,
        "is fs.s3a.endpoint right?",
    ),
    "a page that says no": (
        Answer(404, text="<html>\n<p>Not here\n</html>"),
        errors.RemoteError,
        "does not answer as S3 does: is fs.s3a.endpoint right?",
    ),
    "no time": (
        Answer(503, "SlowDown", "Please reduce your request rate."),
        errors.RetriableError,
        "asks to slow down: ",
    ),
    "a failure": (
        Answer(500, "InternalError", "We encountered an internal error."),
        errors.RetriableError,
        "failed",
    ),
}


def write(fs: S3FileSystem) -> None:
    with fs.create("/dir/new") as out:
        out.write(b"x")


OPERATIONS: dict[str, Callable[[S3FileSystem], object]] = {
    "listing": lambda fs: fs.list_status("/dir"),
    "reading": lambda fs: fs.open("/dir/file").read(),
    "writing": write,
    "renaming": lambda fs: fs.rename("/dir/file", "/dir/other"),
    "removing": lambda fs: fs.delete("/dir", recursive=True),
}


@pytest.mark.req("FS-192")
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_line_that_says_what_to_do(
    store: StoreServer,
    bucket: str,
    proxy: Proxy,
    name: str,
    capsys: Capture,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG)
    answer, kind, said = REFUSALS[name]
    said = said.format(bucket=bucket)
    server = store.behind(proxy.port)
    proxy.plan(always=answer)
    shown = []
    with server.connect(bucket, **NO_RETRIES) as fs:
        for operation in OPERATIONS.values():
            with pytest.raises(kind) as caught:
                operation(fs)
            shown.append(str(caught.value))
        shown += [repr(fs), repr(fs._settings), repr(fs._store)]
    (tmp_path / "local").write_bytes(b"x")
    options = [f"-D{key}={value}" for key, value in server.keys(**NO_RETRIES).items()]
    root = f"s3://{bucket}/dir"
    for words in (
        ["-ls", root],
        ["-cat", f"{root}/file"],
        ["-put", str(tmp_path / "local"), f"{root}/new"],
        ["-rm", "-r", "-skipTrash", root],
        ["-abortUploads", root],
    ):
        assert main(["dfs", *options, *words]) == 1
        found = capsys.readouterr()
        assert found.out == ""
        shown.append(found.err.removesuffix("\n"))
    for line in shown:
        assert "\n" not in line
        assert said in line or line.startswith(("S3", "Settings", "<", repr(bucket)))
    assert SECRET_KEY not in "".join(shown) + caplog.text


@pytest.mark.req("FS-192")
def test_a_bucket_in_another_region_is_found_there(
    store: StoreServer, bucket: str, proxy: Proxy
) -> None:
    """The store names the region, and requests are signed for that."""
    proxy.plan(
        always=Answer(
            400,
            "AuthorizationHeaderMalformed",
            more="<Region>eu-west-1</Region>",
            headers={"x-amz-bucket-region": "eu-west-1"},
            unless="/eu-west-1/s3/aws4_request",
        )
    )
    with store.behind(proxy.port).connect(bucket, **NO_RETRIES) as fs:
        write(fs)
        assert fs.open("/dir/new").read() == b"x"


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.req("FS-192")
@pytest.mark.parametrize(
    ("endpoint", "kind", "said"),
    [
        ("http://127.0.0.1:{port}", errors.Unreachable, "onnection refused"),
        ("http://no-such-host.invalid:9000", errors.UnknownHost, "no address is known for http://"),
        ("https://127.0.0.1:{store}", errors.RemoteError, "no TLS with https://127.0.0.1:"),
        ("127.0.0.1:{store}", errors.RemoteError, "; if it speaks plain HTTP, say http:// in fs"),
    ],
)
def test_an_endpoint_that_cannot_be_reached_is_named(
    store: StoreServer,
    bucket: str,
    endpoint: str,
    kind: type[errors.HowdahError],
    said: str,
    capsys: Capture,
) -> None:
    place = endpoint.format(port=closed_port(), store=store.port)
    keys = store.keys(**NO_RETRIES) | {"fs.s3a.endpoint": place}
    with S3FileSystem(bucket, Configuration(keys)) as fs:
        for operation in OPERATIONS.values():
            with pytest.raises(kind) as caught:
                operation(fs)
            for part in (said, place, f"s3://{bucket}/"):
                assert part in str(caught.value)
            assert "\n" not in str(caught.value)
            assert "HTTPConnection" not in str(caught.value)
    options = [f"-D{key}={value}" for key, value in keys.items()]
    assert main(["dfs", *options, "-ls", f"s3://{bucket}/"]) == 1
    found = capsys.readouterr().err
    assert found.startswith("ls: ")
    assert found.count("\n") == 1
    assert said in found


@pytest.mark.req("FS-192")
def test_without_credentials_the_shell_says_which_keys_to_set(
    store: StoreServer, bucket: str, capsys: Capture
) -> None:
    keys = store.keys(
        aws_credentials_provider="org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    )
    del keys["fs.s3a.secret.key"]
    options = [f"-D{key}={value}" for key, value in keys.items()]
    assert main(["dfs", *options, "-ls", f"s3a://{bucket}/"]) == 1
    assert capsys.readouterr().err == (
        f"ls: s3://{bucket}/: there are no credentials for this bucket: set fs.s3a.access.key "
        "and fs.s3a.secret.key, or have one of fs.s3a.aws.credentials.provider find some\n"
    )


@pytest.mark.req("FS-192")
@pytest.mark.parametrize("name", ["Bad_Bucket!", "a b", "a" * 300])
def test_what_cannot_be_the_name_of_a_bucket_is_said_in_one_line(
    store: StoreServer, name: str, capsys: Capture
) -> None:
    options = [f"-D{key}={value}" for key, value in store.keys().items()]
    assert main(["dfs", *options, "-ls", f"s3://{name}/"]) == 1
    assert capsys.readouterr().err == f"ls: {name!r} cannot be the name of a bucket\n"


@pytest.mark.req("FS-192")
def test_a_bucket_without_a_slash_is_a_home_directory_and_the_shell_says_so_if_there_is_none(
    store: StoreServer, bucket: str, fs: S3FileSystem, capsys: Capture
) -> None:
    """As in Hadoop's shell, whose line is the first one."""
    options = [f"-D{key}={value}" for key, value in store.keys().items()]
    home = fs.home_directory()
    assert main(["dfs", *options, "-ls", f"s3://{bucket}"]) == 1
    assert capsys.readouterr().err == (
        f"ls: `s3://{bucket}': No such file or directory\n"
        f"  it is short for the home directory, s3://{bucket}{home}; the root is s3://{bucket}/\n"
    )
    fs.write_bytes(f"{home}/there", b"x")
    assert main(["dfs", *options, "-ls", "-C", f"s3://{bucket}"]) == 0
    assert capsys.readouterr().out == f"s3://{bucket}{home}/there\n"
