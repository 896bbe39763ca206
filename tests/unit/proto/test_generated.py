from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import howdah

SOURCE = Path(howdah.__file__).parent.parent
PROTOS = sorted((SOURCE / "howdah" / "proto").glob("*.proto"))
# What `./dev proto` uses; another version writes other text.
COMPILER = "1.73.1"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        found = version("grpcio-tools")
    except PackageNotFoundError:
        found = "none"
    if found != COMPILER:
        pytest.skip(f"needs grpcio-tools {COMPILER}, there is {found}")
    target = tmp_path_factory.mktemp("generated")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{SOURCE}"]
    command += [f"--python_out={target}", f"--pyi_out={target}", *map(str, PROTOS)]
    subprocess.run(command, check=True, timeout=60)
    return target / "howdah" / "proto"


@pytest.mark.parametrize("proto", PROTOS, ids=lambda path: path.stem)
@pytest.mark.parametrize("suffix", ["_pb2.py", "_pb2.pyi"])
def test_generated_module_is_that_of_its_proto(proto: Path, suffix: str, generated: Path) -> None:
    name = proto.stem + suffix
    assert (proto.parent / name).read_text() == (generated / name).read_text(), "run ./dev proto"


@pytest.mark.parametrize("proto", PROTOS, ids=lambda path: path.stem)
def test_generated_module_runs_on_the_oldest_runtime_that_is_allowed(proto: Path) -> None:
    text = (proto.parent / f"{proto.stem}_pb2.py").read_text()
    called = text.partition("ValidateProtobufRuntimeVersion(")[2].partition(")")[0]
    assert [word.strip() for word in called.split(",")[1:4]] == ["6", "31", "0"]
