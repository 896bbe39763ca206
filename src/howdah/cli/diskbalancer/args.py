"""The words behind `howdah diskbalancer` (pure).

DiskBalancerCLI.getOpts in Hadoop: options with one hyphen or two, in any order; each command has
options that belong to it, and complains of others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

N = TypeVar("N", int, float)

DEFAULT_TOP: Final = 100

COMMANDS: Final = ("plan", "execute", "query", "cancel", "report", "help")
"""If there are several, the last of them counts."""
_WITHOUT_VALUE: Final = frozenset(("v", "skipDateCheck", "report", "json"))
_WITH_VALUE: Final = frozenset(
    (
        "plan",
        "out",
        "bandwidth",
        "thresholdPercentage",
        "maxerror",
        "execute",
        "query",
        "cancel",
        "node",
        "top",
    )
)
_MAY_HAVE_VALUE: Final = "help"
_BELONGS: Final[dict[str, dict[str, str]]] = {
    "plan": {
        "plan": "Plan Command",
        "out": "Output directory in HDFS. The generated plan will be written to a file in this "
        "directory.",
        "bandwidth": "Maximum Bandwidth to be used while copying.",
        "thresholdPercentage": "Percentage skew that we tolerate before diskbalancer starts "
        "working.",
        "maxerror": "Max errors to tolerate between 2 disks",
        "v": "Run plan command in verbose mode.",
    },
    "execute": {
        "execute": "Executes a given plan.",
        "skipDateCheck": "skips the date check and force execute the plan",
    },
    "query": {
        "query": "Queries the status of disk plan running on given datanode(s).",
        "v": "Prints verbose results.",
    },
    "cancel": {
        "cancel": "Cancels a running plan.",
        "node": "Node to run the command against in node:port format.",
    },
    "report": {
        "report": "Report volume information of nodes.",
        "top": f"Top number of nodes to be processed. Default: {DEFAULT_TOP}",
        "node": "Print out volume information for DataNode(s).",
    },
    "help": {"help": "Help Command"},
}
_MOST_OTHER_WORDS: Final = 2

USAGE: Final = """\
Usage: howdah diskbalancer
\t[-plan <hostname> [-out <dir>] [-bandwidth <MB/s>] [-thresholdPercentage <percent>] \
[-maxerror <count>] [-v]]
\t[-execute <planfile> [-skipDateCheck]]
\t[-query <hostname,hostname,...> [-v]]
\t[-cancel <planfile> | -cancel <planID> -node <hostname:port>]
\t[-report [-top <count>] [-node <file://> | <DataNodeID|IP|Hostname,...>]]
\t[-help [plan | execute | query | cancel | report]]
\t[--json]"""

_HELP: Final = {
    "plan": """\
usage: howdah diskbalancer -plan <hostname> [options]
Says how much data is to go from which volume of a datanode to which, and writes that into a file,
which -execute has the datanode do. Beside it, NODE.before.json has how full all volumes were.

  -plan <node>                  host name, IP address or UUID of the datanode
  -out <dir>                    the directory for the files, in HDFS
                                (/system/diskbalancer/<date>)
  -bandwidth <MB/s>             at most so much is moved in a second
                                (dfs.disk.balancer.max.disk.throughputInMBperSec of the datanode)
  -thresholdPercentage <P>      how far from the mean a volume may be, of its room
                                (dfs.disk.balancer.plan.threshold.percent: 10)
  -maxerror <count>             how many moves between two volumes may fail
                                (dfs.disk.balancer.max.disk.errors of the datanode)
  -v                            print the plan, too
  --json                        print the plan as JSON""",
    "execute": """\
usage: howdah diskbalancer -execute <planfile> [-skipDateCheck]
Has the datanode begin with a plan, and returns. -query says how far it is.

  -execute <planfile>           the file that -plan has written
  -skipDateCheck                also a plan that is older than dfs.disk.balancer.plan.valid.interval
  --json                        print the id of the plan""",
    "query": """\
usage: howdah diskbalancer -query <hostname,hostname,...> [-v]
Says which plan each datanode has, and how far it is.

  -query <nodes>                hosts, or host:port pairs, of datanodes
  -v                            say how far each move is
  --json                        print all that as JSON""",
    "cancel": """\
usage: howdah diskbalancer -cancel <planfile> | -cancel <planID> -node <hostname:port>
Ends a plan that is at work. What has been moved stays moved.

  -cancel <plan>                the file of the plan, or its id, as -query says it
  -node <host:port>             with an id: the datanode that has the plan
  --json                        print what was cancelled""",
    "report": """\
usage: howdah diskbalancer -report [options]
Lists the datanodes whose volumes are the most uneven, or the volumes of some.

  -top <count>                  how many datanodes (100)
  -node <nodes>                 UUIDs, IP addresses or host names, or a file:// with them
  --json                        print the volumes as JSON""",
}


class WrongWords(Exception):
    """What is wrong with the words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for."""

    command: str
    value: str
    options: dict[str, str] = field(default_factory=dict)
    json: bool = False

    def number(self, name: str, kind: Callable[[str], N]) -> N | None:
        """The value of an option. Raises `WrongWords`."""
        text = self.options.get(name)
        if text is None:
            return None
        try:
            return kind(text)
        except ValueError:
            raise WrongWords(f'For input string: "{text}"') from None


def help_of(command: str) -> str:
    """Of one command, or of all."""
    return _HELP.get(command.strip().lower(), USAGE)


def parse_words(argv: list[str]) -> Asked:
    """Raises `WrongWords`."""
    options: dict[str, str] = {}
    others = []
    words = list(argv)
    while words:
        word = words.pop(0)
        name = _option_in(word)
        if name is None:
            if word.startswith("-") and len(word) > 1:
                raise WrongWords(f"Unrecognized option: {word}\n{USAGE}")
            others.append(word)
        elif name in _WITHOUT_VALUE:
            options[name] = ""
        elif words and _option_in(words[0]) is None:
            options[name] = words.pop(0)
        elif name == _MAY_HAVE_VALUE:
            options[name] = ""
        else:
            raise WrongWords(f"Missing argument for option: {name}")
    if len(others) > _MOST_OTHER_WORDS:
        raise WrongWords(f"Invalid or extra Arguments: [{', '.join(others[_MOST_OTHER_WORDS:])}]")
    is_json = "json" in options
    options.pop("json", None)
    command = next((name for name in reversed(COMMANDS) if name in options), "help")
    _check_belonging(command, options)
    return Asked(command, options.get(command, ""), options, is_json)


def _option_in(word: str) -> str | None:
    if not word.startswith("-"):
        return None
    name = word[2:] if word.startswith("--") else word[1:]
    known = name in _WITH_VALUE or name in _WITHOUT_VALUE or name == _MAY_HAVE_VALUE
    return name if known else None


def _check_belonging(command: str, options: dict[str, str]) -> None:
    valid = _BELONGS[command]
    for name in options:
        if name not in valid:
            lines = "".join(f"\t {option} : {text} \n" for option, text in valid.items())
            raise WrongWords(
                f"Invalid argument found for command {command} : {name}\n"
                f"Valid arguments are : \n{lines}Invalid Arguments found."
            )
