"""From what a namenode says of an encrypted file to what its bytes are decrypted by (shell)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from howdah import errors
from howdah.client.encryption.cipher import FileCipher
from howdah.config import Configuration, keys
from howdah.formats.tokens.token import Token
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.protocol.encryption_zones.provider_address import SCHEME, ProviderAddress
from howdah.runtime.fork_safety import made_once
from howdah.security.key_servers import KeyServers


class Namenode(Protocol):
    """What is needed of a namenode."""

    @property
    def user(self) -> str: ...
    def get_server_defaults(self) -> types_pb2.FsServerDefaultsProto: ...


class FileKeys:
    """The keys of one namespace's files, for one user. Thread-safe and fork-safe.

    Key servers are those that the namenode names, unless the configuration says otherwise, as
    Hadoop's clients have it (HdfsKMSUtil.getKeyProviderUri). No key is kept: whoever lost the
    right to a key shall not open another file by it.
    """

    def __init__(self, conf: Configuration, namenode: Namenode) -> None:
        self._conf = conf
        self._namenode = namenode
        self.caller: Callable[[], str] = lambda: namenode.user
        """Has as whom key servers are asked."""

    def cipher_of(self, path: str, key: EncryptedKey) -> FileCipher:
        """Return the cipher of a file. Raises AccessDenied for users who may not decrypt its key,
        Unreachable where no key server answers, and InvalidConfiguration where none is known."""
        with errors.naming(path):
            return FileCipher(self.servers.decrypt(key), key.iv)

    @made_once
    def servers(self) -> KeyServers:
        """The key servers. Raises InvalidConfiguration."""
        address = self.address()
        if address is None:
            raise errors.InvalidConfiguration(
                "a file is in an encryption zone, and neither the namenode nor "
                f"{keys.HADOOP_SECURITY_KEY_PROVIDER_PATH.name} says where its keys are"
            )
        return KeyServers(address, self._conf, self.caller())

    def get_delegation_token(self, renewer: str) -> Token | None:
        """Return a token of the key servers; None where there are none, or users prove
        nothing. Raises as they do."""
        if self._conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "simple":
            return None
        text = self._address_text()
        if text is None or not text.startswith(SCHEME):
            return None  # A keystore in a file issues none.
        return self.servers.get_delegation_token(renewer)

    def address(self) -> ProviderAddress | None:
        """Return where the key servers are; None if nobody knows. Raises InvalidConfiguration."""
        text = self._address_text()
        return ProviderAddress.of(text) if text else None

    def _address_text(self) -> str | None:
        text = None
        if not self._conf.get(keys.DFS_CLIENT_IGNORE_NAMENODE_DEFAULT_KMS_URI):
            defaults = self._namenode.get_server_defaults()
            if defaults.HasField("keyProviderUri"):
                text = defaults.keyProviderUri
        if text is None:
            text = self._conf.get(keys.HADOOP_SECURITY_KEY_PROVIDER_PATH)
        return text or None

    def close(self) -> None:
        """Let go of connections."""
        if "servers" in self.__dict__:
            self.servers.close()
