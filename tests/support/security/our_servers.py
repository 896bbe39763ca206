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


class OurSecuredCluster(OurSecuredDatanodes, OurSecuredNamenode):
    """Of this project's servers alone."""
