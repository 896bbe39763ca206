"""Hadoop's commands, run one after the other in one JVM that stays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from howdah.java import find_java_home
from howdah.testing.spark import JAVA_OPTIONS

TOOLS: Final = {
    "dfs": "org.apache.hadoop.fs.FsShell",
    "dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
    "ec": "org.apache.hadoop.hdfs.tools.ECAdmin",
    "crypto": "org.apache.hadoop.hdfs.tools.CryptoAdmin",
    "fsck": "org.apache.hadoop.hdfs.tools.DFSck",
    "debug": "org.apache.hadoop.hdfs.tools.DebugAdmin",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


class HadoopCommands:
    """`hdfs COMMAND …`, with the configuration of a cluster."""

    def __init__(self, jars: str, conf_dir: Path, scratch: Path) -> None:
        """`jars` is the class path of Hadoop's servers. Raises `NoJava`."""
        import pyspark
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        logging = scratch / "quiet.properties"
        logging.write_text("status = off\nrootLogger.level = off\n")
        (scratch / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
        (py4j,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
        port = launch_gateway(
            classpath=os.pathsep.join([str(scratch), str(conf_dir), jars, str(py4j)]),
            javaopts=[*JAVA_OPTIONS, f"-Dlog4j2.configurationFile={logging.as_uri()}"],
            java_path=str(find_java_home() / "bin" / "java"),
            die_on_exit=True,
        )
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self.jvm: Any = self.gateway.jvm

    def __call__(self, command: str, *arguments: str) -> Outcome:
        jvm, system = self.jvm, self.jvm.java.lang.System
        conf = jvm.org.apache.hadoop.hdfs.HdfsConfiguration()
        out, err = jvm.java.io.ByteArrayOutputStream(), jvm.java.io.ByteArrayOutputStream()
        before = system.out, system.err
        system.setOut(jvm.java.io.PrintStream(out, True, "UTF-8"))
        system.setErr(jvm.java.io.PrintStream(err, True, "UTF-8"))
        try:
            kind = conf.getClassByName(TOOLS[command])
            if command == "dfs":
                tool = jvm.org.apache.hadoop.fs.FsShell()
                tool.setConf(conf)
            else:
                given = self.gateway.new_array(jvm.java.lang.Object, 1)
                given[0] = conf
                (constructor,) = (
                    each for each in kind.getConstructors() if each.getParameterCount() == 1
                )
                tool = constructor.newInstance(given)
            words = self.gateway.new_array(jvm.java.lang.String, len(arguments))
            for place, word in enumerate(arguments):
                words[place] = word
            code = jvm.org.apache.hadoop.util.ToolRunner.run(conf, tool, words)
        finally:
            system.setOut(before[0])
            system.setErr(before[1])
        texts = [bytes(stream.toByteArray()).decode() for stream in (out, err)]
        return Outcome(code % 256, *texts)

    def close(self) -> None:
        self.gateway.shutdown()
