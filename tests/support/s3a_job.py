"""A Spark job on `s3a://` of a gateway, as a program: JARS URL KEY SECRET BUCKET.

It prints one line, JSON of what it has found.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

ROWS = 10_000
PARTS = 3


def main(jars: str, url: str, access_key: str, secret_key: str, bucket: str) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.driver.extraClassPath": jars,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.hadoop.fs.s3a.endpoint": url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": access_key,
        "spark.hadoop.fs.s3a.secret.key": secret_key,
        "spark.hadoop.fs.s3a.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
        ),
        # Parts of an object before there is 64 MiB of it.
        "spark.hadoop.fs.s3a.multipart.size": "5M",
    }
    builder = SparkSession.builder.master("local[2]").appName("s3a")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        found = {
            "tables": tables(spark, f"s3a://{bucket}/spark"),
            "committed": committed(spark, f"s3a://{bucket}/magic"),
            "shell": shell(spark, f"s3a://{bucket}/shell"),
        }
    finally:
        spark.stop()
    print(json.dumps(found))


def tables(spark: Any, place: str) -> dict[str, int]:
    """Of a table in partitions, which is written twice, and added to."""
    rows = spark.range(ROWS).selectExpr("id", f"id % {PARTS} AS k")
    for mode in ("errorifexists", "overwrite", "append"):
        rows.write.mode(mode).partitionBy("k").parquet(f"{place}/t")
    one = spark.read.parquet(f"{place}/t").where("k = 1")
    return {"rows": spark.read.parquet(f"{place}/t").count(), "rows of one": one.count()}


def committed(spark: Any, place: str) -> int:
    """The lines of an output whose tasks begin uploads that the job completes."""
    lines = spark.sparkContext.parallelize([(None, str(number)) for number in range(ROWS)], PARTS)
    lines.saveAsNewAPIHadoopFile(
        place,
        "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
        "org.apache.hadoop.io.NullWritable",
        "org.apache.hadoop.io.Text",
        conf={
            "fs.s3a.committer.name": "magic",
            "mapreduce.outputcommitter.factory.scheme.s3a": (
                "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
            ),
        },
    )
    return int(spark.sparkContext.textFile(place).count())


def shell(spark: Any, place: str) -> list[int]:
    """The exit codes of commands of Hadoop's shell."""
    jvm = spark.sparkContext._jvm
    hadoop = jvm.org.apache.hadoop
    runner = hadoop.fs.FsShell(spark.sparkContext._jsc.hadoopConfiguration())
    commands = [
        ["-mkdir", "-p", f"{place}/a/b"],
        ["-cp", f"{place}-source/large", f"{place}/a/large"],
        ["-mv", f"{place}/a", f"{place}/moved"],
        ["-test", "-d", f"{place}/moved/b"],
        ["-test", "-e", f"{place}/a"],
        ["-touchz", f"{place}/moved/empty"],
        ["-ls", "-R", place],
        ["-rm", "-r", "-skipTrash", f"{place}/moved/b"],
    ]
    codes = []
    for words in commands:
        arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.String, len(words))
        for index, word in enumerate(words):
            arguments[index] = word
        codes.append(int(hadoop.util.ToolRunner.run(runner, arguments)))
    return codes


if __name__ == "__main__":
    main(*sys.argv[1:])
