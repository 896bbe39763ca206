"""Kerberos: login, tickets, clocks, and servers that want what this client does not (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah.config import keys
from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import Facts, Kerberos, SecuredServer
from howdah.protocol.rpc.proven import KERBEROS, SIMPLE

_ABOUT: Final = "kerberos"
_ENDS_SOON_S: Final = 600
_SKEW_S: Final = 300.0
"""What Kerberos allows, if nobody says otherwise."""
_DRIFT_S: Final = 60.0


def check(facts: Facts) -> Iterator[Finding]:
    kerberos = facts.kerberos
    if kerberos is None:
        return
    yield from _files(kerberos)
    yield from _login(kerberos)
    yield from _clock(kerberos)
    for server in kerberos.servers:
        yield from _server(server, kerberos)


def _files(kerberos: Kerberos) -> Iterator[Finding]:
    if not any(there for _, there in kerberos.files):
        names = ", ".join(name for name, _ in kerberos.files)
        yield error(
            _ABOUT,
            f"there is no krb5.conf: {names} cannot be read",
            "install the realm's krb5.conf, or name it by KRB5_CONFIG",
        )
    elif not kerberos.realm:
        yield warning(
            _ABOUT,
            "krb5.conf names no default_realm",
            "set default_realm: principals without a realm are of none",
        )


def _login(kerberos: Kerberos) -> Iterator[Finding]:
    if kerberos.problem:
        yield error(
            _ABOUT,
            f"there is nothing to prove who this process is: {kerberos.problem}",
            "get a ticket by kinit, or log in by a keytab (howdah.client.keytab.file, KRB5KEYTAB)",
        )
    elif (
        kerberos.left_s is not None
        and kerberos.left_s < _ENDS_SOON_S
        and not (kerberos.keytab_principals)
    ):
        yield warning(
            _ABOUT,
            f"the ticket of {kerberos.principal} ends in {kerberos.left_s} s",
            "renew it (kinit -R), or log in by a keytab, which renews by itself",
        )


def _clock(kerberos: Kerberos) -> Iterator[Finding]:
    ahead_s = kerberos.kdc_ahead_s
    if ahead_s is None or abs(ahead_s) < _DRIFT_S:
        return
    text = (
        f"this machine's clock is {abs(ahead_s):.0f} s {'behind' if ahead_s > 0 else 'ahead of'} "
        "that of the KDC"
    )
    advice = f"set it by NTP: with {_SKEW_S:.0f} s (clockskew) no ticket is taken"
    yield (error if abs(ahead_s) >= _SKEW_S else warning)(_ABOUT, text, advice)


def _server(server: SecuredServer, kerberos: Kerberos) -> Iterator[Finding]:
    where = f"{server.name} at {server.address}"
    if server.problem:
        yield error(
            _ABOUT,
            f"{where} is not believed: {server.problem}",
            f"correct {keys.DFS_NAMENODE_KERBEROS_PRINCIPAL.name} here, or find out who answers",
        )
    if server.methods and "KERBEROS" not in server.methods and "TOKEN" not in server.methods:
        yield error(
            _ABOUT,
            f"{where} asks for no proof ({', '.join(server.methods)}), and this client gives one",
            f"set {keys.HADOOP_SECURITY_AUTHENTICATION.name} on both sides alike, or "
            f"{keys.IPC_CLIENT_FALLBACK_TO_SIMPLE_AUTH_ALLOWED.name} = true here",
        )
    if KERBEROS in server.methods and SIMPLE in server.methods:
        yield warning(
            _ABOUT,
            f"{where} believes everybody who shows no proof, beside tickets",
            f"take {keys.HOWDAH_SECURITY_TRANSITION.name} out there when all clients and servers "
            "have changed: its log says who comes without",
        )
    if server.protections is None:
        return
    is_datanode = not server.methods
    key = (keys.DFS_DATA_TRANSFER_PROTECTION if is_datanode else keys.HADOOP_RPC_PROTECTION).name
    if is_datanode and kerberos.encrypts_data:
        return
    mine = kerberos.data_protections if is_datanode else kerberos.rpc_protections
    offered = ",".join(server.protections)
    if is_datanode and not server.protections and mine:
        yield error(
            _ABOUT,
            f"{where} wants no SASL, and {key} = {','.join(mine)} here",
            f"take {key} out here, or set it for the datanode",
        )
    elif server.protections and not set(mine) & set(server.protections):
        yield error(
            _ABOUT,
            f"{where} offers the protections {offered}, and {key} = {','.join(mine) or 'nothing'} "
            "here",
            f"set {key} = {server.protections[0]} here, or add one of these at the server",
        )
