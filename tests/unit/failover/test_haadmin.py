"""`howdah haadmin`, against namenodes that only know their state; words and codes are Hadoop's."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from howdah.cli.haadmin import main
from howdah.config import Configuration
from howdah.proto import ha_pb2
from howdah.testing.waiting import wait_until

from .conftest import Cluster, MakeCluster


class Tool:
    """haadmin on one cluster, and what it printed."""

    def __init__(self, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster = cluster
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *words: str) -> int:
        code = main(list(words), self.cluster.conf())
        self.out, self.err = self._capsys.readouterr()
        return code


@pytest.fixture
def manual(make_cluster: MakeCluster, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Two standbys without controllers."""
    cluster = make_cluster(namenodes=2, journal_nodes=0)
    cluster.settings["dfs.ha.automatic-failover.enabled"] = "false"
    return Tool(cluster, capsys)


@pytest.fixture
def automatic(make_cluster: MakeCluster, capsys: pytest.CaptureFixture[str]) -> Tool:
    """Two standbys whose controllers do not run."""
    return Tool(make_cluster(namenodes=2, journal_nodes=0), capsys)


def test_the_state_of_a_namenode_is_one_word(manual: Tool) -> None:
    assert manual("-getServiceState", "nn0") == 0
    assert manual.out == "standby\n"


def test_the_states_of_all_namenodes_are_a_table(manual: Tool) -> None:
    manual.cluster.namenodes[0].become(ha_pb2.ACTIVE)
    manual.cluster.namenodes[1].stop()
    assert manual("-getAllServiceState") == 0
    first, second = manual.out.splitlines()
    address = f"127.0.0.1:{manual.cluster.namenodes[0].port}"
    assert first == f"{address:<50} active    "
    assert second[51:].startswith("Failed to connect: ")


def test_the_health_of_a_namenode_is_an_exit_code(manual: Tool) -> None:
    assert manual("-checkHealth", "nn0") == 0
    manual.cluster.namenodes[0].is_healthy = False
    assert manual("-checkHealth", "nn0") == 255
    assert manual.err == "Health check failed: the disk is full\n"


def test_a_namenode_that_does_not_answer_is_an_operation_that_failed(manual: Tool) -> None:
    manual.cluster.namenodes[0].stop()
    assert manual("-getServiceState", "nn0") == 255
    assert manual.err.startswith("Operation failed: ")


def test_a_namenode_becomes_active_standby_and_observer(manual: Tool) -> None:
    for command, state in (
        ("-transitionToActive", "active"),
        ("-transitionToStandby", "standby"),
        ("-transitionToObserver", "observer"),
    ):
        assert manual(command, "nn1") == 0
        assert manual.cluster.states() == ["standby", state]
    assert set(manual.cluster.namenodes[1].sources) == {ha_pb2.REQUEST_BY_USER}


def test_a_second_active_namenode_is_refused(manual: Tool) -> None:
    assert manual("-transitionToActive", "nn0") == 0
    assert manual("-transitionToActive", "nn1") == 255
    assert manual.err.startswith("transitionToActive: Node nn0 is already active\nUsage: haadmin")
    assert manual.cluster.states() == ["active", "standby"]


def test_a_namenode_becomes_active_beside_one_that_is_down_only_by_force(manual: Tool) -> None:
    manual.cluster.namenodes[0].stop()
    assert manual("-transitionToActive", "nn1") == 255
    assert manual.err.startswith("Unexpected error occurred  ")
    assert manual("-transitionToActive", "--forceactive", "nn1") == 0


@pytest.mark.req("FS-068")
def test_a_failover_makes_one_standby_and_the_other_active(manual: Tool) -> None:
    manual("-transitionToActive", "nn0")
    assert manual("-failover", "nn0", "nn1") == 0
    assert manual.out == "Failover from nn0 to nn1 successful\n"
    assert manual.cluster.orders[-2:] == [("nn0", "standby"), ("nn1", "active")]


def test_a_failover_needs_a_fencing_method(manual: Tool) -> None:
    del manual.cluster.settings["dfs.ha.fencing.methods"]
    manual("-transitionToActive", "nn0")
    assert manual("-failover", "nn0", "nn1") == 255
    assert "no fencing method is configured" in manual.err
    assert manual.cluster.states() == ["active", "standby"]


def test_an_active_that_does_not_obey_is_fenced_before_the_other_becomes_active(
    manual: Tool, tmp_path: Path
) -> None:
    fenced = tmp_path / "fenced"
    manual.cluster.settings["dfs.ha.fencing.methods"] = (
        f"shell(echo -n $target_nameserviceid.$target_namenodeid $target_port "
        f"$dfs_nameservices > {fenced})"
    )
    manual("-transitionToActive", "nn0")
    manual.cluster.namenodes[0].refuses = "transitionToStandby"
    assert manual("-failover", "nn0", "nn1") == 0
    port = manual.cluster.namenodes[0].port
    assert fenced.read_text() == f"east.nn0 {port} east"


@pytest.mark.req("FS-070")
def test_nothing_becomes_active_when_no_method_fences(manual: Tool) -> None:
    manual.cluster.settings["dfs.ha.fencing.methods"] = "shell(exit 3)\nshell(false)"
    manual("-transitionToActive", "nn0")
    manual.cluster.namenodes[0].refuses = "transitionToStandby"
    assert manual("-failover", "nn0", "nn1") == 255
    assert "Failover failed: Unable to fence NameNode at " in manual.err
    assert manual.cluster.states() == ["active", "standby"]


def test_forcefence_fences_though_the_active_obeys(manual: Tool, tmp_path: Path) -> None:
    manual.cluster.settings["dfs.ha.fencing.methods"] = f"shell(touch {tmp_path}/fenced)"
    manual("-transitionToActive", "nn0")
    assert manual("-failover", "--forcefence", "nn0", "nn1") == 0
    assert (tmp_path / "fenced").exists()


def test_a_failover_to_one_that_is_not_ready_needs_force(manual: Tool) -> None:
    manual("-transitionToActive", "nn0")
    manual.cluster.namenodes[1].is_ready = False
    assert manual("-failover", "nn0", "nn1") == 255
    assert "is not ready to become active: it is in safe mode" in manual.err
    assert manual("-failover", "--forceactive", "nn0", "nn1") == 0


def test_a_failover_that_fails_is_taken_back(manual: Tool) -> None:
    manual("-transitionToActive", "nn0")
    manual.cluster.namenodes[1].refuses = "transitionToActive"
    assert manual("-failover", "nn0", "nn1") == 255
    assert "Failover failed: Unable to failover to NameNode at " in manual.err
    assert manual.cluster.states() == ["active", "standby"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nn0", "nn0"), "Can't failover a service to itself"),
        (("nn1", "nn0"), "Can't failover to an active service"),
    ],
)
def test_what_is_no_failover_is_refused(words: tuple[str, str], message: str, manual: Tool) -> None:
    manual("-transitionToActive", "nn0")
    assert manual("-failover", *words) == 255
    assert manual.err == f"Failover failed: {message}\n"


def test_a_failover_to_one_that_is_not_well_is_refused(manual: Tool) -> None:
    manual("-transitionToActive", "nn0")
    manual.cluster.namenodes[1].is_healthy = False
    assert manual("-failover", "nn0", "nn1") == 255
    assert manual.err == "Failover failed: Can't failover to an unhealthy service\n"


@pytest.mark.parametrize(
    "command", ["-transitionToActive", "-transitionToStandby", "-transitionToObserver"]
)
def test_states_are_not_changed_by_hand_where_controllers_decide(
    command: str, automatic: Tool
) -> None:
    assert automatic(command, "nn0") == 255
    assert automatic.err.startswith("Automatic failover is enabled for NameNode at 127.0.0.1/")
    assert "specify the --forcemanual flag." in automatic.err
    assert automatic.cluster.orders == []


def test_forcemanual_asks_and_then_insists(
    automatic: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert automatic("-transitionToActive", "--forcemanual", "nn0") == 255
    assert automatic.err.endswith("(Y or N) Aborted\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("what\nyes\n"))
    assert automatic("-transitionToActive", "--forcemanual", "nn0") == 0
    assert automatic.cluster.namenodes[0].sources == [ha_pb2.REQUEST_BY_USER_FORCED]


def test_force_is_no_option_where_controllers_decide(automatic: Tool) -> None:
    assert automatic("-failover", "--forcefence", "nn0", "nn1") == 255
    assert automatic.err == (
        "forcefence and forceactive flags not supported with auto-failover enabled.\n"
    )


@pytest.mark.req("FS-052", "FS-068")
def test_a_failover_goes_by_way_of_the_controllers(
    make_cluster: MakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = Tool(make_cluster(), capsys)
    before = tool.cluster.start_zkfcs()
    assert tool("-failover", f"nn{before}", f"nn{1 - before}") == 0, tool.err
    assert tool.out.startswith("Failover to NameNode at 127.0.0.1/127.0.0.1:")
    assert tool.cluster.states()[1 - before] == "active"
    # The other way round says why not.
    tool.cluster.namenodes[before].is_healthy = False
    running = tool.cluster.zkfcs[before].server.running
    wait_until(lambda: running.not_eligible() is not None)
    assert tool("-failover", f"nn{1 - before}", f"nn{before}") == 255
    assert tool.err.startswith("Operation failed: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Usage: haadmin [-ns <nameserviceId>]\n    [-checkHealth <serviceId>]\n"),
        (("-ns",), "Missing nameservice ID\nUsage: haadmin"),
        (("-ns", "east"), "Missing command\nUsage: haadmin"),
        (("getServiceState",), "Bad command 'getServiceState': expected command starting with '-'"),
        (("-nonsense",), "nonsense: Unknown command\nUsage: haadmin"),
        (
            ("-getServiceState",),
            "getServiceState: incorrect number of arguments\n"
            "Usage: haadmin [-ns <nameserviceId>] [-getServiceState <serviceId>]\n",
        ),
        (("-failover", "nn0"), "failover: incorrect arguments\nUsage: haadmin"),
        (("-failover", "--force", "nn0", "nn1"), "failover: incorrect arguments\nUsage"),
        (
            ("-getServiceState", "nn9"),
            "Illegal argument: Unable to determine service address for namenode 'nn9'\n",
        ),
    ],
)
def test_wrong_usage_is_said_as_hadoop_says_it(
    words: tuple[str, ...], message: str, manual: Tool
) -> None:
    assert manual(*words) == 255
    assert manual.err.startswith(message)


def test_help_tells_of_one_command_or_of_all(manual: Tool) -> None:
    assert manual("-help", "checkHealth") == 0
    assert manual.out.startswith("-checkHealth [<serviceId>]: Requests that the service")
    assert manual("-help") == 0
    assert "[-getAllServiceState]" in manual.out


def test_a_nameservice_has_to_be_named_where_there_are_several(
    capsys: pytest.CaptureFixture[str],
) -> None:
    conf = Configuration({"dfs.nameservices": "east,west"})
    assert main(["-getAllServiceState"], conf) == 255
    assert "Please re-run with the -ns option" in capsys.readouterr().err
