"""A passphrase that HashiCorp Vault has encrypted (shell).

The key that encrypts it is one of Vault's transit engine and never leaves Vault, so a file of keys
opens only where Vault lets this server decrypt. Vault is asked once, at the start: from then on
keys of files are encrypted and decrypted here, whatever becomes of Vault. hvac speaks to it.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.security.guarded_file import read_guarded

if TYPE_CHECKING:
    import hvac

_BEGINS: Final = "vault:v"
_TIMEOUT_S: Final = 10


def is_of_vault(text: str) -> bool:
    """Whether a text is what Vault's transit engine has encrypted.

    >>> is_of_vault("vault:v1:8SDd3WHDOjf7mq69CyCqYjBXAiQQAVZRkFM13ok481zoCmHnSeDX9vyf7w==")
    True
    """
    return text.startswith(_BEGINS)


def opened(conf: Configuration, text: str) -> str:
    """Return the passphrase that Vault decrypts.

    Raises InvalidConfiguration where it cannot be asked, or refuses, with its words.
    """
    address = conf.get(keys.HOWDAH_KMS_VAULT_ADDRESS)
    name, mount = conf.get(keys.HOWDAH_KMS_VAULT_KEY), conf.get(keys.HOWDAH_KMS_VAULT_MOUNT)
    client = _client(conf, address)
    try:
        found = client.secrets.transit.decrypt_data(name=name, ciphertext=text, mount_point=mount)
        plain = base64.b64decode(found["data"]["plaintext"], validate=True).decode()
    except _errors_of_vault() as error:
        raise errors.InvalidConfiguration(
            f"Vault at {address} does not decrypt the passphrase by the key {mount}/{name}: {error}"
        ) from error
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise errors.InvalidConfiguration(
            f"Vault at {address} answers what is no passphrase in base64"
        ) from None
    finally:
        client.adapter.close()
    passphrase = plain.partition("\n")[0].rstrip("\r")
    if not passphrase:
        raise errors.InvalidConfiguration(f"Vault at {address} decrypts an empty passphrase")
    return passphrase


def _client(conf: Configuration, address: str | None) -> hvac.Client:
    if not address:
        raise errors.InvalidConfiguration(
            f"the passphrase is encrypted by Vault, and {keys.HOWDAH_KMS_VAULT_ADDRESS.name} is "
            "not set"
        )
    token_file = conf.get(keys.HOWDAH_KMS_VAULT_TOKEN_FILE)
    if not token_file:
        raise errors.InvalidConfiguration(
            f"{keys.HOWDAH_KMS_VAULT_TOKEN_FILE.name} is not set: "
            f"{keys.HOWDAH_KMS_VAULT_TOKEN_FILE.doc}"
        )
    path = Path(token_file).expanduser()
    token, is_shown = read_guarded(path)
    if is_shown:
        raise errors.InvalidConfiguration(
            f"{path} can be read by others than its owner, and has a token in it: chmod 600"
        )
    try:
        import hvac
    except ImportError as error:
        raise errors.InvalidConfiguration(
            "Vault needs the package hvac: pip install 'howdah[vault]'"
        ) from error
    authorities = conf.get(keys.HOWDAH_KMS_VAULT_CA_FILE)
    return hvac.Client(
        url=address,
        token=token.strip(),
        verify=str(Path(authorities).expanduser()) if authorities else True,
        timeout=_TIMEOUT_S,
        allow_redirects=False,
    )


def _errors_of_vault() -> tuple[type[Any], ...]:
    import hvac.exceptions
    import requests

    return hvac.exceptions.VaultError, requests.RequestException, OSError
