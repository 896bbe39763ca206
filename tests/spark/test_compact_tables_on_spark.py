"""Tables of Delta Lake and Iceberg, maintained by the Spark that their jars fit.

No release of either fits the newest Spark, so this one is of its own: PySpark and the jars are
fetched once, into the cache. Where that does not work, the test is skipped.

By Spark Connect the same is asked of a session at the other end of a wire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from howdah.java import NoJava, find_java_home
from tests.support.hadoop.jars import NoHadoop, table_jars
from tests.support.older_spark import pyspark_of

pytestmark = [pytest.mark.timeout(1800), pytest.mark.torture]

ROOT = Path(__file__).parents[2]
PYSPARK = "4.1.4"


@pytest.mark.parametrize("mode", ["classic", "connect"])
def test_tables_are_maintained_while_they_are_read_and_keep_their_histories(
    howdah_cluster: Any, mode: str
) -> None:
    older_spark = pyspark_of(PYSPARK)
    try:
        jars = table_jars(ROOT / ".cache")
        java_home = find_java_home()
    except (NoHadoop, NoJava) as error:
        pytest.skip(str(error))
    top = f"/tables_on_spark/{mode}"
    uri = f"{howdah_cluster.uri}{top}"
    with howdah_cluster.connect() as fs:
        fs.mkdirs("/user")
        for name in "ab":
            fs.write_bytes(f"{top}/logs/{name}.json", b"{}\n")
    program = Path(__file__).with_name("maintain_tables.py")
    done = subprocess.run(
        [sys.executable, "-P", str(program), uri, ",".join(map(str, jars)), mode],
        env={
            **os.environ,
            "JAVA_HOME": str(java_home),
            "HADOOP_CONF_DIR": str(howdah_cluster.conf_dir),
            "PYTHONPATH": f"{older_spark}:{ROOT / 'src'}:{ROOT}",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])

    preview = {table["format"]: table for table in seen["preview"]}
    compacted = {table["format"]: table for table in seen["compacted"]}
    assert set(compacted) == {"Delta Lake", "Iceberg"}
    for kind, table in compacted.items():
        assert (table["by"], table["reason"]) == ("Spark", "")
        assert table["files_before"] == preview[kind]["files_before"] >= 8
        assert table["bytes"] == preview[kind]["bytes"] > 0
        assert table["files_after"] < table["files_before"]
        assert table["version_before"] != table["version_after"]
    assert seen["directories"] == [f"{top}/logs"]
    assert seen["counts"] == [[40], [40]], "each reader saw all rows, all the time"
    assert seen["equal"]
    assert seen["equal_ordered"]
    assert seen["equal_cleaned"]
    assert seen["travelled"] == [True, True]

    ordered = {table["format"]: table for table in seen["z_order_by"]}
    assert "ZORDER BY (`id`, `name`)" in ordered["Delta Lake"]["steps"][0]
    assert "zorder(id, name)" in ordered["Iceberg"]["steps"][0]
    assert not any(table["reason"] for table in ordered.values())
    by_format = {table["format"]: table for table in seen["sort_by"]}
    assert "--z-order-by" in by_format["Delta Lake"]["reason"]
    assert by_format["Iceberg"]["files_after"] == 1

    assert not any(table["reason"] for table in seen["cleaned"])
    (orphans,) = seen["orphans"]
    assert "it was compacted, but then: " in orphans["reason"], "Iceberg keeps them for a day"
    assert "expire_snapshots" in orphans["steps"][-1]
    assert orphans["files_deleted"] > 0
    (expired,) = seen["expired"]
    assert not expired["reason"]
    assert expired["files_deleted"] is not None
    assert seen["snapshots"] == 1
    (misnamed,) = seen["misnamed"]
    assert f"not in {top}/iceberg/db/t" in misnamed["reason"]
    assert seen["settings"] == []
    avro = {"reason": "", "files": [5, 1], "is_same": True, "is_ordered": True}
    assert seen["avro"] == avro
