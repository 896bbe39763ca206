"""`howdah diskbalancer`: even out the volumes of a datanode.

Mirrors `hdfs diskbalancer` (DiskBalancerCLI): words, lines, files and exit codes; either program
reads the other's files. `args` understands what is asked for, `cluster` finds the datanodes and
keeps the files, `output` has the lines. Plans are made by `howdah.diskbalancer`, and carried out
by the datanode. What differs: `--json`, and a plan for a datanode that there is not leaves no
directory behind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.cli.diskbalancer import output
from howdah.cli.diskbalancer.args import DEFAULT_TOP, Asked, WrongWords, help_of, parse_words
from howdah.config import keys
from howdah.config.value_types import parse_decimal
from howdah.diskbalancer.plan_files import MalformedPlan, parse_plan, plan_id, plan_text
from howdah.diskbalancer.planner import NodePlan, plan
from howdah.diskbalancer.status import VOLUMES_KEY
from howdah.diskbalancer.volumes import DiskNode
from howdah.security.identity import user_of

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.fs.hdfs.administration import DatanodeAdministration

EXIT_FAILURE: Final = 1


def main(argv: list[str], conf: Configuration) -> int:
    """0, or 1 where it failed or the words are wrong."""
    try:
        asked = parse_words(argv)
        if asked.command == "help":
            print(help_of(asked.value))
            return 0 if argv else EXIT_FAILURE
        _COMMANDS[asked.command](asked, conf)
    except (WrongWords, MalformedPlan) as error:
        print(f"diskbalancer: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except errors.HowdahError as error:
        print(f"diskbalancer: {error.remote_class}: {error}", file=sys.stderr)
        return EXIT_FAILURE
    return 0


# --- the commands ---


def _plan(asked: Asked, conf: Configuration) -> None:
    from howdah.cli.diskbalancer.cluster import files_of, nodes_of

    threshold = asked.number("thresholdPercentage", float) or 0.0
    if not 0 < threshold <= 100:
        threshold = conf.get(keys.DFS_DISK_BALANCER_PLAN_THRESHOLD_PERCENT)
    bandwidth = asked.number("bandwidth", int) or 0
    max_errors = asked.number("maxerror", int) or 0
    nodes = nodes_of(conf)
    node = next((node for node in nodes if node.is_called(asked.value)), None)
    if node is None:
        raise WrongWords(f"Unable to find the specified node. {asked.value}")
    with_paths = _with_paths(node, conf)
    nodes = [with_paths if other is node else other for other in nodes]
    made = plan(
        with_paths,
        threshold,
        int(time.time() * 1000),
        bandwidth_mib=max(bandwidth, 0),
        max_disk_errors=max(max_errors, 0),
    )
    with files_of(conf, asked.options.get("out")) as files:
        before = files.write_before(asked.value, nodes)
        plan_file = files.write_plan(asked.value, plan_text(made)) if made.steps else None
    if asked.json:
        output.print_json(output.plan_json(made, threshold, before, plan_file))
        return
    if "v" in asked.options:
        print(output.plan_table(made))
    if plan_file is None:
        print(
            f"No plan generated. DiskBalancing not needed for node: {asked.value} "
            f"threshold used: {threshold}"
        )
    else:
        print(f"Writing plan to:\n{plan_file}")


def _execute(asked: Asked, conf: Configuration) -> None:
    text, made = _read_plan(asked.value, conf)
    with _datanode(f"{made.node_name}:{made.port}", conf) as datanode:
        datanode.submit_disk_balancer_plan(
            text, asked.value, skip_date_check="skipDateCheck" in asked.options
        )
    if asked.json:
        output.print_json({"plan_id": plan_id(text), "node": f"{made.node_name}:{made.port}"})


def _query(asked: Asked, conf: Configuration) -> None:
    names = sorted({name.strip() for name in asked.value.split(",") if name.strip()})
    if not names:
        raise WrongWords("The number of input nodes is 0. Please input the valid nodes.")
    default_port = conf.get(keys.DFS_DATANODE_IPC_ADDRESS)[1]
    statuses = []
    for name in names:
        place = name if output.PLACE.fullmatch(name) else f"{name}:{default_port}"
        with _datanode(place, conf) as datanode:
            statuses.append((place, datanode.disk_balancer_status()))
    if asked.json:
        output.print_json([output.status_json(place, status) for place, status in statuses])
    else:
        print(output.status_lines(asked.value.strip(), statuses, verbose="v" in asked.options))


def _cancel(asked: Asked, conf: Configuration) -> None:
    place = asked.options.get("node")
    if place is not None:
        wanted = asked.value
    else:
        text, made = _read_plan(asked.value, conf)
        place, wanted = f"{made.node_name}:{made.port}", plan_id(text)
    with _datanode(place, conf) as datanode:
        datanode.cancel_disk_balancer_plan(wanted)
    if asked.json:
        output.print_json({"plan_id": wanted, "node": place})


def _report(asked: Asked, conf: Configuration) -> None:
    from howdah.cli.diskbalancer.cluster import names_in, nodes_of

    nodes = nodes_of(conf)
    node_option = asked.options.get("node")
    if node_option is None:
        top, complaint = _top(asked)
        nodes.sort(key=lambda node: -node.density)
        shown = nodes[:top]
        if asked.json:
            output.print_json([output.node_json(node) for node in shown])
        else:
            print(output.top_lines(shown, complaint))
        return
    names = sorted(set(names_in(node_option)))
    unknown = [name for name in names if not any(node.is_called(name) for node in nodes)]
    chosen = [_with_paths(node, conf) for name in names for node in nodes if node.is_called(name)]
    if asked.json and not unknown:
        output.print_json([output.node_json(node) for node in chosen])
    elif asked.json:
        raise WrongWords(output.not_found(unknown))
    else:
        print(output.node_lines(node_option, chosen, unknown))


_COMMANDS: Final = {
    "plan": _plan,
    "execute": _execute,
    "query": _query,
    "cancel": _cancel,
    "report": _report,
}


def _top(asked: Asked) -> tuple[int, str]:
    """Return how many datanodes to list, and a message about a missing or wrong limit."""
    text = asked.options.get("top", "").strip()
    if not text:
        return DEFAULT_TOP, f"No top limit specified, using default top value {DEFAULT_TOP}."
    try:
        top = parse_decimal(text)
    except ValueError:
        return (
            DEFAULT_TOP,
            f"Top limit input is not numeric, using default top value {DEFAULT_TOP}.",
        )
    if top <= 0:
        raise WrongWords("Top limit input should be a positive numeric value")
    return top, ""


# --- datanodes ---


@contextmanager
def _datanode(place: str, conf: Configuration) -> Iterator[DatanodeAdministration]:
    from howdah.fs.hdfs.administration import DatanodeAdministration

    host, _, port = place.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise WrongWords(f"Does not contain a valid host:port authority: {place}")
    datanode = DatanodeAdministration((host.strip("[]"), int(port)), user_of(conf))
    try:
        yield datanode
    finally:
        datanode.close()


def _with_paths(node: DiskNode, conf: Configuration) -> DiskNode:
    """Ask the datanode for the directories of its volumes, which only it knows."""
    import json

    from howdah.cli.diskbalancer.cluster import is_local

    if is_local(conf):
        return node
    with _datanode(f"{node.ip}:{node.port}", conf) as datanode:
        text = datanode.disk_balancer_setting(VOLUMES_KEY)
    try:
        return node.with_paths({str(name): str(path) for name, path in json.loads(text).items()})
    except (ValueError, AttributeError) as error:
        raise errors.ProtocolViolation(
            f"{node.name} told of its volumes what cannot be read: {text[:200]!r}"
        ) from error


def _read_plan(path: str, conf: Configuration) -> tuple[str, NodePlan]:
    from howdah.cli.diskbalancer.cluster import read_file

    if not path:
        raise WrongWords("Invalid plan file specified.")
    text = read_file(conf, path)
    return text, parse_plan(text)
