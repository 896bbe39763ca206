"""Copies below `/.reserved/raw`: cipher text as it is, and what says how it is encrypted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from howdah.copy.layout import InvalidInput
from howdah.namenode.state.tree.encryption_zones import file_attribute, zone_attribute
from howdah.protocol.encryption_zones.messages import EncryptedKey
from tests.support.hadoop.distcp import HadoopDistCp

pytestmark = pytest.mark.timeout(240)

RAW: Final = "/.reserved/raw"
ZONE_NAME: Final = "raw.hdfs.crypto.encryption.zone"
FILE_NAME: Final = "raw.hdfs.crypto.file.encryption.info"
KEY: Final = EncryptedKey("payroll", "payroll@0", bytes(range(16)), bytes(16))
ZONE: Final = zone_attribute("payroll").value
FILE: Final = file_attribute(KEY).value


@pytest.fixture
def zone(bench: Any) -> Iterator[str]:
    """A zone as a copy from elsewhere has it; this cluster has no key servers."""
    path = str(bench.path("zone"))
    bench.fs.mkdirs(f"{path}/d")
    for name in ("a", "d/b"):
        with bench.fs.create(f"{RAW}{path}/{name}") as out:
            out.write(name.encode() * 1000)
        bench.fs.set_xattr(f"{RAW}{path}/{name}", FILE_NAME, FILE)
        bench.fs.set_xattr(f"{RAW}{path}/{name}", "user.mark", b"1")
    bench.fs.set_xattr(f"{RAW}{path}", ZONE_NAME, ZONE)
    yield path
    bench.fs.delete(bench.root, recursive=True)


def _found(bench: Any, path: str) -> dict[str, Any]:
    """Attributes and bytes of the copy."""
    fs = bench.fs
    found: dict[str, Any] = {"": fs.get_xattrs(f"{RAW}{path}")}
    for name in ("a", "d/b"):
        whole = f"{RAW}{path}/{name}"
        found[name] = (fs.read_bytes(whole), fs.get_xattrs(whole))
    return found


@pytest.mark.parametrize("options", [[], ["-px"], ["-update"], ["-update", "-updateRoot", "-px"]])
def test_raw_attributes_are_kept_as_hadoop_keeps_them(
    bench: Any, java: HadoopDistCp, run_cli: Any, zone: str, options: list[str]
) -> None:
    uri = bench.cluster.uri
    source = f"{uri}{RAW}{zone}"
    copies = [str(bench.path(name)) for name in ("ours", "theirs")]
    assert run_cli(*options, source, f"{uri}{RAW}{copies[0]}") == 0
    assert java.run([*options, source, f"{uri}{RAW}{copies[1]}"]).exit_code == 0
    ours, theirs = (_found(bench, path) for path in copies)
    assert ours == theirs
    assert ours["d/b"][1][FILE_NAME] == FILE
    keeps_root = not options or "-updateRoot" in options or options == ["-px"]
    assert (ours[""].get(ZONE_NAME) == ZONE) is keeps_root


@pytest.mark.parametrize("sides", [(RAW, ""), ("", RAW)])
def test_raw_goes_to_raw_alone(bench: Any, zone: str, sides: tuple[str, str]) -> None:
    uri = bench.cluster.uri
    with pytest.raises(InvalidInput, match="Either all or none of the paths must have this prefix"):
        bench.copy(f"{uri}{sides[0]}{zone}/d", f"{uri}{sides[1]}{zone}-copy")
