"""A secured cluster whose namenode is this project's, and whose datanodes are Hadoop's."""

from __future__ import annotations

from tests.support.security.secured_hadoop import SecuredHadoop


class OurSecuredNamenode(SecuredHadoop):
    """As `SecuredHadoop`, with another namenode."""

    def _format(self) -> None:
        self._servers.run_ours("format", "namenode", self.conf_dir, "-format")

    def _start_namenode(self) -> None:
        self._servers.start_ours("namenode", "namenode", self.conf_dir)

    def restart_namenode(self) -> None:
        """Kill it, and start another one on what it leaves."""
        self._servers.kill("namenode")
        self._start_namenode()

    def kill_datanode_at(self, address: str) -> None:
        """Kill the datanode whose data port is `ip:port`."""
        said = f"Opened streaming server at /{address}"
        (name,) = [each for each in self._servers.running if said in self.log(each)]
        self._servers.kill(name)
