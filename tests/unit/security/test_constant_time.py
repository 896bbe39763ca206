"""What proves somebody is compared in constant time: `==` tells by its time how much of a guess is
right."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah

ROOT = Path(howdah.__file__).parent
SECRETS = ("password", "secret", "proof", "signature", "rspauth", "hmac", "mac")
"""What names of such values end with."""
ALLOWED = {
    # Whoever sets a password types it twice, at his own terminal.
    ("cli/passwd.py", "getpass != password"),
    # A secret that stands in guides is refused at the start.
    ("security/web_settings.py", "strip == _KNOWN_SECRET"),
    # The name of a header, which has a signature.
    ("gateway/s3/protocol/chunks.py", "name != _TRAILER_SIGNATURE"),
}


def name_of(node: ast.expr) -> str:
    """The last name of a name, an attribute or a call; empty for all else."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Call():
            return name_of(node.func)
    return ""


def comparisons(source: str) -> Iterator[str]:
    """Comparisons by `==` and `!=` of which a side is named as a secret is, and none is a
    constant."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if not any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            continue
        if any(isinstance(side, ast.Constant) for side in sides):
            continue
        names = [name_of(side) for side in sides]
        if any(name.lower().rpartition("_")[2] in SECRETS for name in names):
            sign = "==" if isinstance(node.ops[0], ast.Eq) else "!="
            yield f" {sign} ".join(names)


def test_no_secret_is_compared_by_equality() -> None:
    found = {
        (str(path.relative_to(ROOT)), said)
        for path in ROOT.rglob("*.py")
        for said in comparisons(path.read_text("utf-8"))
    }
    assert found == ALLOWED


@pytest.mark.parametrize(
    ("source", "is_one"),
    [
        ("password == token.password", True),
        ("if sign(key, text) != shown_mac: pass", True),
        ("self._signature(text) == mark", True),
        ("hmac.compare_digest(password, shown)", False),
        ("password == b''", False),
        ("token.kind == other.kind", False),
    ],
)
def test_the_rule_sees_what_it_is_about(source: str, is_one: bool) -> None:
    assert bool(list(comparisons(source))) is is_one
