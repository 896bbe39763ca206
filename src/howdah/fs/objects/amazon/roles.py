"""Keys of a role that somebody else's keys may assume (shell): Hadoop's
AssumedRoleCredentialProvider, by Amazon's STS.

The keys are temporary, and are asked for again before they end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs.objects.retrying import Failed, Throttled

_NOT_IN_NAMES: Final = re.compile(r"[^\w+=,.@-]", re.ASCII)
_LONGEST_NAME: Final = 64
_THROTTLED: Final = ("Throttling", "ThrottlingException", "RequestLimitExceeded")


@dataclass(frozen=True, slots=True)
class Role:
    """A role, and how it is asked for. `providers` are of the keys that may assume it."""

    arn: str
    session_name: str
    duration_s: int
    policy: str | None
    endpoint: str | None
    region: str | None
    providers: tuple[str, ...]


def role_of(conf: Configuration, user: str) -> Role | None:
    """Raises `InvalidConfiguration`."""
    arn = conf.get(keys.FS_S3A_ASSUMED_ROLE_ARN)
    if not arn:
        return None
    endpoint = conf.get(keys.FS_S3A_ASSUMED_ROLE_STS_ENDPOINT)
    region = conf.get(keys.FS_S3A_ASSUMED_ROLE_STS_ENDPOINT_REGION)
    if endpoint and "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    name = conf.get(keys.FS_S3A_ASSUMED_ROLE_SESSION_NAME) or f"howdah-{user}"
    providers: list[str] = conf.get(keys.FS_S3A_ASSUMED_ROLE_CREDENTIALS_PROVIDER)
    return Role(
        arn=arn,
        session_name=_NOT_IN_NAMES.sub("-", name)[:_LONGEST_NAME],
        duration_s=int(conf.get(keys.FS_S3A_ASSUMED_ROLE_SESSION_DURATION)),
        policy=conf.get(keys.FS_S3A_ASSUMED_ROLE_POLICY) or None,
        endpoint=endpoint or None,
        region=region or None,
        providers=tuple(providers),
    )


def credentials_of(session: Any, role: Role, source: Any) -> Any:
    """Return credentials for botocore that assume the role when they are needed. `source` finds the
    keys that may assume it."""
    from botocore.config import Config
    from botocore.credentials import DeferredRefreshableCredentials
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    place = role.endpoint or "Amazon STS"

    def refresh() -> dict[str, str]:
        known = source.load_credentials()
        if known is None:
            raise errors.AccessDenied(
                f"role {role.arn}: there are no credentials that could assume it: see "
                f"{keys.FS_S3A_ASSUMED_ROLE_CREDENTIALS_PROVIDER.name}"
            )
        frozen = known.get_frozen_credentials()
        more = {} if role.policy is None else {"Policy": role.policy}
        try:
            client = session.create_client(
                "sts",
                region_name=role.region,
                endpoint_url=role.endpoint,
                aws_access_key_id=frozen.access_key,
                aws_secret_access_key=frozen.secret_key,
                aws_session_token=frozen.token,
                config=Config(retries={"total_max_attempts": 1}),
            )
            credentials = client.assume_role(
                RoleArn=role.arn,
                RoleSessionName=role.session_name,
                DurationSeconds=role.duration_s,
                **more,
            )["Credentials"]
        except ClientError as error:
            raise _refused(error.response, role, place) from None
        except (ResponseParserError, KeyError):
            raise errors.RemoteError(
                f"role {role.arn}: {place} does not answer as STS does: is "
                f"{keys.FS_S3A_ASSUMED_ROLE_STS_ENDPOINT.name} right?"
            ) from None
        except (BotoCoreError, ValueError) as error:
            raise errors.Unreachable(f"role {role.arn}: {place}: {error}") from None
        return {
            "access_key": credentials["AccessKeyId"],
            "secret_key": credentials["SecretAccessKey"],
            "token": credentials["SessionToken"],
            "expiry_time": credentials["Expiration"].isoformat(),
        }

    return DeferredRefreshableCredentials(refresh_using=refresh, method="assume-role")


def _refused(response: Any, role: Role, place: str) -> errors.HowdahError:
    error = response.get("Error", {})
    code, status = error.get("Code", ""), response["ResponseMetadata"]["HTTPStatusCode"]
    said = f"{code}: {error.get('Message') or 'no message'} (HTTP status {status})"
    if code in _THROTTLED or status in (429, 503):
        return Throttled(f"role {role.arn}: {place} asks to slow down: {said}")
    if status >= 500:
        return Failed(f"role {role.arn}: {place} failed: {said}")
    return errors.AccessDenied(f"role {role.arn} is refused by {place}: {said}")
