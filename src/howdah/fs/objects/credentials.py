"""Hadoop's and Amazon's providers of keys, as botocore has them (shell).

`fs.s3a.aws.credentials.provider` is a list of Java classes, which are asked in order. Each is
one of botocore's providers here, the configuration's own keys are one of ours.
"""

from __future__ import annotations

from typing import Any, Final

from howdah import errors
from howdah.config import keys
from howdah.fs.objects.amazon.roles import Role, credentials_of

ANONYMOUS: Final = "anonymous"
SIMPLE: Final = "simple"
TEMPORARY: Final = "temporary"
DEFAULT: Final = "default"
ASSUMED: Final = "assumed"
# Class names without their packages; values that are none of ours are names of botocore's.
_PROVIDERS: Final[dict[str, tuple[str, ...]]] = {
    "AnonymousAWSCredentialsProvider": (ANONYMOUS,),
    "AnonymousCredentialsProvider": (ANONYMOUS,),
    "SimpleAWSCredentialsProvider": (SIMPLE,),
    "BasicAWSCredentialsProvider": (SIMPLE,),
    "TemporaryAWSCredentialsProvider": (TEMPORARY,),
    "AssumedRoleCredentialProvider": (ASSUMED,),
    "EnvironmentVariableCredentialsProvider": ("env",),
    "ProfileCredentialsProvider": ("shared-credentials-file", "config-file"),
    "ProfileAWSCredentialsProvider": ("shared-credentials-file", "config-file"),
    "WebIdentityTokenFileCredentialsProvider": ("assume-role-with-web-identity",),
    "WebIdentityTokenCredentialsProvider": ("assume-role-with-web-identity",),
    "ContainerCredentialsProvider": ("container-role",),
    "EC2ContainerCredentialsProviderWrapper": ("container-role", "iam-role"),
    "InstanceProfileCredentialsProvider": ("iam-role",),
    "IAMInstanceCredentialsProvider": ("container-role", "iam-role"),
    "DefaultCredentialsProvider": (DEFAULT,),
    "DefaultAWSCredentialsProviderChain": (DEFAULT,),
}


class Secrets:
    """The keys that a configuration gives; neither printed nor compared by accident."""

    __slots__ = ("access_key", "secret_key", "session_token")

    def __init__(
        self, access_key: str | None, secret_key: str | None, session_token: str | None
    ) -> None:
        self.access_key = access_key
        self.secret_key = secret_key
        self.session_token = session_token

    @property
    def is_complete(self) -> bool:
        return bool(self.access_key and self.secret_key)

    def are_those_of(self, other: Secrets) -> bool:
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return f"Secrets({'given' if self.secret_key else 'none'})"


def methods_of(classes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the methods to try, in order. Raises `InvalidConfiguration` for an unknown class."""
    chosen: list[str] = []
    for name in classes:
        methods = _PROVIDERS.get(name.rpartition(".")[2])
        if methods is None:
            raise errors.InvalidConfiguration(
                f"{keys.FS_S3A_AWS_CREDENTIALS_PROVIDER.name} names {name}, which is not "
                f"supported; there are {', '.join(sorted(_PROVIDERS))}"
            )
        chosen += [method for method in methods if method not in chosen]
    return tuple(chosen)


def are_in_configuration(classes: tuple[str, ...]) -> bool:
    """Whether one of them wants keys of the configuration."""
    return not {SIMPLE, TEMPORARY}.isdisjoint(methods_of(classes))


def are_of_role(classes: tuple[str, ...]) -> bool:
    """Whether one of them assumes a role."""
    return ASSUMED in methods_of(classes)


def install(session: Any, methods: tuple[str, ...], secrets: Secrets, role: Role | None) -> bool:
    """Make a botocore session look for keys where the configuration says. Return whether requests
    are signed. They are not when anonymous access is allowed and no method before it finds keys."""
    from botocore.credentials import (
        CredentialProvider,
        CredentialResolver,
        Credentials,
        create_credential_resolver,
    )

    theirs = create_credential_resolver(session).providers

    # botocore has no types.
    class Configured(CredentialProvider):  # type: ignore[misc]
        """Provides the keys of the configuration."""

        METHOD = "howdah"

        def __init__(self, *, with_token: bool) -> None:
            self._with_token = with_token

        def load(self) -> Any:
            if not secrets.is_complete:
                return None
            if self._with_token and not secrets.session_token:
                return None
            token = secrets.session_token if self._with_token else None
            return Credentials(secrets.access_key, secrets.secret_key, token, self.METHOD)

    class Assumed(CredentialProvider):  # type: ignore[misc]  # as above
        """Provides the keys of a role."""

        METHOD = "howdah-role"

        def load(self) -> Any:
            if role is None:
                return None
            return credentials_of(session, role, resolver(methods_of(role.providers)))

    def resolver(methods: tuple[str, ...]) -> Any:
        chosen: list[Any] = []
        for method in methods:
            if method in (SIMPLE, TEMPORARY):
                chosen.append(Configured(with_token=method == TEMPORARY))
            elif method == ASSUMED:
                chosen.append(Assumed())
            elif method == DEFAULT:
                chosen += theirs
            else:
                chosen += [provider for provider in theirs if method == provider.METHOD]
        return CredentialResolver(providers=chosen)

    is_anonymous = ANONYMOUS in methods
    signing = methods[: methods.index(ANONYMOUS)] if is_anonymous else methods
    session.register_component("credential_provider", resolver(signing))
    return not is_anonymous or session.get_credentials() is not None
