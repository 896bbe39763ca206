"""Our images, read by Hadoop's own offline viewer (`hdfs oiv -p XML`)."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.namenode.image import write_image
from howdah.namenode.namespace import Namespace
from howdah.storage import edits as ed

pytestmark = pytest.mark.timeout(700)

VIEWER = "org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB"
OWNED = ed.Permission("zoë", "staff", 0o750)
BLOCKS = (ed.EditBlock(1073741825, 1024, 1001), ed.EditBlock(1073741826, 17, 1002))


def namespace() -> Namespace:
    made = Namespace()
    for edit in (
        ed.SetOwnerOp("/", "root", "supergroup"),
        ed.MkdirOp(16386, "/é漢😀 &<b>", 4, OWNED),
        ed.AddOp(16387, "/é漢😀 &<b>/open", 3, 5, 5, 1024, OWNED, "DFSClient_1", "h", BLOCKS),
        ed.SymlinkOp(16388, "/link", "/target", 4, 5, OWNED),
        ed.SetGenstampV2Op(1002),
        ed.AllocateBlockIdOp(1073741826),
    ):
        made.apply(edit)
    return made


@pytest.mark.parametrize("codec", ["", "org.apache.hadoop.io.compress.GzipCodec"])
def test_hadoops_viewer_shows_our_image(
    codec: str, hadoop_run: Callable[..., str], tmp_path: Path
) -> None:
    out = io.BytesIO()
    write_image(namespace(), 7, 42, out, codec=codec)
    image = tmp_path / "fsimage_0000000000000000042"
    image.write_bytes(out.getvalue())
    shown = tmp_path / "image.xml"
    hadoop_run(VIEWER, "-p", "XML", "-i", image, "-o", shown)
    root = ET.parse(shown).getroot()
    assert [
        (node.findtext("type"), node.findtext("name"), node.findtext("permission"))
        for node in root.findall("INodeSection/inode")
    ] == [
        ("DIRECTORY", "", "root:supergroup:0755"),
        ("SYMLINK", "link", "zoë:staff:0750"),
        ("DIRECTORY", "é漢😀 &<b>", "zoë:staff:0750"),
        ("FILE", "open", "zoë:staff:0750"),
    ]
