"""ClientProtocol's calls about erasure coding policies, typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message

from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.messages import policy_to_proto
from howdah.protocol.striping.policies import Policy
from howdah.rpc.client import AnswerType

M = TypeVar("M")
_NOT_GIVEN_ID = 0xFFFFFFFF
"""That of a policy which is to be added: the namenode chooses it."""


class ErasureCodingMethods(ABC):
    """The part of `NamenodeProxy` that is about erasure coding."""

    @abstractmethod
    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Any method of the protocol."""

    def set_erasure_coding_policy(self, path: str, policy: str | None) -> None:
        """None: the policy that the namenode is configured with."""
        request = pb.SetErasureCodingPolicyRequestProto(src=path, ecPolicyName=policy)
        self.call("setErasureCodingPolicy", request, pb.SetErasureCodingPolicyResponseProto)

    def unset_erasure_coding_policy(self, path: str) -> None:
        request = pb.UnsetErasureCodingPolicyRequestProto(src=path)
        self.call("unsetErasureCodingPolicy", request, pb.UnsetErasureCodingPolicyResponseProto)

    def get_erasure_coding_policy(self, path: str) -> pb.ErasureCodingPolicyProto | None:
        request = pb.GetErasureCodingPolicyRequestProto(src=path)
        answer = self.call(
            "getErasureCodingPolicy", request, pb.GetErasureCodingPolicyResponseProto
        )
        return answer.ecPolicy if answer.HasField("ecPolicy") else None

    def get_erasure_coding_policies(self) -> list[pb.ErasureCodingPolicyProto]:
        request = pb.GetErasureCodingPoliciesRequestProto()
        answer = self.call(
            "getErasureCodingPolicies", request, pb.GetErasureCodingPoliciesResponseProto
        )
        return list(answer.ecPolicies)

    def get_erasure_coding_codecs(self) -> dict[str, str]:
        """The coders of each codec, as the namenode names them."""
        request = pb.GetErasureCodingCodecsRequestProto()
        answer = self.call(
            "getErasureCodingCodecs", request, pb.GetErasureCodingCodecsResponseProto
        )
        return {codec.codec: codec.coders for codec in answer.codec}

    def add_erasure_coding_policies(
        self, policies: Iterable[Policy]
    ) -> list[pb.AddErasureCodingPolicyResponseProto]:
        """Whatever ids the policies have, the namenode gives them others."""
        messages = [
            policy_to_proto(Policy(_NOT_GIVEN_ID, policy.schema, policy.cell_bytes))
            for policy in policies
        ]
        request = pb.AddErasureCodingPoliciesRequestProto(ecPolicies=messages)
        answer = self.call(
            "addErasureCodingPolicies", request, pb.AddErasureCodingPoliciesResponseProto
        )
        return list(answer.responses)

    def remove_erasure_coding_policy(self, policy: str) -> None:
        request = pb.RemoveErasureCodingPolicyRequestProto(ecPolicyName=policy)
        self.call("removeErasureCodingPolicy", request, pb.RemoveErasureCodingPolicyResponseProto)

    def enable_erasure_coding_policy(self, policy: str) -> None:
        request = pb.EnableErasureCodingPolicyRequestProto(ecPolicyName=policy)
        self.call("enableErasureCodingPolicy", request, pb.EnableErasureCodingPolicyResponseProto)

    def disable_erasure_coding_policy(self, policy: str) -> None:
        request = pb.DisableErasureCodingPolicyRequestProto(ecPolicyName=policy)
        self.call("disableErasureCodingPolicy", request, pb.DisableErasureCodingPolicyResponseProto)

    def check_topology_for_policies(
        self, policies: Iterable[str]
    ) -> pb.ECTopologyVerifierResultProto:
        """Of all that are enabled where none is named."""
        request = pb.GetECTopologyResultForPoliciesRequestProto(policies=policies)
        return self.call(
            "getECTopologyResultForPolicies",
            request,
            pb.GetECTopologyResultForPoliciesResponseProto,
        ).response
