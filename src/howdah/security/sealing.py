"""Small files that are encrypted by a passphrase (shell: reads the passphrase's file).

Such a file is a JWE of RFC 7516, by `PBES2-HS512+A256KW` and `A256GCM`: any library for these opens
it who has the passphrase. joserfc makes and reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.security.guarded_file import read_guarded

if TYPE_CHECKING:
    from joserfc.jwe import JWERegistry

FEWEST_CHARACTERS: Final = 12
_ALGORITHM: Final = "PBES2-HS512+A256KW"
_ENCRYPTION: Final = "A256GCM"
_ROUNDS: Final = 250_000
"""Of the passphrase's derivation: more than what OWASP asks for (210,000), and nearly as many as
joserfc takes."""
_MOST_BYTES: Final = 12 << 20
_BEGINS: Final = "eyJ"
"""The header is an object of JSON, in base64."""
_DOTS: Final = 4


def seal(text: str, passphrase: str) -> str:
    """Return a text encrypted, as a file has it.

    Raises InvalidConfiguration for a passphrase that is too short, for a text of more than some
    megabytes, and where joserfc is missing.
    """
    if len(passphrase) < FEWEST_CHARACTERS:
        raise errors.InvalidConfiguration(
            f"a passphrase has at least {FEWEST_CHARACTERS} characters"
        )
    data = text.encode()
    if len(data) > _MOST_BYTES // 2:
        raise errors.InvalidConfiguration(f"{len(data)} bytes are too many for an encrypted file")
    jwe, key, registry = _tools(passphrase)
    header = {"alg": _ALGORITHM, "enc": _ENCRYPTION, "p2c": _ROUNDS}
    return f"{jwe.encrypt_compact(header, data, key, registry=registry)}\n"


def is_sealed(text: str) -> bool:
    """Whether a text is encrypted by a passphrase, as far as its form says.

    >>> is_sealed("eyJh.a.a.a.a"), is_sealed("AKIA secret user")
    (True, False)
    """
    return text.startswith(_BEGINS) and text.count(".") == _DOTS


def unseal(text: str, passphrase: str) -> str:
    """Return what was encrypted.

    Raises InvalidConfiguration for another passphrase, and for a file that is damaged.
    """
    jwe, key, registry = _tools(passphrase)
    from joserfc.errors import JoseError

    try:
        plain = jwe.decrypt_compact(text.strip(), key, registry=registry).plaintext
        return "" if plain is None else str(plain, "utf-8")
    except (JoseError, ValueError):
        raise errors.InvalidConfiguration(
            "this is not its passphrase, or the file is damaged"
        ) from None


def _tools(passphrase: str) -> tuple[Any, Any, JWERegistry]:
    try:
        from joserfc import jwe
        from joserfc.jwk import OctKey
    except ImportError as error:
        raise errors.InvalidConfiguration(
            "encrypted files need the packages joserfc and cryptography: pip install 'howdah[kms]'"
        ) from error

    class Registry(jwe.JWERegistry):
        max_ciphertext_length = _MOST_BYTES

    registry = Registry(algorithms=[_ALGORITHM, _ENCRYPTION])
    return jwe, OctKey.import_key(passphrase), registry


def passphrase_in(path: Path) -> str:
    """Return the passphrase in a file: its first line.

    Raises InvalidConfiguration where there is none, or others than its owner can read the file.
    """
    text, is_shown = read_guarded(path)
    if is_shown:
        raise errors.InvalidConfiguration(
            f"{path} can be read by others than its owner, and has a passphrase in it: chmod 600"
        )
    line = text.partition("\n")[0].rstrip("\r")
    if not line:
        raise errors.InvalidConfiguration(f"{path} has no passphrase in its first line")
    return line
