"""The server's side of DIGEST-MD5, with what a hostile one may do to its proof."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence

from howdah.protocol.sasl.digest_layers import DigestLayer, Side
from howdah.protocol.sasl.digest_md5 import digest_value, parse_directives, session_hash
from howdah.protocol.sasl.protection import Protection


class DigestServer:
    """Checks who knows a password. `passwords` has the password of a name."""

    def __init__(
        self,
        passwords: Callable[[bytes], bytes | None],
        realm: str = "default",
        protections: Sequence[Protection] = tuple(Protection),
        nonce: bytes = b"nonce",
        ciphers: str = "3des,rc4,des,rc4-56,rc4-40",
    ) -> None:
        self._passwords = passwords
        self._realm = realm.encode()
        self._protections = protections
        self._nonce = nonce
        self._ciphers = ciphers
        self.name = b""
        self.protection: Protection | None = None
        self.layer: DigestLayer | None = None

    def challenge(self) -> bytes:
        words = ",".join(each.value for each in self._protections)
        text = (
            f'realm="{self._realm.decode()}",nonce="{self._nonce.decode()}",qop="{words}",'
            "charset=utf-8,algorithm=md5-sess"
        )
        if Protection.PRIVACY in self._protections:
            text += f',cipher="{self._ciphers}"'
        return text.encode()

    def check(self, answer: bytes) -> bytes | None:
        """The server's proof; None for a wrong answer."""
        said = parse_directives(answer)
        self.name = said["username"]
        password = self._passwords(self.name)
        if password is None:
            return None
        protection = Protection(said["qop"].decode())
        session = session_hash(
            self.name, said["realm"], password, self._nonce, said["cnonce"], said.get("authzid")
        )
        uri = said["digest-uri"]
        parts = session, self._nonce, said["cnonce"], protection, uri
        if not hmac.compare_digest(digest_value(*parts, Side.CLIENT), said["response"]):
            return None
        self.protection = protection
        if protection is not Protection.AUTHENTICATION:
            cipher = said["cipher"].decode() if protection is Protection.PRIVACY else None
            self.layer = DigestLayer(session, Side.SERVER, cipher, int(said["maxbuf"]))
        return b"rspauth=" + digest_value(*parts, Side.SERVER)
