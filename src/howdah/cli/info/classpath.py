"""`howdah classpath`: what a Java program has to have on its class path to find this cluster.

Words and exit codes are those of `hdfs classpath` (Classpath in Hadoop). There are no jars of
howdah's: what a script gets is the configuration directory, which it puts before Hadoop's own jars
or Spark's. `--glob` has nothing to expand; `--jar` makes a jar whose manifest names the directory.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import Final
from urllib.parse import quote

from howdah.cli.arguments.usage import EXIT_FAILURE
from howdah.config import Configuration

USAGE: Final = """\
classpath [--glob|--jar <path>|-h|--help] :
  Prints what a Java client needs on its class path for this cluster: the directory of its
  configuration. Jars of Hadoop's client are not part of howdah.
  Options:

  --glob       expand wildcards (there are none)
  --jar <path> write classpath as manifest in jar named <path>
  -h, --help   print help
"""
_LINE_BYTES: Final = 72
"""The most that a line of a manifest may have, its end included."""


def main(argv: list[str], conf: Configuration) -> int:
    """0, or 1 where there is nothing to print or the words are wrong."""
    if argv and argv[0] in ("-h", "-help", "--help"):
        print(USAGE)
        return 0
    option = argv[0] if argv else "--glob"
    if option not in ("--glob", "-glob", "--jar", "-jar"):
        return _complain("unrecognized option")
    if option.endswith("jar") and len(argv) < 2:
        return _complain("-jar option requires path of jar file to write")
    if conf.directory is None:
        return _complain(
            "there is no configuration directory: name it with --conf or HADOOP_CONF_DIR"
        )
    directory = os.path.abspath(conf.directory)
    if option.endswith("jar"):
        write_jar(Path(argv[1]), directory)
    else:
        print(directory)
    return 0


def _complain(message: str) -> int:
    print(f"classpath: {message}", file=sys.stderr)
    return EXIT_FAILURE


def write_jar(path: Path, directory: str) -> None:
    """A jar with nothing in it but the name of the directory. Raises `OSError`."""
    text = _folded("Manifest-Version: 1.0") + _folded(f"Class-Path: file:{quote(directory)}/")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("META-INF/MANIFEST.MF", text + "\r\n")


def _folded(line: str) -> str:
    """The line, continued with a blank where it is too long."""
    most = _LINE_BYTES - 2
    parts = [line[:most]]
    parts += [" " + line[at : at + most - 1] for at in range(most, len(line), most - 1)]
    return "".join(f"{part}\r\n" for part in parts)
