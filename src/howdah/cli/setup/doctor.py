"""`howdah doctor`: which build this is, what is wrong with this installation, in a line each, and
what to do.

It looks at the configuration that a server here would have, at this machine, and at the
namenodes. Run it on each machine, as the user that runs the servers, before they start and
whenever something is odd.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from howdah.cli.arguments.parser import Arguments

if TYPE_CHECKING:
    from howdah.config import Configuration


def arguments() -> Arguments:
    """The options of `howdah doctor`."""
    from howdah.doctor.inputs import ROLES

    parser = Arguments(
        prog="howdah doctor",
        description="Look at configuration, ports, limits, clock, disks and namenodes, and say in "
        "a line each what is wrong and what to do.",
        epilog="Exit codes: 0 no error was found (with --strict: nothing at all), 1 otherwise.",
    )
    parser.add_argument(
        "--role",
        action="append",
        choices=ROLES,
        help="a server that this machine runs (default: what the configuration says)",
    )
    parser.add_argument(
        "--offline", action="store_true", help="ask no other server; look at this machine alone"
    )
    parser.add_argument("--strict", action="store_true", help="a warning is a failure, too")
    parser.add_argument("--json", action="store_true", help="print one object")
    return parser


def main(argv: list[str], conf: Configuration) -> int:
    """Examine this machine, print the findings, and return the exit code."""
    options = arguments().parse_args(argv)
    from howdah.doctor.checks import examine
    from howdah.doctor.collect import gather
    from howdah.doctor.findings import exit_code

    facts = gather(conf, options.role, asks=not options.offline)
    findings = examine(facts)
    code = exit_code(findings, strict=options.strict)
    if options.json:
        document = {
            "build": None if facts.build is None else facts.build.as_dict(),
            "roles": sorted(facts.roles),
            "kerberos": None if facts.kerberos is None else asdict(facts.kerberos),
            "findings": [finding.as_dict() for finding in findings],
            "exitCode": code,
        }
        print(json.dumps(document))
        return code
    for line in [] if facts.build is None else facts.build.lines():
        print(line)
    for line in [] if facts.kerberos is None else facts.kerberos.lines():
        print(f"kerberos: {line}")
    for finding in findings:
        print(finding.line())
    if not findings:
        servers = ", ".join(sorted(facts.roles)) or "no server"
        print(f"nothing is wrong ({servers} on this machine)")
    return code
