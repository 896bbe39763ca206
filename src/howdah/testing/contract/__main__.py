"""`python -m howdah.testing.contract URI`: hold a filesystem against the contract."""

from __future__ import annotations

import argparse
import sys
import uuid

import howdah
from howdah.testing.contract import Traits, check_filesystem


def main(arguments: list[str] | None = None) -> int:
    """Print the report; 0 if the contract is kept, 1 if it isn't."""
    parser = argparse.ArgumentParser(
        prog="python -m howdah.testing.contract",
        description="Hold a filesystem against the stream contract.",
    )
    parser.add_argument("uri", help="such as hdfs://127.0.0.1:8020; its path, if any, is the root")
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME", help="checks or topics")
    parser.add_argument(
        "--without",
        nargs="*",
        default=(),
        metavar="TRAIT",
        choices=sorted(Traits.__dataclass_fields__),
        help=f"what not to expect: {', '.join(sorted(Traits.__dataclass_fields__))}",
    )
    options = parser.parse_args(arguments)
    traits = Traits(**dict.fromkeys(options.without, False))
    with howdah.connect(options.uri) as fs, howdah.connect(options.uri) as other:
        root = f"/tmp/howdah-contract-{uuid.uuid4().hex[:8]}"
        report = check_filesystem(
            fs, root, other=other, traits=traits, only=options.only, strict=False
        )
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
