"""The connection to a bucket: botocore's client of this process, and how a request is made (shell).

A client is made when it is first wanted, once in a process: it reads who one is, and threads and
sockets do not outlive a fork. What its requests look like is learnt on the way (`http_requests`),
so that those that are made most do without it. It makes each request once; what failed is told in
our errors, and made again as `retrying` says.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import create_loader
from botocore.parsers import ResponseParserError

from howdah import errors
from howdah.fs.objects import credentials
from howdah.fs.objects.amazon.http_requests import Elsewhere, HttpRequests, RequestTemplates
from howdah.fs.objects.amazon.listing import page_of
from howdah.fs.objects.failures import translated
from howdah.fs.objects.retrying import Retrying
from howdah.fs.objects.settings import DEFAULT_REGION, Settings
from howdah.runtime.fork_safety import PerProcess

T = TypeVar("T")
PAGE: Final = "HowdahPage"
"""Under which name an answer of botocore has the page that was read in its place."""
_DRAIN_BYTES: Final = 64 << 10
"""So much of an answer is read for nothing to keep its connection."""

# What botocore knows about S3 takes long to read: once in a process is enough.
_descriptions = create_loader()
# Its debug log has whole requests.
logging.getLogger("botocore").setLevel(logging.WARNING)
# Keys that cannot be had are an error of the request that wants them, and no stack besides.
logging.getLogger("botocore.credentials").setLevel(logging.ERROR)


class _Client:
    """botocore's client in one process, made when it is first wanted, and what is learnt of it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: Any = None
        self.calls = 0
        self.learning: RequestTemplates | None = None

    @property
    def http_requests(self) -> HttpRequests | None:
        return None if self.learning is None else self.learning.quick


class Connection:
    """Sends the requests for one bucket. Thread-safe, and usable in a forked child."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._methods = credentials.methods_of(settings.providers)
        self._retrying = Retrying(settings.retries)
        self._clients: PerProcess[_Client] = PerProcess(_Client)

    @property
    def calls(self) -> int:
        """Requests that were made in this process."""
        own = self._clients.get()
        return own.calls + (0 if own.learning is None else own.learning.calls)

    @property
    def is_quick(self) -> bool:
        """Whether requests can be made without botocore by now."""
        return self._clients.get().http_requests is not None

    def close(self) -> None:
        own = self._clients.get()
        with own.lock:
            made, own.made = own.made, None
        if made is not None:
            made.close()
        if own.learning is not None:
            own.learning.close()

    def made(self) -> Any:
        """botocore's client of this process."""
        own = self._clients.get()
        with own.lock:
            if own.made is None:
                own.made = self._connected(own)
            return own.made

    def _connected(self, own: _Client) -> Any:
        settings = self._settings
        session = botocore.session.Session()
        session.register_component("data_loader", _descriptions)
        is_signed = credentials.install(session, self._methods, settings.secrets, settings.role)
        options: dict[str, Any] = {
            "retries": {"total_max_attempts": 1},
            "max_pool_connections": settings.connections,
            "connect_timeout": settings.connect_timeout_s or None,
            "read_timeout": settings.read_timeout_s or None,
            "s3": {"addressing_style": _addressing(settings)},
            # What is wanted is said with each request.
            "request_checksum_calculation": "when_required",
            "response_checksum_validation": "when_required",
            "ignore_configured_endpoint_urls": True,
            "user_agent_extra": "howdah",
        }
        if not is_signed:
            options["signature_version"] = UNSIGNED
        if settings.fips:
            options["use_fips_endpoint"] = True
        region = settings.region or session.get_config_variable("region") or DEFAULT_REGION
        try:
            client = session.create_client(
                "s3", region_name=region, endpoint_url=settings.endpoint, config=Config(**options)
            )
        except ValueError as error:
            raise errors.InvalidConfiguration(
                f"fs.s3a.endpoint or fs.s3a.endpoint.region: {error}"
            ) from error

        bundle = session.get_config_variable("ca_bundle")
        learning = RequestTemplates(settings, session.get_credentials, bundle, is_signed=is_signed)

        def sends(request: Any, **_: object) -> None:
            own.calls += 1
            learning.sends(request)

        def answered(http_response: Any, model: Any, **_: object) -> None:
            if model.name != "HeadBucket":
                learning.succeeded(http_response.status_code)

        def add(params: dict[str, Any], model: Any, **_: object) -> None:
            known = model.input_shape.members
            for name, value in settings.additions.of(known, params.get("Key", "")).items():
                params.setdefault(name, value)

        own.learning = learning
        client.meta.events.register("before-send.s3", sends)
        client.meta.events.register("after-call.s3", answered)
        client.meta.events.register_first("before-parameter-build.s3", add)
        client.meta.events.register("before-call.s3.HeadBucket", _say_nothing)
        client.meta.events.register_last("before-parse.s3.ListObjectsV2", _read_page)
        return client

    @contextmanager
    def failing(self, key: str | None) -> Iterator[None]:
        """What botocore raises, in our errors."""
        try:
            yield
        except (BotoCoreError, ClientError, ResponseParserError) as error:
            # The cause is not kept: it may show the request.
            raise translated(error, self._settings, key) from None

    def call(
        self,
        operation: str,
        key: str | None,
        ask: Callable[[Any], T],
        quickly: Callable[[HttpRequests], T] | None = None,
    ) -> T:
        """Make a request, with botocore or by `quickly` without it, and return its result."""
        own = self._clients.get()

        def once() -> T:
            with self.failing(key):
                quick = own.http_requests
                if quick is not None and quickly is not None:
                    try:
                        return quickly(quick)
                    except Elsewhere:
                        quick.forget()
                return ask(self.made())

        return self.again(f"{operation} of s3://{self._settings.bucket}/{key or ''}", once)

    def again(self, operation: str, once: Callable[[], T]) -> T:
        """Call `once`, and repeat it as the settings say. Return its result."""
        return self._retrying(operation, once)


class AnswerBody:
    """Of an answer of botocore's."""

    def __init__(self, settings: Settings, key: str, body: Any) -> None:
        self._settings = settings
        self._key = key
        self._body = body

    def readinto(self, view: memoryview) -> int:
        """Some bytes; 0 at the end. Raises `Unreachable`, `CallTimeout`."""
        try:
            data = self._body.read(len(view))
        except BotoCoreError as error:
            raise translated(error, self._settings, self._key) from None
        except (OSError, ValueError) as error:
            raise errors.Unreachable(
                f"s3://{self._settings.bucket}/{self._key}: the answer of "
                f"{self._settings.location} broke off: {error}"
            ) from None
        view[: len(data)] = data
        return len(data)

    def close(self, left: int) -> None:
        try:
            if 0 < left <= _DRAIN_BYTES:
                self._body.read(left)
        except (BotoCoreError, OSError, ValueError):
            logging.getLogger(__name__).debug("an answer ended early, which nobody wanted")
        self._body.close()


def _read_page(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read a listing in botocore's place, which then finds an empty one."""
    if response_dict["status_code"] == 200:
        customized_response_dict[PAGE] = page_of(response_dict["body"])
        response_dict["body"] = b"<ListBucketResult/>"


def _say_nothing(**_: object) -> tuple[Any, dict[str, Any]]:
    """botocore asks for the bucket where an answer sends it elsewhere without naming a region,
    and if that is answered in the same manner, without end."""
    return SimpleNamespace(status_code=200), {"ResponseMetadata": {"HTTPHeaders": {}}}


def _addressing(settings: Settings) -> str:
    """Left to itself botocore puts buckets into the path wherever an endpoint is given."""
    if settings.is_path_style:
        return "path"
    host = urlsplit(settings.endpoint or "").hostname
    return "auto" if host in (None, "localhost") else "virtual"
