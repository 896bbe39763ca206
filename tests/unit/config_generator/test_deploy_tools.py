"""What lies in `deploy/` is held by the tools that will read it, or by their own schemas."""

from __future__ import annotations

import grp
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
CONTAINERFILE = DEPLOY / "container" / "Containerfile"
KUBERNETES = ("1.28", "1.31")

ALLOWED = {
    "DL3008": "which versions there are is said by the repository of the base image",
    "DL3013": "what is installed was built one line above, and nothing is fetched",
}
"""What the linter of containers finds and we keep."""

MOST_EXPOSED = 25
"""Tenths, of systemd's scale from 0 (safe) to 10; services that nobody restricted have 9.6."""


def program(name: str) -> str:
    """A program of this environment, or of the system."""
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=110
    )


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_have_the_form_that_kubernetes_wants(path: Path, version: str) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    yaml = pytest.importorskip("yaml")
    for document in yaml.safe_load_all(path.read_text()):
        # Strict: a word that the schema does not know is an error as well.
        validate.validate(document, version, strict=True)


def test_a_manifest_with_a_misspelt_word_would_be_found() -> None:
    validate = pytest.importorskip("kubernetes_validate")
    yaml = pytest.importorskip("yaml")
    (stateful,) = (
        each
        for each in yaml.safe_load_all((DEPLOY / "kubernetes" / "datanodes.yaml").read_text())
        if each["kind"] == "StatefulSet"
    )
    stateful["spec"]["replica"] = stateful["spec"].pop("replicas")
    with pytest.raises(validate.ValidationError):
        validate.validate(stateful, KUBERNETES[0], strict=True)


def schema_of_compose() -> Any:
    package = pytest.importorskip("check_jsonschema")
    vendored = Path(package.__file__).parent / "builtin_schemas" / "vendor"
    return json.loads((vendored / "compose-spec.json").read_text())


def test_the_compose_file_has_the_form_of_the_specification() -> None:
    schema = schema_of_compose()
    yaml = pytest.importorskip("yaml")
    jsonschema = pytest.importorskip("jsonschema")
    found = yaml.safe_load((DEPLOY / "container" / "compose.yaml").read_text())
    jsonschema.validate(found, schema)
    found["services"]["node1"]["volume"] = found["services"]["node1"].pop("volumes")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)


def test_the_linter_of_containers_finds_nothing() -> None:
    ignored = [word for rule in ALLOWED for word in ("--ignore", rule)]
    done = run(program("hadolint"), *ignored, CONTAINERFILE)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_container_runs_as_a_number() -> None:
    """`runAsNonRoot` of Kubernetes cannot judge a name."""
    text = CONTAINERFILE.read_text()
    (user,) = re.findall(r"^USER (.*)$", text, re.MULTILINE)
    assert f"--uid {int(user)} " in text


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_are_restricted(unit: Path) -> None:
    done = run(
        program("systemd-analyze"),
        "security",
        "--offline=true",
        "--no-pager",
        f"--threshold={MOST_EXPOSED}",
        unit,
    )
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze judges no files")
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if line.startswith(("✗", "→"))
    )


def test_logrotate_reads_its_configuration(tmp_path: Path) -> None:
    logrotate = program("logrotate")
    # The user howdah comes with an installation; here it is whoever runs the tests.
    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    text = (DEPLOY / "logrotate" / "howdah").read_text()
    assert "su howdah howdah\n" in text
    configuration = tmp_path / "howdah"
    configuration.write_text(text.replace("su howdah howdah\n", f"su {user} {group}\n"))
    configuration.chmod(0o644)
    done = run(logrotate, "--debug", "--state", tmp_path / "state", configuration)
    assert done.returncode == 0, done.stderr
    assert "error:" not in done.stderr


def test_expressions_of_alerts_and_of_the_dashboard_are_promql() -> None:
    promql = pytest.importorskip("promql_parser")
    yaml = pytest.importorskip("yaml")
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    board = json.loads((DEPLOY / "grafana" / "howdah.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            # What Grafana fills in before it asks.
            found.append(re.sub(r"\$(\{\w+\}|\w+)", "5m", target["expr"]))
    assert len(found) > 20
    for each in found:
        promql.parse(each)


def test_wheels_are_made_for_one_python_each_system() -> None:
    pytest.importorskip("cibuildwheel")
    done = run(
        sys.executable,
        "-m",
        "cibuildwheel",
        "--print-build-identifiers",
        "--platform",
        "linux",
        "--archs",
        "x86_64",
        ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["cp311-manylinux_x86_64", "cp311-musllinux_x86_64"]
