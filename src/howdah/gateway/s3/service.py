"""The gateway: who asks, for what, and what one hears (shell).

A request is signed with an access key, which belongs to a user. The user's own client does what is
asked for, so that permissions are those of HDFS: the gateway connects under its own name and acts
for the user, where the cluster lets it (`hadoop.proxyuser.*`), or as the user, whom SIMPLE
authentication believes. It keeps nothing that another gateway beside it would need.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.passwords import check_user
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect
from howdah.fs.viewfs.loading import with_mount_points_as_directories
from howdah.gateway.clients import Clients
from howdah.gateway.metrics import NO_OPERATION, Outcome, Requests, outcome_of
from howdah.gateway.s3.access_keys import AccessKeyFile, configured_passphrase
from howdah.gateway.s3.body import Body
from howdah.gateway.s3.bucket_rules import BucketRules
from howdah.gateway.s3.buckets import Buckets
from howdah.gateway.s3.calls import CALLS, OWNER, Call, Gateway, PostedForm
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.objects import Bucket, Shared
from howdah.gateway.s3.protocol.cors import (
    CorsRule,
    answer_headers,
    is_pattern,
    preflight,
    rules_of_setting,
)
from howdah.gateway.s3.protocol.documents import CONTENT_TYPE, error_document
from howdah.gateway.s3.protocol.forms import Form, boundary_of, is_form
from howdah.gateway.s3.protocol.metadata import check_supported
from howdah.gateway.s3.protocol.operations import check_parameters, check_served, operation_of
from howdah.gateway.s3.protocol.policies import (
    check_form_signature,
    check_policy,
    fields_of_form,
    signed_form,
)
from howdah.gateway.s3.protocol.refusals import Refused, refused_by
from howdah.gateway.s3.protocol.requests import S3Request, bucket_of_host, request_of
from howdah.gateway.s3.protocol.signatures import Signed, check_signature, signed_of
from howdah.gateway.s3.uploads import Sweeper
from howdah.runtime.running_cluster import default_filesystem
from howdah.runtime.users.current import process_user
from howdah.runtime.users.impersonation import read_rules
from howdah.runtime.users.names import ProxyUser
from howdah.security.server_checks import is_secured
from howdah.security.server_login import log_in_server
from howdah.web.channel import Channel
from howdah.web.http import Request, Response

log = logging.getLogger(__name__)
PREFLIGHT: Final = "Preflight"
"""Of a browser that asks what a page may do."""
audit = logging.getLogger("s3audit")


class S3Gateway:
    """Answers requests of S3 for one filesystem."""

    def __init__(self, conf: Configuration, now_s: Callable[[], float] = time.time) -> None:
        """Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in."""
        conf = with_mount_points_as_directories(conf)
        self.conf = conf.with_values({keys.FS_PERMISSIONS_UMASK_MODE.name: "000"})
        self.uri = default_filesystem(conf)
        self.now_s: Final = now_s
        self.requests = Requests()
        self.anonymous = conf.get(keys.HOWDAH_S3_ANONYMOUS_USER)
        if self.anonymous:
            check_user(self.anonymous)
        self.domains: Final = [text.strip().lower() for text in conf.get(keys.HOWDAH_S3_DOMAINS)]
        origins = conf.get(keys.HOWDAH_S3_CORS_ORIGINS)
        for origin in origins:
            if not is_pattern(origin):
                raise errors.InvalidConfiguration(
                    f"{keys.HOWDAH_S3_CORS_ORIGINS.name} has {origin!r}: it is * or has origins "
                    "such as https://app.example.com, with one * each at most"
                )
        keys_file = conf.get(keys.HOWDAH_S3_KEYS_FILE)
        if not keys_file and not self.anonymous:
            raise errors.InvalidConfiguration(
                f"{keys.HOWDAH_S3_KEYS_FILE.name} is not set: howdah s3 keys add USER makes the "
                "file of access keys"
            )
        self._access_keys: AccessKeyFile | None = None
        if keys_file:
            path = Path(keys_file).expanduser()
            self._access_keys = AccessKeyFile(path, configured_passphrase(conf))
        if self._access_keys is not None:
            self._access_keys.keys()
        self._caller_for = _caller_for(conf)
        self.own_user = process_user() if self._caller_for is None else self._caller_for("")
        acts = conf.get(keys.HOWDAH_S3_IMPERSONATION)
        self.acts_for_users = self._caller_for is not None or (
            self.own_user in read_rules(conf).rules if acts is None else acts
        )
        """Whether it connects under its own name."""
        self.clients: Clients[FileSystem] = Clients(
            lambda user: connect(self.uri, conf=self.conf, user=self._as(user)),
            conf.get(keys.HOWDAH_S3_CLIENTS_IDLE),
        )
        self.parts = Gateway(
            Buckets.of(conf),
            Shared(
                KeyLocks(),
                paths.parse_umask(conf.get(keys.FS_PERMISSIONS_UMASK_MODE)),
                lambda: self.clients.of(str(self.own_user)),
            ),
            Sweeper(conf.get(keys.HOWDAH_S3_UPLOADS_LIFETIME)),
            BucketRules(self._cors_rules_of, rules_of_setting(origins)),
            knows_everybody=not self.anonymous,
        )

    def _as(self, user: str) -> str:
        if self._caller_for is not None:
            return self._caller_for(user)
        if self.acts_for_users and user != self.own_user:
            return ProxyUser(user, self.own_user)
        return user

    def access_keys(self) -> Mapping[str, tuple[str, str]]:
        """The secrets and the users of all access keys. Raises InvalidConfiguration."""
        if self._access_keys is None:
            return {}
        return {name: (key.secret_key, key.user) for name, key in self._access_keys.keys().items()}

    def names_bucket(self, request: Request) -> bool:
        """Whether the host of a request names a bucket, and its path is a key."""
        return bucket_of_host(request, self.domains) is not None

    def _cors_rules_of(self, bucket: str) -> tuple[CorsRule, ...] | None:
        """Rules of a bucket's own, as the gateway itself sees them: browsers ask unsigned."""
        path = self.parts.buckets.path(bucket)
        with self.parts.shared.own_files() as files:
            return Bucket(files, bucket, path, self.own_user, self.parts.shared).cors_rules()

    def answer(self, request: Request) -> Operation:
        return Operation(self, request)

    def close(self) -> None:
        self.clients.close()


def _caller_for(conf: Configuration) -> Callable[[str], str] | None:
    """As whom to call a secured cluster for a user, and for the gateway itself (""); None before
    another one."""
    if not is_secured(conf):
        return None
    from howdah.security.users import SecuredUser

    login = log_in_server(
        conf,
        keys.HOWDAH_S3_KERBEROS_PRINCIPAL,
        keys.HOWDAH_S3_KERBEROS_KEYTAB,
        conf.get(keys.HOWDAH_S3_ADDRESS)[0],
    )
    own = login.caller
    assert isinstance(own, SecuredUser), "a server that is secured calls others so"
    return lambda user: own if user in ("", own) else own.acting_for(user)


class Operation:
    """Answers one request, as an exchange."""

    def __init__(self, gateway: S3Gateway, request: Request) -> None:
        self._gateway = gateway
        self._request = request
        self._id = secrets.token_hex(8).upper()
        self._user = "-"
        self._operation = NO_OPERATION

    def run(self, channel: Channel) -> None:
        channel.added = {"x-amz-request-id": self._id}
        # Clients would take it for a part of what is kept with an object, and copy it.
        channel.omitted = frozenset({"Cache-Control"})
        outcome = Outcome.BROKEN
        try:
            refused = None
            try:
                answer = self._answered(channel)
            except Refused as error:
                refused = error
            except errors.HowdahError as error:
                refused = refused_by(error)
            if refused is not None and channel.has_begun:
                # Its head is out: only the end of the connection can say that it broke off.
                channel.broken = True
                log.warning("%s breaks off: %s", self._line, refused.message)
                return
            if refused is not None:
                answer = self._refusal(refused)
                log.info("%s is refused: %s: %s", self._line, refused.code, refused.message)
            if answer is not None:
                channel.respond(answer)
            outcome = outcome_of(answer)
        finally:
            self._gateway.requests.note(self._operation, outcome)
            audit.info(
                "%s %s %s %s %s",
                self._request.peer,
                self._user,
                self._operation,
                paths.printable(self._request.path),
                outcome.value,
            )

    def done(self) -> None:
        """It has answered on the connection's thread."""

    @property
    def _line(self) -> str:
        request = self._request
        return (
            f"{request.method} {paths.printable(request.path)} from {request.peer} ({self._user})"
        )

    def _answered(self, channel: Channel) -> Response | None:
        gateway = self._gateway
        request = request_of(self._request, gateway.domains)
        origin = request.headers.get("origin")
        if request.method == "OPTIONS":
            self._operation = PREFLIGHT
            return Response(200, preflight(gateway.parts.cors.of(request.bucket), request.headers))
        if origin is not None:
            rules = gateway.parts.cors.of(request.bucket)
            channel.added = {
                **channel.added,
                **answer_headers(rules, origin, request.method),
            }
        signed = signed_of(request)
        if signed is None and is_form(request):
            posted, self._user = self._posted(request, channel)
            secret_key = ""
        else:
            posted = None
            secret_key, self._user = self._proven(request, signed)
        operation = operation_of(request)
        self._operation = operation.name
        check_served(operation)
        check_parameters(request, operation)
        check_supported(request)
        if operation.name == "PostObject" and posted is None:
            raise Refused(
                "PreconditionFailed",
                "Bucket POST must be of the enclosure-type multipart/form-data",
                Condition="Content-Type",
            )
        with gateway.clients.of(self._user) as fs:
            if OWNER in request.headers and operation.name != "CreateBucket":
                gateway.parts.buckets.check_owner(fs, request.bucket, request.headers[OWNER])
            return CALLS[operation.name](
                Call(gateway.parts, fs, self._user, request, channel, signed, secret_key, posted)
            )

    def _posted(self, request: S3Request, channel: Channel) -> tuple[PostedForm, str]:
        """A form, and who has signed its policy. Raises Refused."""
        boundary = boundary_of(request.headers.get("content-type", ""))
        if boundary is None:
            raise Refused("MalformedPOSTRequest", "the type of a form has its boundary")
        body = Body(channel, request, None, "", has_sums=False)
        with channel.form_in_time():
            # Nobody knows yet whose it is.
            form = Form(body.pieces(), boundary)
        signed = signed_form(form.fields)
        secret_key, user = self._known(signed.access_key)
        check_form_signature(signed, secret_key)
        fields = fields_of_form(form.fields)
        now_s = self._gateway.now_s()
        lengths = check_policy(signed.policy, fields, request.bucket, now_s)
        return PostedForm(form, fields, lengths), user

    def _proven(self, request: S3Request, signed: Signed | None) -> tuple[str, str]:
        """The secret that a request is signed with, and whose it is. Raises Refused."""
        gateway = self._gateway
        if signed is None:
            if not gateway.anonymous:
                raise Refused("AccessDenied", "Access Denied: this request is not signed")
            return "", gateway.anonymous
        if "x-amz-security-token" in request.headers or "X-Amz-Security-Token" in request.query:
            raise Refused("InvalidToken", "The provided token is not known: keys here have none")
        secret_key, user = self._known(signed.access_key)
        check_signature(request, signed, secret_key, gateway.now_s())
        return secret_key, user

    def _known(self, access_key: str) -> tuple[str, str]:
        """The secret of an access key, and whose it is. Raises Refused."""
        known = self._access_keys().get(access_key)
        if known is None:
            raise Refused(
                "InvalidAccessKeyId",
                "The AWS Access Key Id you provided does not exist in our records.",
                AWSAccessKeyId=access_key[:128],
            )
        return known

    def _access_keys(self) -> Mapping[str, tuple[str, str]]:
        """Raises Refused: where their file is, and what is wrong with it, is for the log."""
        try:
            return self._gateway.access_keys()
        except errors.InvalidConfiguration as error:
            log.error("nobody is let in: %s", error)
            raise Refused(
                "InternalError", "the access keys of this gateway cannot be read"
            ) from None

    def _refusal(self, refused: Refused) -> Response:
        body = error_document(
            refused.code,
            refused.message,
            self._request.path,
            self._id,
            refused.fields.items(),
        )
        return Response(refused.status, {"Content-Type": CONTENT_TYPE, **refused.headers}, body)
