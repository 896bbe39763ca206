"""What servers of this machine need for HTTPS (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import Facts

DAYS_AHEAD: Final = 30.0
_DAY_S: Final = 86400.0


def check(facts: Facts) -> Iterator[Finding]:
    certificate = facts.certificate
    if certificate is None:
        return
    if certificate.problem:
        yield error(
            "TLS",
            f"servers here have no certificate, and do not start: {certificate.problem}",
            "mend that file, or leave dfs.http.policy at HTTP_ONLY",
        )
    for path in certificate.open_to_all:
        yield warning(
            "TLS",
            f"{path} can be read by everybody on this machine, and lets them have the key",
            f"chmod 600 {path}",
        )
    if certificate.left_s is None:
        return
    days = certificate.left_s / _DAY_S
    if days < 0:
        yield error(
            "TLS",
            f"the certificate in {certificate.path} ended {-days:.0f} days ago: no client believes "
            "it",
            "put a new one there; servers take it while they run",
        )
    elif days < DAYS_AHEAD:
        yield warning(
            "TLS",
            f"the certificate in {certificate.path} ends in {days:.0f} days",
            "put a new one there; servers take it while they run",
        )
