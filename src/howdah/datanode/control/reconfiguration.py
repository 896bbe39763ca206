"""A new look at the configuration while the datanode runs: `dfsadmin -reconfig datanode`.

ReconfigurableBase, and DataNode.refreshVolumes, in Hadoop. The files of the configuration are
read anew, and what has changed of `RECONFIGURABLE` takes effect. What cannot keeps its old value,
and the administrator is told why.

A volume is added in this order: its directory is found, locked and formatted, and joins the
namespaces that are served; its replicas are found, and the control process counts them; then the
data process uses it, whose news of it the control process can place by now; and a full report
names it. One that goes leaves the data process first. A directory that changes its storage type is
refused.

A directory that has failed is not in effect any more, so it is added again though the files
name it as before: that is how an administrator says that its disk works again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.control.reports import Namespace
from howdah.datanode.replicas.startup_scan import pools_on, scan_pool
from howdah.datanode.scanners.volume_scanner import VolumeScanners
from howdah.datanode.settings import RECONFIGURABLE, reserves
from howdah.datanode.state.messages import (
    AddVolume,
    BalanceBandwidth,
    Command,
    FoundReplica,
    PlansTaken,
    PropertyChange,
    Reconfigured,
    RemoveVolume,
)
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.volumes.reserve import Reserve
from howdah.datanode.volumes.volumes import Volume, VolumeSet

log = logging.getLogger(__name__)

DATA_DIR: Final = keys.DFS_DATANODE_DATA_DIR.name
BANDWIDTH: Final = keys.DFS_DATANODE_BALANCE_BANDWIDTHPERSEC.name
REMOVAL_TIMEOUT_S: Final = 60.0


class Reconfiguration:
    """Reconfigures one datanode while it runs."""

    def __init__(
        self,
        conf: Configuration,
        directories: DataDirectories,
        inventory: ReplicaIndex,
        scanners: VolumeScanners,
        *,
        gauges: int,
        namespaces: Callable[[], Sequence[Namespace]],
        command: Callable[[Command], None],
        report: Callable[[], None],
    ) -> None:
        """`gauges`: how many volumes there can be from the start to the end. `namespaces` are
        those that are served; `report` has namenodes told of all replicas."""
        self._conf = conf
        self._in_effect = {name: conf.raw(name) or "" for name in RECONFIGURABLE}
        self._directories = directories
        self._inventory = inventory
        self._scanners = scanners
        self._gauges = gauges
        self._namespaces = namespaces
        self._command = command
        self._report = report
        self._next_number = len(inventory.volumes.all)
        self._changed = threading.Condition()
        self._removal = 0
        """The number of the last order to remove a volume."""
        self._is_removed = False

    def start(self) -> None:
        """Take the look, on a thread of its own."""
        look = threading.Thread(target=self._run, name="reconfiguration", daemon=True)
        try:
            look.start()
        except RuntimeError as error:
            log.error("there is no new look at the configuration: %s", error)
            self._command(Reconfigured((PropertyChange("", "", "", str(error)),)))

    def removed(self, number: int) -> None:
        """The data process has carried out this order to use a volume no more. An answer that
        comes after its time is none to a later order."""
        with self._changed:
            if number == self._removal:
                self._is_removed = True
                self._changed.notify_all()

    def _run(self) -> None:
        try:
            changes = self._find_changes()
        except Exception as error:
            log.exception("the new look at the configuration failed on a defect")
            changes = (PropertyChange("", "", "", repr(error)),)
        self._command(Reconfigured(changes))

    def _find_changes(self) -> tuple[PropertyChange, ...]:
        try:
            fresh = self._conf.reloaded()
            fresh.check_values()
        except (errors.HowdahError, OSError) as error:
            log.error("the configuration cannot be read anew: %s", error)
            return (PropertyChange(DATA_DIR, self._in_effect[DATA_DIR], "", str(error)),)
        changes = []
        for name in RECONFIGURABLE:
            old, new = self._in_effect[name], fresh.raw(name) or ""
            if old == new:
                if name != DATA_DIR or not self._unused(fresh):
                    continue
                old = ",".join(volume.path for volume in self._inventory.volumes.working())
            problem = ""
            try:
                self._apply(name, fresh)
                self._in_effect[name] = new
            except (errors.HowdahError, OSError) as error:
                problem = str(error)
                log.error("%s cannot be changed to %s: %s", name, new, error)
            changes.append(PropertyChange(name, old, new, problem))
        return tuple(changes)

    def _apply(self, name: str, fresh: Configuration) -> None:
        if name == BANDWIDTH:
            bandwidth = fresh.get(keys.DFS_DATANODE_BALANCE_BANDWIDTHPERSEC)
            self._command(BalanceBandwidth(bandwidth))
        elif name == DATA_DIR:
            self._swap(fresh)
        else:
            self._command(
                PlansTaken(
                    fresh.get(keys.DFS_DISK_BALANCER_ENABLED),
                    fresh.get(keys.DFS_DISK_BALANCER_PLAN_VALID_INTERVAL),
                )
            )

    # --- volumes ---

    def _unused(self, fresh: Configuration) -> list[str]:
        """Directories that are configured and have failed, now or at the start."""
        used = {volume.path for volume in self._inventory.volumes.working()}
        configured = (str(path) for _, path in fresh.get(keys.DFS_DATANODE_DATA_DIR))
        return [path for path in configured if path not in used]

    def _swap(self, fresh: Configuration) -> None:
        """Raises what keeps a volume from being added; the others are added and removed."""
        wanted = {str(path): kind for kind, path in fresh.get(keys.DFS_DATANODE_DATA_DIR)}
        present = {volume.path: volume for volume in self._inventory.volumes.all}
        for path, kind in wanted.items():
            volume = present.get(path)
            if volume is not None and volume.storage_type.name != kind:
                raise errors.InvalidConfiguration(
                    f"Changing storage type is not allowed: {path} is {volume.storage_type.name}"
                )
        kept = [v for v in present.values() if v.path in wanted and v.failure is None]
        added = [path for path in wanted if path not in present]
        failed = [v for v in present.values() if v.path in wanted and v.failure is not None]
        if not kept and not added and not failed:
            raise errors.InvalidConfiguration("No directory is specified.")
        failures = []
        for volume in failed:
            try:
                self._renew(volume, wanted[volume.path], fresh)
            except (errors.HowdahError, OSError) as error:
                log.error("%s is still not used: %s", volume.path, error)
                failures.append(f"{volume.path}: {error}")
        for path in added:
            try:
                self._add(wanted[path], Path(path), fresh)
            except (errors.HowdahError, OSError) as error:
                log.error("%s cannot be added: %s", path, error)
                failures.append(f"{path}: {error}")
        if failures and not kept and len(failures) == len(added) + len(failed):
            raise errors.InvalidConfiguration("; ".join(failures))
        for volume in present.values():
            if volume.path not in wanted:
                try:
                    self._remove(volume)
                except (errors.HowdahError, OSError) as error:
                    log.error("%s cannot be removed: %s", volume.path, error)
                    failures.append(f"{volume.path}: {error}")
        self._report()
        if failures:
            raise errors.InvalidConfiguration("; ".join(failures))

    def _renew(self, volume: Volume, kind: str, fresh: Configuration) -> None:
        """The volume has failed, and is to be used again. Raises why it cannot be; then it stays
        known as failed. What it had must be there: an unplugged disk leaves an empty directory
        behind, which would be taken for a new volume. Another disk has its directory taken out of
        the configuration first."""
        trouble = volume.probe(namespace.pool_id for namespace in self._namespaces())
        if trouble is not None:
            raise trouble
        self._remove(volume)
        try:
            self._add(kind, Path(volume.path), fresh)
        except BaseException:
            # Or namenodes would hear nothing of the failure any more.
            self._inventory.add(volume, ())
            raise

    def _add(self, kind: str, path: Path, fresh: Configuration) -> None:
        if self._next_number >= self._gauges:
            raise errors.InvalidConfiguration(
                "too many volumes have been added since the start: start the datanode anew"
            )
        reserve = reserves(fresh)(kind, path)
        volume = self._directories.add(kind, path, reserve, self._namespaces())
        try:
            self._use(volume, reserve)
        except BaseException:
            # As if nobody had tried, or it would stay locked, by this very process.
            if volume in self._inventory.volumes.all:
                self._inventory.remove(volume)
            self._directories.remove(volume)
            raise

    def _use(self, volume: Volume, reserve: Reserve) -> None:
        """Use a volume, with the replicas that it has."""
        replica_map = ReplicaMap()
        alone = VolumeSet([volume])
        # Also those whose namenodes have yet to answer, as at a start.
        pools = {namespace.pool_id for namespace in self._namespaces()}
        for pool_id in sorted(pools.union(pools_on(volume))):
            scan_pool(alone, pool_id, replica_map)
        if volume.failure is not None:
            raise errors.InconsistentStorage(volume.failure)
        volume.number = self._next_number
        replicas = [
            (pool_id, replica)
            for pool_id in replica_map.pools()
            for replica in replica_map.of_pool(pool_id)
        ]
        used_bytes = tuple((pool, volume.pool_used_bytes(pool)) for pool in replica_map.pools())
        order = AddVolume(
            volume.path,
            volume.storage_id,
            volume.storage_type,
            (reserve.absolute_bytes, reserve.percent, reserve.calculator),
            volume.number,
            used_bytes,
            tuple(_found_replica(pool_id, replica) for pool_id, replica in replicas),
        )
        self._inventory.add(volume, replicas)
        if not volume.is_transient:
            try:
                self._scanners.add(volume)
            except RuntimeError as error:
                raise errors.RemoteError(f"nobody would verify {volume}: {error}") from error
        self._next_number += 1
        self._command(order)
        log.info("%s is added with %d replicas", volume, len(replicas))

    def _remove(self, volume: Volume) -> None:
        self._scanners.remove(volume.storage_id)
        with self._changed:
            self._removal += 1
            self._is_removed = False
            number = self._removal
        self._command(RemoveVolume(volume.storage_id, number))
        with self._changed:
            is_gone = self._changed.wait_for(lambda: self._is_removed, REMOVAL_TIMEOUT_S)
        if not is_gone:
            raise errors.RemoteError(
                f"the data process still uses {volume.path} after {REMOVAL_TIMEOUT_S:g} s"
            )
        self._inventory.remove(volume)
        self._directories.remove(volume)
        log.info("%s is removed", volume)


def _found_replica(pool_id: str, replica: Replica) -> FoundReplica:
    return FoundReplica(replica.as_block(pool_id), int(replica.state), replica.tail[1])
