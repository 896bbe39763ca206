"""Erasure coding policies: the calls of administrators and clients (pure).

The part of ClientProtocol that Hadoop's FSDirErasureCodingOp serves.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.namenode.service.attributes.coding import CodingCalls
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.namesystem import Namesystem
from howdah.proto import types_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.striping.messages import policy_to_proto
from howdah.protocol.striping.policies import Schema

_CODERS: Final = {
    "rs": "rs_native, rs_java",
    "rs-legacy": "rs-legacy_java",
    "xor": "xor_native, xor_java",
}
"""Of each codec the coders, by the names that Hadoop's have: clients show them."""


class CodingMethods:
    """Calls about erasure coding policies."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._policies = namesystem.namespace.coding_policies
        self._once = AtMostOnce(namesystem)
        self._coding = CodingCalls(namesystem)

    # Directories.

    def set_erasure_coding_policy(
        self, request: pb.SetErasureCodingPolicyRequestProto, caller: Caller
    ) -> pb.SetErasureCodingPolicyResponseProto:
        def run() -> pb.SetErasureCodingPolicyResponseProto:
            self._coding.set(caller, request.src, request.ecPolicyName)
            return pb.SetErasureCodingPolicyResponseProto()

        return self._once(caller, run, pb.SetErasureCodingPolicyResponseProto)

    def unset_erasure_coding_policy(
        self, request: pb.UnsetErasureCodingPolicyRequestProto, caller: Caller
    ) -> pb.UnsetErasureCodingPolicyResponseProto:
        def run() -> pb.UnsetErasureCodingPolicyResponseProto:
            self._coding.unset(caller, request.src)
            return pb.UnsetErasureCodingPolicyResponseProto()

        return self._once(caller, run, pb.UnsetErasureCodingPolicyResponseProto)

    def get_erasure_coding_policy(
        self, request: pb.GetErasureCodingPolicyRequestProto, caller: Caller
    ) -> pb.GetErasureCodingPolicyResponseProto:
        answer = pb.GetErasureCodingPolicyResponseProto()
        policy = self._coding.effective(caller, request.src)
        if policy is not None:
            answer.ecPolicy.CopyFrom(policy_to_proto(policy))
        return answer

    # Policies.

    def get_erasure_coding_policies(
        self, request: pb.GetErasureCodingPoliciesRequestProto, caller: Caller
    ) -> pb.GetErasureCodingPoliciesResponseProto:
        answer = pb.GetErasureCodingPoliciesResponseProto()
        for policy, state in sorted(self._policies.all(), key=lambda one: one[0].name):
            answer.ecPolicies.add().CopyFrom(policy_to_proto(policy, state))
        return answer

    def get_erasure_coding_codecs(
        self, request: pb.GetErasureCodingCodecsRequestProto, caller: Caller
    ) -> pb.GetErasureCodingCodecsResponseProto:
        answer = pb.GetErasureCodingCodecsResponseProto()
        for codec, coders in _CODERS.items():
            answer.codec.add(codec=codec, coders=coders)
        return answer

    def add_erasure_coding_policies(
        self, request: pb.AddErasureCodingPoliciesRequestProto, caller: Caller
    ) -> pb.AddErasureCodingPoliciesResponseProto:
        """Each policy by itself: the answer says which ones were refused, and why."""

        def run() -> pb.AddErasureCodingPoliciesResponseProto:
            self._coding.check_may_add(caller)
            answer = pb.AddErasureCodingPoliciesResponseProto()
            for wanted in request.ecPolicies:
                options = {option.key: option.value for option in wanted.schema.options}
                schema = Schema(
                    wanted.schema.codecName,
                    wanted.schema.dataUnits,
                    wanted.schema.parityUnits,
                    options,
                )
                outcome = answer.responses.add()
                try:
                    policy = self._coding.add(caller, schema, wanted.cellSize)
                except errors.IllegalArgument as error:
                    outcome.policy.CopyFrom(wanted)
                    outcome.succeed = False
                    outcome.errorMsg = error.message
                else:
                    outcome.policy.CopyFrom(policy_to_proto(policy))
                    outcome.succeed = True
            return answer

        return self._once(caller, run, run)

    def remove_erasure_coding_policy(
        self, request: pb.RemoveErasureCodingPolicyRequestProto, caller: Caller
    ) -> pb.RemoveErasureCodingPolicyResponseProto:
        def run() -> pb.RemoveErasureCodingPolicyResponseProto:
            self._coding.remove(caller, request.ecPolicyName)
            return pb.RemoveErasureCodingPolicyResponseProto()

        return self._once(caller, run, pb.RemoveErasureCodingPolicyResponseProto)

    def enable_erasure_coding_policy(
        self, request: pb.EnableErasureCodingPolicyRequestProto, caller: Caller
    ) -> pb.EnableErasureCodingPolicyResponseProto:
        def run() -> pb.EnableErasureCodingPolicyResponseProto:
            self._coding.enable(caller, request.ecPolicyName)
            return pb.EnableErasureCodingPolicyResponseProto()

        return self._once(caller, run, pb.EnableErasureCodingPolicyResponseProto)

    def disable_erasure_coding_policy(
        self, request: pb.DisableErasureCodingPolicyRequestProto, caller: Caller
    ) -> pb.DisableErasureCodingPolicyResponseProto:
        def run() -> pb.DisableErasureCodingPolicyResponseProto:
            self._coding.disable(caller, request.ecPolicyName)
            return pb.DisableErasureCodingPolicyResponseProto()

        return self._once(caller, run, pb.DisableErasureCodingPolicyResponseProto)

    def get_ectopology_result_for_policies(
        self, request: pb.GetECTopologyResultForPoliciesRequestProto, caller: Caller
    ) -> pb.GetECTopologyResultForPoliciesResponseProto:
        is_supported, message = self._coding.verify_topology(caller, request.policies)
        answer = pb.GetECTopologyResultForPoliciesResponseProto()
        answer.response.isSupported = is_supported
        answer.response.resultMessage = message
        return answer
