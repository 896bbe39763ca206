"""Erasure coding, as rules: directories get policies, and files in them have block groups."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from howdah.model.coding import REPLICATION, Coding
from howdah.model.namespace import ModelNamespace
from howdah.proto import types_pb2
from tests.support.namespaces.histories import BLOCK, MAX_XATTRS, Histories, directories, there
from tests.support.namespaces.snapshots import BoundedSnapshotHistories

CODINGS: Final = {"XOR-2-1-1k": Coding(2, 1, BLOCK), "RS-3-2-1k": Coding(3, 2, BLOCK)}
_NODES: Final = 5

codings = st.sampled_from([*CODINGS, REPLICATION, "RS-10-4-1024k"])
own_codings = st.sampled_from(sorted(CODINGS))


class CodingHistories(Histories):
    """What is about policies; files are written as by `FileHistories`."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes += [self.namenode.join(f"dn{number}") for number in range(1, _NODES)]
        self.model = ModelNamespace("root", "supergroup", max_xattrs=MAX_XATTRS, codings=CODINGS)
        for name, coding in CODINGS.items():
            schema = types_pb2.ECSchemaProto(
                codecName=name.partition("-")[0].lower(),
                dataUnits=coding.data,
                parityUnits=coding.parity,
            )
            policy = types_pb2.ErasureCodingPolicyProto(
                id=64, schema=schema, cellSize=coding.cell_bytes
            )
            self.call(
                "addErasureCodingPolicies",
                types_pb2.AddErasureCodingPoliciesRequestProto(ecPolicies=[policy]),
            )
            self.switch(name, "enable")

    @initialize(name=own_codings)
    def begin_coded(self, name: str) -> None:
        """The directory that all histories begin with."""
        self.grow(0)
        self.set_coding("/b", name)

    @rule(path=directories | there, name=codings)
    def set_coding(self, path: str, name: str) -> None:
        request = types_pb2.SetErasureCodingPolicyRequestProto(src=path, ecPolicyName=name)
        self.both(
            self.do("setErasureCodingPolicy", request), lambda: self.model.set_coding(path, name)
        )

    @rule(path=directories | there)
    def unset_coding(self, path: str) -> None:
        request = types_pb2.UnsetErasureCodingPolicyRequestProto(src=path)
        self.both(
            self.do("unsetErasureCodingPolicy", request), lambda: self.model.unset_coding(path)
        )

    @rule(name=own_codings, how=st.sampled_from(["enable", "enable", "disable", "remove"]))
    def switch(self, name: str, how: str) -> None:
        """What has the policy keeps it."""
        request = {
            "enable": types_pb2.EnableErasureCodingPolicyRequestProto,
            "disable": types_pb2.DisableErasureCodingPolicyRequestProto,
            "remove": types_pb2.RemoveErasureCodingPolicyRequestProto,
        }[how](ecPolicyName=name)
        self.call(f"{how}ErasureCodingPolicy", request)
        self.model.enabled = self.model.enabled - {name} | ({name} if how == "enable" else set())


class CodedSnapshots(CodingHistories, BoundedSnapshotHistories):
    """With snapshots, where quotas are met."""

    @initialize(name=own_codings, both=st.booleans())
    def code_snapshots(self, name: str, both: bool) -> None:
        self.set_coding("/" if both else "/a", name)
        for path in ("/a/c", "/a/b/c"):
            self.whole_file(path, "DFSClient_1", [1, BLOCK])
