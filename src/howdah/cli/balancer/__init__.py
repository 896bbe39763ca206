"""`howdah balancer`: even out how full the datanodes are.

Mirrors `hdfs balancer` (Balancer.Cli): words, table and exit codes. The work is `howdah.balancer`.
What differs: `--json`, and progress where standard error is a terminal. There are no pages over
HTTP.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from howdah import errors
from howdah.balancer.state.termination import Result, Rounds, Status
from howdah.cli.balancer.args import USAGE, Wanted, WrongWords, parse_words
from howdah.cli.balancer.login import as_balancer
from howdah.cli.balancer.namespaces import uris
from howdah.cli.balancer.output import Output, time_text

if TYPE_CHECKING:
    from howdah.balancer.namenode import BalancedNamenode
    from howdah.config import Configuration

log = logging.getLogger(__name__)


def main(argv: list[str], conf: Configuration) -> int:
    """The exit code of `rounds.Status`."""
    if argv and argv[0] in ("-h", "-help", "--help"):
        print(USAGE)
        return 0
    try:
        wanted = parse_words(argv)
    except WrongWords as error:
        print(f"balancer: {error}\n{USAGE}", file=sys.stderr)
        return Status.ILLEGAL_ARGUMENTS.exit_code
    output = Output(is_json=wanted.json)
    why = ""
    try:
        run = _serve if wanted.is_service else _balance
        status = run(wanted, conf, output)
    except errors.InvalidConfiguration as wrong:
        status, why = Status.ILLEGAL_ARGUMENTS, f"java.lang.IllegalArgumentException: {wrong}"
    except errors.HowdahError as failure:
        status, why = Status.IO_EXCEPTION, f"{_java_name(failure)}: {failure}"
    output.end(status, why)
    return status.exit_code


def _java_name(error: errors.HowdahError) -> str:
    return error.java_class or "java.io.IOException"


def _serve(wanted: Wanted, conf: Configuration, output: Output) -> Status:
    """Again and again. Raises what failed once too often."""
    from howdah.balancer.settings import BalancerSettings

    settings = BalancerSettings.of(conf)
    failures = 0
    while True:
        try:
            status = _balance(wanted, conf, output)
            failures = 0
            log.info("this run has ended as %s", status.name)
        except errors.HowdahError as error:
            failures += 1
            if failures > settings.service_retries:
                raise
            log.warning("balancing failed, %d times one after the other: %s", failures, error)
        output.print_line(
            f"Finished one round, will wait for {time_text(settings.service_interval_s * 1000)} "
            "for next round"
        )
        time.sleep(settings.service_interval_s)


def _balance(wanted: Wanted, conf: Configuration, output: Output) -> Status:
    """Until all namespaces are balanced, or one cannot be."""
    from howdah.balancer.runner import Balancer, balance
    from howdah.balancer.settings import BalancerSettings
    from howdah.balancer.state.utilization import Rules

    settings = BalancerSettings.of(conf)
    if wanted.hot_interval_ms is not None:
        settings = replace(settings, hot_interval_ms=wanted.hot_interval_ms)
    rules = Rules(
        wanted.threshold,
        wanted.policy,
        wanted.lists,
        settings.most_bytes,
        wanted.fullest_first,
        wanted.most_over_utilized,
    )
    output.head()
    with _namenodes(conf, settings.lists_per_s, wanted.block_pools) as namenodes:
        rounds = [
            Rounds(wanted.max_idle, runs_during_upgrade=wanted.runs_during_upgrade)
            for _ in namenodes
        ]

        def report(index: int, result: Result) -> None:
            if result.status is Status.NO_MOVE_PROGRESS:
                output.idle(rounds[index].idle)
            if result.status is Status.UNFINALIZED_UPGRADE:
                print(
                    "Balancer exiting as upgrade is not finalized, please finalize the HDFS "
                    "upgrade before running the balancer.",
                    file=sys.stderr,
                )
            output.iteration(namenodes[index].uri, result)

        balancers = [
            Balancer(namenode, rules, its_rounds, settings, output.progress)
            for namenode, its_rounds in zip(namenodes, rounds, strict=True)
        ]
        status = balance(balancers, settings.pause_s, report)
        if status is Status.SUCCESS:
            output.print_line("The cluster is balanced. Exiting...")
        return status


@contextmanager
def _namenodes(
    conf: Configuration, lists_per_s: int, pools: frozenset[str]
) -> Iterator[list[BalancedNamenode]]:
    """Open the namespaces to balance, and keep other balancers away from them."""
    import howdah
    from howdah.balancer.namenode import BalancedNamenode
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

    with ExitStack() as stack:
        namenodes = []
        conf = as_balancer(conf)
        uri_by_pool: dict[str, str] = {}
        for uri in uris(conf):
            fs = stack.enter_context(howdah.connect(uri, conf=conf, laid_over=False))
            if not isinstance(fs, HdfsFileSystem):
                raise errors.InvalidConfiguration(f"{fs.uri} is no HDFS: it has no datanodes")
            namenode = BalancedNamenode(fs, lists_per_s=lists_per_s)
            stack.callback(namenode.close)
            uri_by_pool[namenode.pool_id] = fs.uri
            if pools and namenode.pool_id not in pools:
                log.info("block pool %s of %s is left out", namenode.pool_id, fs.uri)
                continue
            stack.enter_context(namenode.alone())
            namenodes.append(namenode)
        unknown = sorted(pools - uri_by_pool.keys())
        if unknown:
            raise errors.InvalidConfiguration(
                f"-blockpools names {', '.join(unknown)}; there are "
                + ", ".join(f"{pool} of {uri}" for pool, uri in uri_by_pool.items())
            )
        yield namenodes
