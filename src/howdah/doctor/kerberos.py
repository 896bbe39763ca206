"""What there is to prove oneself by on a secured cluster, and what servers want (shell).

Servers are asked as everybody may ask them: a namenode for its offers, a datanode for its
challenge. Nothing is sent that proves anything, and nothing that is answered is believed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError

from howdah.config import Configuration, keys
from howdah.config.value_types import Address
from howdah.doctor.inputs import Kerberos, SecuredServer
from howdah.errors import HowdahError, ProtocolViolation
from howdah.formats.tokens.token import HDFS_DELEGATION
from howdah.proto import data_transfer_pb2, rpc_pb2
from howdah.protocol.data_transfer.handshake import MAGIC
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.negotiation import MOST_FRAME_BYTES, decode_sasl, encode_sasl
from howdah.protocol.rpc.proven import SIMPLE
from howdah.protocol.sasl.digest_md5 import Challenge
from howdah.protocol.varint import delimited, read_delimited
from howdah.runtime import sockets
from howdah.security import kdc
from howdah.security.gssapi import library
from howdah.security.hosts import host_names
from howdah.security.login import KerberosLogin, default_realm
from howdah.security.settings import SecuritySettings
from howdah.security.users import SecuredUser, login_source

_CLIENT_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_KDC_TIMEOUT_S: Final = 3.0
_KERBEROS: Final = "KERBEROS"
_TOKEN: Final = "TOKEN"
_PRIVILEGED_PORTS: Final = 1024
_RECEIVE_BYTES: Final = 64 * 1024
_EXPECTED: Final = (
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL,
    keys.DFS_NAMENODE_KERBEROS_PRINCIPAL_PATTERN,
    keys.DFS_DATANODE_KERBEROS_PRINCIPAL,
    keys.DFS_DATANODE_KERBEROS_PRINCIPAL_PATTERN,
)


def look(
    conf: Configuration,
    user: str | None,
    problem: str,
    namenodes: Sequence[tuple[str, Address]],
    datanodes: Sequence[tuple[str, Address]],
    *,
    timeout_s: float,
    asks: bool,
    encrypts_data: bool,
) -> Kerberos:
    """Gather all of it. `user` is who this process is, or `problem` why it is nobody."""
    files = [(str(path), os.access(path, os.R_OK)) for path in kdc.configuration_files()]
    settings = SecuritySettings.from_configuration(conf)
    source = login_source(conf)
    realm, principal, left_s = "", "", None
    keytab_principals: tuple[str, ...] = ()
    try:
        library()
        realm = default_realm()
        login = KerberosLogin(source)
        keytab_principals = login.keytab_principals()
        if not problem and not (isinstance(user, SecuredUser) and not user.identity.has_login):
            inquiry = login.inquire(timeout_s)
            principal, left_s = inquiry.principal, inquiry.lifetime_s
    except HowdahError as error:
        problem = problem or str(error)
    servers: list[SecuredServer] = []
    if asks:
        servers += [_namenode(name, at, settings, timeout_s) for name, at in namenodes]
        servers += [_datanode(name, at, timeout_s) for name, at in datanodes]
    return Kerberos(
        files=tuple(files),
        realm=realm,
        kdcs=tuple(f"{host}:{port}" for host, port in kdc.kdcs_of(realm)) if realm else (),
        source=str(source),
        principal=principal,
        left_s=left_s,
        keytab_principals=keytab_principals,
        problem=problem,
        tokens=tuple(_tokens(user)),
        kdc_ahead_s=kdc.seconds_ahead(realm, _KDC_TIMEOUT_S) if asks and realm else None,
        expected=tuple((key.name, value) for key in _EXPECTED if (value := conf.get(key))),
        rpc_protections=tuple(each.word for each in settings.rpc_protections),
        data_protections=tuple(each.word for each in settings.data_protections),
        encrypts_data=encrypts_data,
        servers=tuple(servers),
    )


def _tokens(user: str | None) -> list[str]:
    if not isinstance(user, SecuredUser):
        return []
    try:
        tokens = user.tokens()
    except HowdahError:
        return []  # What is wrong with their file is the login's problem.
    return [f"{token.kind} for {token.service or HDFS_DELEGATION}" for token in tokens]


def _namenode(
    name: str, address: Address, settings: SecuritySettings, timeout_s: float
) -> SecuredServer:
    shown, where = f"namenode {name}", f"{address[0]}:{address[1]}"
    try:
        offers = offers_of(address, timeout_s)
    except (OSError, HowdahError) as error:
        return SecuredServer(shown, where, remark=str(error) or type(error).__name__)
    principal = problem = ""
    protections: tuple[str, ...] | None = None
    for offer in offers:
        try:
            if offer.method == _TOKEN and offer.challenge:
                parsed = Challenge.parse(offer.challenge)
                protections = tuple(each.word for each in parsed.protections)
            if offer.method == _KERBEROS:
                principal = f"{offer.protocol}/{offer.serverId}"
                settings.principals_for(_CLIENT_PROTOCOL).accept(
                    offer.protocol, offer.serverId, host_names(address[0]), where
                )
        except HowdahError as error:
            problem = str(error)
    methods = tuple(offer.method for offer in offers)
    return SecuredServer(shown, where, methods, principal, problem, protections)


def offers_of(address: Address, timeout_s: float) -> list[rpc_pb2.RpcSaslProto.SaslAuth]:
    """How clients may prove themselves at an RPC port, as the server answers to everybody. Raises
    OSError, HowdahError."""
    kinds = rpc_pb2.RpcSaslProto
    with socket.create_connection(address, timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(
            wire.preamble(wire.AUTH_SASL) + encode_sasl(kinds(state=kinds.NEGOTIATE))
        )
        incoming = wire.FrameBuffer(MOST_FRAME_BYTES)
        while not (frames := incoming.feed(_piece(connection))):
            continue
    message = decode_sasl(frames[0])
    if message.state == kinds.SUCCESS:
        return [kinds.SaslAuth(method=SIMPLE)]
    return list(message.auths)


def _piece(connection: socket.socket) -> bytes:
    piece = connection.recv(_RECEIVE_BYTES)
    if not piece:
        raise ConnectionError("the server ended the connection")
    return piece


def _datanode(name: str, address: Address, timeout_s: float) -> SecuredServer:
    shown, where = f"datanode {name}", f"{address[0]}:{address[1]}"
    if address[1] < _PRIVILEGED_PORTS:
        return SecuredServer(shown, where, remark="its privileged port proves it, without SASL")
    try:
        return SecuredServer(shown, where, protections=data_protections_of(address, timeout_s))
    except (OSError, HowdahError) as error:
        return SecuredServer(shown, where, remark=str(error) or type(error).__name__)


def data_protections_of(address: Address, timeout_s: float) -> tuple[str, ...]:
    """What a datanode offers for data; nothing if it wants no SASL, and so ends the connection.
    Raises OSError, HowdahError."""
    message = data_transfer_pb2.DataTransferEncryptorMessageProto
    with sockets.connect(
        address,
        connect_timeout_s=timeout_s,
        read_timeout_s=timeout_s,
        write_timeout_s=timeout_s,
    ) as connection:
        try:
            connection.send_all(MAGIC + delimited(message(status=message.SUCCESS, payload=b"")))
            answer = message.FromString(read_delimited(connection))
        except (sockets.PeerClosed, ConnectionError):
            return ()
        except DecodeError as error:
            raise ProtocolViolation(f"the datanode answers something else: {error}") from error
    return tuple(each.word for each in Challenge.parse(answer.payload).protections)
