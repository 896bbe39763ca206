"""The developer's script, as far as it can be had without making an environment."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "dev"), *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_no_command_shows_the_usage() -> None:
    assert dev().stdout.startswith("Usage: ./dev COMMAND")


def test_unknown_command_fails() -> None:
    shown = dev("nonsense")
    assert shown.returncode == 2
    assert shown.stderr.startswith("Usage: ./dev COMMAND")


@pytest.mark.parametrize("script", ["dev", ".ci/run"])
def test_script_is_plain_sh(script: str) -> None:
    subprocess.run(["sh", "-n", str(ROOT / script)], check=True, timeout=60)
    assert (ROOT / script).read_text().startswith("#!/bin/sh\n")


# Packages that come with another one, or have another name in the package index.
COMES_WITH = {
    "boto3": "moto",
    "yaml": "yamllint",
    "flask": "flask-cors",
    "grpc_status": "pyspark",
    "jsonschema": "check-jsonschema",
    "mlflow": "mlflow-skinny",
    "mypyc": "mypy",
    "opentelemetry": "opentelemetry-sdk",
    "py4j": "pyspark",
    "tqdm": "datasets",
    "upath": "universal-pathlib",
    "xdist": "pytest-xdist",
    "zstandard": "pyspark",
}


def test_what_tests_are_skipped_without_is_installed_for_development() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    wanted = [*extras["dev"]]
    for extra in re.findall(r"howdah\[([\w,]+)\]", " ".join(wanted))[0].split(","):
        wanted += extras[extra]
    installed = {re.split(r"[\[<>=]", each)[0] for each in wanted}
    missing = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for module in re.findall(r'\bimportorskip\("([\w.]+)"', path.read_text()):
            package = module.partition(".")[0]
            package = COMES_WITH.get(package, package.replace("_", "-"))
            if package not in installed:
                missing.add((path.name, module))
    assert missing == set()
