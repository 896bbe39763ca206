"""Secured clusters of which some servers are this project's."""

from __future__ import annotations

from pathlib import Path

from tests.support.security.secured_hadoop import SecuredHadoop


class OurSecuredNamenode(SecuredHadoop):
    """As `SecuredHadoop`, with another namenode."""

    def _format(self) -> None:
        self._servers.run_ours("format", "namenode", self.conf_dir, "-format")

    def _start_namenode(self) -> None:
        self._servers.start_ours("namenode", "namenode", self.conf_dir)


class OurSecuredDatanodes(SecuredHadoop):
    """As `SecuredHadoop`, with other datanodes."""

    def _start_datanode(self, name: str, conf_dir: Path) -> None:
        self._servers.start_ours(name, "datanode", conf_dir)

    def _says_of_itself(self, address: str) -> str:
        return f" as localhost({address}) "


class MixedDatanodes(SecuredHadoop):
    """As `SecuredHadoop`, with two datanodes, of which one is this project's. So are others whose
    names begin as that one's does."""

    OURS = "datanode-ours"

    def start(self) -> None:
        self._start_namenode()
        self._start_datanode("datanode", self.conf_dir)
        self.add_datanode(self.OURS, self.directory / "data-ours")
        self.wait_until_up()

    def _start_datanode(self, name: str, conf_dir: Path) -> None:
        if name.startswith(self.OURS):
            self._servers.start_ours(name, "datanode", conf_dir)
        else:
            super()._start_datanode(name, conf_dir)

    def _is_up(self) -> bool:
        if not super()._is_up():
            return False
        with self.connect("hdfs") as fs:
            return len(fs.datanode_report("live")) == 2

    def kill_datanode(self, name: str) -> None:
        self._servers.kill(name)


class OurMixedCluster(MixedDatanodes, OurSecuredNamenode):
    """A namenode of this project's with a datanode of each."""


class OurSecuredCluster(OurSecuredDatanodes, OurSecuredNamenode):
    """Of this project's servers alone."""
