"""`howdah ec` prints, and exits, as `hdfs ec`."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from howdah import errors
from howdah.cli.erasurecoding import COMMANDS, commands, main
from howdah.config import Configuration
from howdah.fs.hdfs.status import erasure_coding_policy
from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.messages import PolicyState, policy_to_proto
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema

OWN = Policy(64, Schema("rs", 4, 2, {"extra": "foo"}), 65536)


class Cluster:
    """A filesystem, its client and its namenode in one: what was asked of it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.entries: list[str] = []
        self.supported = True
        self.policies: dict[str, Policy] = {}
        self.fails: errors.HowdahError | None = None

    @property
    def client(self) -> Cluster:
        return self

    @property
    def namenode(self) -> Cluster:
        return self

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to close."""

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        if self.fails is not None:
            raise self.fails

    def list_status_iter(self, path: str) -> list[str]:
        return self.entries

    def get_erasure_coding_policies(self) -> list[Any]:
        return [
            erasure_coding_policy(policy_to_proto(policy, PolicyState.DISABLED))
            for policy in self.policies.values()
        ]

    def get_erasure_coding_codecs(self) -> dict[str, str]:
        return {"rs": "rs_native, rs_java"} if self.policies else {}

    def get_erasure_coding_policy(self, path: str) -> Any:
        self._note("get", path)
        policy = self.policies.get(path)
        return None if policy is None else erasure_coding_policy(policy_to_proto(policy))

    def set_erasure_coding_policy(self, path: str, policy: str | None) -> None:
        self._note("set", path, policy)

    def unset_erasure_coding_policy(self, path: str) -> None:
        self._note("unset", path)

    def add_erasure_coding_policies(self, policies: list[Policy]) -> list[Any]:
        self._note("add", *policies)
        bad = pb.ErasureCodingPolicyProto(id=0, name="RS-9-9-1k")
        return [
            pb.AddErasureCodingPolicyResponseProto(policy=policy_to_proto(OWN), succeed=True),
            pb.AddErasureCodingPolicyResponseProto(policy=bad, succeed=False, errorMsg="too long"),
        ]

    def remove_erasure_coding_policy(self, name: str) -> None:
        self._note("remove", name)

    def enable_erasure_coding_policy(self, name: str) -> None:
        self._note("enable", name)

    def disable_erasure_coding_policy(self, name: str) -> None:
        self._note("disable", name)

    def check_topology_for_policies(self, names: list[str]) -> Any:
        self._note("topology", *names)
        return pb.ECTopologyVerifierResultProto(
            resultMessage="9 DataNodes are required", isSupported=self.supported
        )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(commands, "connected", lambda conf, path=None: made)
    return made


def run(*words: str) -> int:
    return main(list(words), Configuration())


def test_policies_are_listed_with_their_states(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("-listPolicies") == 0
    assert capsys.readouterr().out == "There is no erasure coding policies in the cluster.\n"
    cluster.policies = {"a": SYSTEM_POLICIES[2], "b": OWN}
    assert run("-listPolicies") == 0
    assert capsys.readouterr().out == (
        "Erasure Coding Policies:\n"
        "ErasureCodingPolicy=[Name=RS-3-2-1024k, Schema=[ECSchema=[Codec=rs, numDataUnits=3, "
        "numParityUnits=2]], CellSize=1048576, Id=2], State=DISABLED\n"
        "ErasureCodingPolicy=[Name=RS-4-2-64k, Schema=[ECSchema=[Codec=rs, numDataUnits=4, "
        "numParityUnits=2, extra=foo]], CellSize=65536, Id=64], State=DISABLED\n"
    )


def test_codecs_are_listed_with_their_coders(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("-listCodecs") == 0
    cluster.policies = {"a": OWN}
    assert run("-listCodecs") == 0
    assert capsys.readouterr().out == (
        "No erasure coding codecs are supported on the cluster.\n"
        "Erasure Coding Codecs: Codec [Coder List]\n"
        "\tRS [RS_NATIVE, RS_JAVA]\n"
    )


def test_a_policy_is_set_shown_and_unset(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.policies["/d"] = OWN
    assert run("-setPolicy", "-path", "/d", "-policy", "RS-4-2-64k") == 0
    assert run("-setPolicy", "-path", "/d") == 0
    assert run("-setPolicy", "-path", "/d", "-replicate") == 0
    assert run("-getPolicy", "-path", "/d") == 0
    assert run("-getPolicy", "-path", "/e") == 0
    cluster.entries = ["a"]
    assert run("-setPolicy", "-path", "/d") == 0
    assert run("-unsetPolicy", "-path", "/d") == 0
    assert capsys.readouterr().out == (
        "Set RS-4-2-64k erasure coding policy on /d\n"
        "Set default erasure coding policy on /d\n"
        "Set replication erasure coding policy on /d\n"
        "RS-4-2-64k\n"
        "The erasure coding policy of /e is unspecified\n"
        "Set default erasure coding policy on /d\n"
        "Warning: setting erasure coding policy on a non-empty directory will not automatically "
        "convert existing files to default erasure coding policy\n"
        "Unset erasure coding policy from /d\n"
        "Warning: unsetting erasure coding policy on a non-empty directory will not automatically "
        "convert existing files to replicated data.\n"
    )
    assert [call for call in cluster.calls if call[0] == "set"][:3] == [
        ("set", "/d", "RS-4-2-64k"),
        ("set", "/d", None),
        ("set", "/d", "replication"),
    ]


def test_refusals_have_the_exit_codes_of_hadoop(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.fails = errors.RemoteError("it is not enabled\nat java.lang")
    assert run("-setPolicy", "-path", "/d", "-policy", "X") == 3
    assert run("-getPolicy", "-path", "/d") == 2
    for command in ("-enablePolicy", "-disablePolicy", "-removePolicy"):
        assert run(command, "-policy", "X") == 2
    said = capsys.readouterr().err
    assert said.count("it is not enabled\n") == 5
    assert "at java" not in said
    cluster.fails = errors.NoCodingPolicySet("No erasure coding policy explicitly set on /d")
    assert run("-unsetPolicy", "-path", "/d") == 2
    assert capsys.readouterr().err == (
        "NoECPolicySetException: No erasure coding policy explicitly set on /d\n"
        "Use '-setPolicy -path <PATH> -replicate' to enforce default replication policy "
        "irrespective of EC policy defined on parent.\n"
    )


def test_policies_are_enabled_disabled_and_removed(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.supported = False
    for command in ("-enablePolicy", "-disablePolicy", "-removePolicy"):
        assert run(command, "-policy", "RS-4-2-64k") == 0
    said = capsys.readouterr()
    assert said.out == (
        "Erasure coding policy RS-4-2-64k is enabled\n"
        "Erasure coding policy RS-4-2-64k is disabled\n"
        "Erasure coding policy RS-4-2-64k is removed\n"
    )
    assert said.err == (
        "Warning: The cluster setup does not support EC policy RS-4-2-64k. Reason: 9 DataNodes "
        "are required\n"
    )


def test_the_setup_of_the_cluster_is_verified(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("-verifyClusterSetup") == 0
    cluster.supported = False
    assert run("-verifyClusterSetup", "-policy", "A", "B") == 2
    assert cluster.calls == [("topology",), ("topology", "A", "B")]
    assert capsys.readouterr().out == "9 DataNodes are required\n" * 2
    assert run("-verifyClusterSetup", "-policy") == 255
    assert run("-verifyClusterSetup", "A") == 1
    cluster.fails = errors.IllegalArgument("The policy name A does not exist")
    assert run("-verifyClusterSetup", "-policy", "A") == 255


def test_policies_are_added_from_a_file(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policies.xml"
    file.write_text(
        """<?xml version="1.0"?>
        <configuration>
          <layoutversion>1</layoutversion>
          <schemas>
            <schema id="S"><codec>rs</codec><k>4</k><m>2</m><extra>foo</extra></schema>
          </schemas>
          <policies>
            <policy><schema>S</schema><cellsize>65536</cellsize></policy>
          </policies>
        </configuration>"""
    )
    assert run("-addPolicies", "-policyFile", str(file)) == 0
    ((_, added),) = cluster.calls
    assert (added.schema, added.cell_bytes) == (OWN.schema, 65536)
    assert capsys.readouterr().out == (
        "Add ErasureCodingPolicy RS-4-2-64k succeed.\n"
        "Add ErasureCodingPolicy RS-9-9-1k failed and error message is too long\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        "no xml",
        "<other/>",
        "<configuration><layoutversion>2</layoutversion></configuration>",
        "<configuration><layoutversion>1</layoutversion></configuration>",
        "<configuration><layoutversion>1</layoutversion><schemas><schema id='S'><codec>rs</codec>"
        "<k>0</k><m>2</m></schema></schemas></configuration>",
        "<configuration><layoutversion>1</layoutversion><schemas><schema id='S'><codec>rs</codec>"
        "<k>4</k><m>2</m></schema></schemas><policies><policy><schema>S</schema>"
        "<cellsize>1000</cellsize></policy></policies></configuration>",
    ],
)
def test_a_file_that_is_none_of_policies_is_refused(
    content: str, cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "policies.xml"
    file.write_text(content)
    assert run("-addPolicies", "-policyFile", str(file)) == 255
    assert run("-addPolicies", "-policyFile", "relative.xml") == 255
    assert not cluster.calls


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 1, "Usage: howdah ec [COMMAND]"),
        (["setPolicy"], 1, "Command names must start with dashes."),
        (["-setPolicy"], 1, "Please specify the path for setting the EC policy.\nUsage: [-set"),
        (["-setPolicy", "-path"], 255, "option -path requires 1 argument"),
        (["-setPolicy", "-path", "/d", "more"], 1, "-setPolicy: Too many arguments"),
        (["-setPolicy", "-path", "/d", "-policy", "X", "-replicate"], 2, "at the same time"),
        (["-enablePolicy"], 1, "Please specify the policy name."),
        (["-listPolicies", "more"], 1, "-listPolicies: Too many arguments"),
        (["-help"], 1, "[-verifyClusterSetup [-policy <policy>...<policy>]]"),
        (["-help", "getPolicy"], 0, "[-getPolicy -path <path>]"),
        (["-help", "other"], 1, "Unknown command 'other'."),
        (["-help", "a", "b"], 1, "You must give exactly one argument to -help."),
    ],
)
def test_what_is_not_understood_is_told(
    words: list[str],
    code: int,
    said: str,
    cluster: Cluster,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*words) == code
    assert said in capsys.readouterr().err
    assert not cluster.calls


def test_there_are_the_commands_of_hdfs_ec() -> None:
    assert [command.name for command in COMMANDS] == [
        "-listPolicies",
        "-addPolicies",
        "-getPolicy",
        "-removePolicy",
        "-setPolicy",
        "-unsetPolicy",
        "-listCodecs",
        "-enablePolicy",
        "-disablePolicy",
        "-verifyClusterSetup",
    ]
