"""What lies in `deploy/`: each file says only what is there, and linters find nothing wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.main import COMMANDS
from howdah.config import Configuration
from howdah.config.keys.names.spelling import is_known
from howdah.config_generator import plan
from howdah.doctor.checks import examine
from howdah.doctor.inputs import Facts, Host

DEPLOY = Path(__file__).parents[3] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
COMPOSE = DEPLOY / "container" / "compose.yaml"
FIVE = tuple(f"node{number}" for number in range(1, 6))


def documents(path: Path) -> list[Any]:
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(path.read_text()))


def manifests() -> list[Any]:
    return [each for path in MANIFESTS for each in documents(path)]


def findings(conf: Configuration, machines: tuple[str, ...]) -> list[str]:
    conf.check_values()
    assert [name for name, _ in conf.items() if not is_known(name)] == []
    shared_edits = conf.raw("dfs.namenode.shared.edits.dir")
    assert shared_edits is not None
    seen = Facts(
        conf=conf,
        roles=frozenset({"namenode", "datanode", "journalnode"}),
        nameservices={"howdah": ("nn1", "nn2", "nn3")},
        hosts=tuple(Host(name, ("10.0.0.1",), n == 0, False) for n, name in enumerate(machines)),
        shared_edits={"howdah": tuple(shared_edits.split(","))},
        journal_nodes={"howdah": 3},
        clock_is_kept=True,
    )
    return [each.line() for each in examine(seen)]


def test_the_sample_is_what_init_writes_and_nothing_is_wrong_with_it() -> None:
    racks = {name: f"/r{2 - number % 2}" for number, name in enumerate(FIVE, 1)}
    wish = plan.Wish(FIVE, conf_dir="/etc/howdah", racks=racks, hosts_files=True)
    written = {path.name: path.read_text() for path in (DEPLOY / "conf").iterdir()}
    assert written == plan.files(wish, {})
    conf = Configuration.load(DEPLOY / "conf", environment=False)
    assert findings(conf, FIVE) == []


def test_nothing_is_wrong_with_the_configuration_of_kubernetes() -> None:
    (found,) = (each for each in manifests() if each["kind"] == "ConfigMap")
    conf = Configuration()
    for name, text in found["data"].items():
        conf = conf.with_site_file(text.encode(), source=name)
    hosts = tuple(f"namenode-{number}.namenode" for number in range(3))
    assert [each for each in findings(conf, hosts) if "[one rack]" not in each] == []
    services = {each["metadata"]["name"] for each in manifests() if each["kind"] == "Service"}
    named = re.findall(r"[a-z]+-\d\.([a-z]+):", "".join(found["data"].values()))
    assert set(named) <= services


def containers() -> Iterator[tuple[Any, Any]]:
    for each in manifests():
        if each["kind"] == "StatefulSet":
            pod = each["spec"]["template"]["spec"]
            for container in (*pod.get("initContainers", ()), *pod["containers"]):
                yield each, container


def test_containers_run_commands_that_exist_as_nobody_special() -> None:
    for stateful, container in containers():
        pod = stateful["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["readOnlyRootFilesystem"]
        for word in container.get("args", ()):
            assert COMMANDS[word].target is not None
        claims = {each["metadata"]["name"] for each in stateful["spec"]["volumeClaimTemplates"]}
        volumes = {each["name"] for each in pod["volumes"]} | claims
        assert {each["name"] for each in container["volumeMounts"]} <= volumes
        assert container["resources"]["requests"]
        assert container["resources"]["limits"]


def test_services_and_sets_find_their_pods_and_ports() -> None:
    sets = {each["metadata"]["name"]: each for each in manifests() if each["kind"] == "StatefulSet"}
    for each in manifests():
        if each["kind"] != "Service":
            continue
        stateful = sets[each["metadata"]["name"]]["spec"]
        labels = stateful["template"]["metadata"]["labels"]
        assert each["spec"]["selector"] == labels == stateful["selector"]["matchLabels"]
        assert stateful["serviceName"] == each["metadata"]["name"]
        assert each["spec"]["clusterIP"] == "None"
        ports = {
            port["containerPort"]
            for container in stateful["template"]["spec"]["containers"]
            for port in container["ports"]
        }
        assert {port["port"] for port in each["spec"]["ports"]} == ports


def test_the_compose_file_has_the_machines_of_the_sample() -> None:
    (found,) = documents(COMPOSE)
    assert tuple(found["services"]) == FIVE
    for name, each in found["services"].items():
        assert each["hostname"] == name
        assert all(COMMANDS[word].target for word in each["command"])
        assert f"{name}:/var/lib/howdah" in each["volumes"]
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", ()))
    with_namenode = [n for n, each in found["services"].items() if "namenode" in each["command"]]
    assert with_namenode == list(FIVE[:3])


def test_the_script_of_the_containers_is_plain_sh() -> None:
    script = DEPLOY / "container" / "start.sh"
    subprocess.run(["sh", "-n", script], check=True, timeout=60)
    assert script.stat().st_mode & 0o111


def test_the_containerfile_copies_what_is_there() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        for name in line.split()[:-1]:
            assert (DEPLOY.parent / name).exists()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_run_commands_that_exist(unit: Path) -> None:
    (command,) = re.findall(r"^ExecStart=\S+/howdah (\S+)$", unit.read_text(), re.MULTILINE)
    assert COMMANDS[command].target is not None
    assert unit.name == f"howdah-{command}.service"


def test_units_name_no_page_that_pip_does_not_install() -> None:
    assert [unit.name for unit in UNITS if "man:" in unit.read_text()] == []


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    assert UNITS
    copies = []
    for unit in UNITS:
        copies.append(tmp_path / unit.name)
        # The program is not there, and neither are manual pages.
        text = unit.read_text().replace("/opt/howdah/bin/howdah", shutil.which("true") or "")
        copies[-1].write_text(text)
    done = subprocess.run(
        [analyze, "verify", "--man=no", *copies], capture_output=True, text=True, timeout=110
    )
    ours = [line for line in done.stderr.splitlines() if "howdah" in line]
    assert ours == []


def test_yamllint_finds_nothing_wrong() -> None:
    yamllint = pytest.importorskip("yamllint")
    from yamllint import config, linter

    assert yamllint
    rules = config.YamlLintConfig(
        "extends: default\nrules:\n  line-length: {max: 120}\n  document-start: disable\n"
        "  braces: disable\n  comments: {min-spaces-from-content: 1}\n"
    )
    for path in (*MANIFESTS, COMPOSE):
        assert [str(each) for each in linter.run(path.read_text(), rules)] == []


def test_logs_that_are_rotated_are_cut_and_not_moved() -> None:
    text = (DEPLOY / "logrotate" / "howdah").read_text()
    assert "copytruncate" in text
    assert text.count("{") == text.count("}") == 1
