"""The user that a principal is (`hadoop.security.auth_to_local`): KerberosName in Hadoop.

Rules are tried in their order. `DEFAULT` takes the primary of a principal of the default realm; a
name such as `nn/host`, without a realm, is none of that. `RULE:[n:format](pattern)s/from/to/gL`
applies to principals of n components (host and all; `$0` is the realm): the formatted name has to
match the whole pattern, then what `from` finds is replaced, once or everywhere (`g`), and put in
lower case (`L`). A name without realm and host is taken as it is; Hadoop takes names with two `/`
or more as they are, too, which are refused here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors

DEFAULT_RULES: Final = "DEFAULT"
UserOf = Callable[[str], str]
"""The user of a name that a client gives, which may be a principal. Raises AuthenticationFailed."""
HADOOP: Final = "hadoop"
MIT: Final = "mit"
_RULE: Final = re.compile(
    r"\s*(?:(DEFAULT)|RULE:\[(\d*):([^\]]*)\](?:\(([^)]*)\))?"
    r"(?:s/([^/]*)/([^/]*)/(g)?)?/?(L)?)",
)
_PARAMETER: Final = re.compile(r"([^$]*)(?:\$(\d*))?")
_NOT_SIMPLE: Final = re.compile("[/@]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `components` is None for DEFAULT."""

    components: int | None = None
    format: str = ""
    pattern: re.Pattern[str] | None = None
    search: re.Pattern[str] | None = None
    replacement: str = ""
    everywhere: bool = False
    lower: bool = False

    def apply(self, parts: Sequence[str], default_realm: str) -> str | None:
        """The user of a principal whose `parts` are its realm and its components; None if the
        rule is about others."""
        realm, *components = parts
        if self.components is None:
            return components[0] if realm and realm == default_realm else None
        if len(components) != self.components:
            return None
        name = _PARAMETER.sub(lambda match: match[1] + _parameter(match[2], parts), self.format)
        if self.pattern is not None and not self.pattern.fullmatch(name):
            return None
        if self.search is not None:
            name = self.search.sub(self.replacement, name, count=0 if self.everywhere else 1)
        return name.lower() if self.lower else name


def _parameter(number: str | None, parts: Sequence[str]) -> str:
    if not number:
        return ""
    if int(number) >= len(parts):
        raise errors.InvalidConfiguration(
            f"hadoop.security.auth_to_local: ${number} is beyond the {len(parts) - 1} components "
            "of the rule's principals"
        )
    return parts[int(number)]


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Read the rules. Raises ValueError for what is none."""
    rules: list[Rule] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None:
            raise ValueError(f"no rule begins at {text[position : position + 60].strip()!r}")
        position = match.end()
        if match[1]:
            rules.append(Rule())
            continue
        try:
            rules.append(
                Rule(
                    int(match[2] or 0),
                    match[3],
                    None if match[4] is None else re.compile(match[4]),
                    None if match[5] is None else re.compile(match[5]),
                    _python_replacement(match[6] or ""),
                    match[7] is not None,
                    match[8] is not None,
                )
            )
        except re.error as error:
            raise ValueError(f"{match[0].strip()!r}: {error}") from error
    return tuple(rules)


def _python_replacement(java: str) -> str:
    """A replacement of Java's regular expressions (`$1`) as one of Python's."""
    return re.sub(r"\$(\d)", r"\\g<\1>", java.replace("\\", "\\\\"))


def short_name(
    principal: str, rules: Sequence[Rule], default_realm: str, mechanism: str = HADOOP
) -> str:
    """The user that a principal is.

    Raises AuthenticationFailed where no rule applies, or its outcome is no simple name; with the
    mechanism `mit` neither is an error.
    """
    name, at, realm = principal.rpartition("@")
    if not at:
        name, realm = realm, ""
    components = name.split("/")
    # A rule that cuts a name at its first @ would make another user of one that has two.
    if (at and not realm) or not all(components) or "@" in name:
        raise errors.AuthenticationFailed(f"Malformed Kerberos name: {principal}")
    if len(components) == 1 and not realm:
        return principal
    for rule in rules:
        user = rule.apply((realm, *components), default_realm)
        if user is not None:
            if mechanism == HADOOP and _NOT_SIMPLE.search(user):
                raise errors.AuthenticationFailed(
                    f"Non-simple name {user} after auth_to_local rule {principal}"
                )
            return user
    if mechanism == MIT:
        return principal
    raise errors.AuthenticationFailed(
        f"No rules applied to {principal}: hadoop.security.auth_to_local has none for principals "
        f"of {realm or 'no realm'}"
    )


def is_principal(name: str) -> bool:
    """Whether a name is more than that of a user.

    >>> is_principal("alice"), is_principal("nn/host"), is_principal("alice@EXAMPLE.COM")
    (False, True, True)
    """
    return _NOT_SIMPLE.search(name) is not None


def simple_user(name: str) -> str:
    """Return a name that is a user's; without rules no principal is one. Raises
    AuthenticationFailed.

    >>> simple_user("alice")
    'alice'
    """
    return short_name(name, (), "") if is_principal(name) else name
