"""Volumes that come and go while the data process runs (`dfsadmin -reconfig`).

FsDatasetImpl.addVolume and removeVolumes in Hadoop. The control process has made a volume ready and
found its replicas; here it becomes one of those that are used. One that goes is left as a
failed one is: who writes there loses the replica and goes on elsewhere.
"""

from __future__ import annotations

import logging
from functools import partial

from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.latency.monitor import DiskMeter
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.messages import AddVolume, VolumeRemoved
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes.reserve import Reserve
from howdah.datanode.volumes.volumes import Volume

log = logging.getLogger(__name__)


def connect_gauge(volume: Volume, gauges: Gauges) -> None:
    """The control process sees from now on how much room is promised there."""
    number = volume.number
    volume.on_promise = lambda count: gauges.set_promised_bytes(number, count)


def measure(volume: Volume, sampled_percent: int, gauges: Gauges) -> None:
    """How long its disk takes, from now on, for the control process to see; 0: not at all."""
    if sampled_percent > 0:
        count = partial(gauges.add_to_volume_figure, volume.number)
        volume.measure(DiskMeter(sampled_percent, count))


def add_volume(
    store: BlockStore, workers: VolumeWorkers, gauges: Gauges, order: AddVolume
) -> Volume:
    """Add a volume, which is used from now on, and return it. Its replicas come first: a new
    replica would take the files of an older one of its block for nobody's."""
    volume = Volume(order.path, order.storage_id, order.storage_type, Reserve(*order.reserve))
    volume.number = order.number
    connect_gauge(volume, gauges)
    for pool_id, count_bytes in order.used_bytes:
        volume.count(pool_id, count_bytes)
    workers.add_volume(volume)
    store.volumes.know(volume)
    for replica in order.replicas:
        block = replica.block
        store.admit(
            block.pool_id,
            Replica(
                block.block_id,
                block.generation_stamp,
                ReplicaState(replica.state),
                volume.storage_id,
                block.length_bytes,
                replica.last_sum,
            ),
        )
    store.volumes.add(volume)
    log.info("%s is used from now on, with %d replicas", volume, len(order.replicas))
    return volume


def remove_volume(store: BlockStore, workers: VolumeWorkers, storage_id: str, number: int) -> None:
    """The control process hears of the end, with the `number` of its order."""
    volume = store.volumes[storage_id]
    store.trouble.remove_volume(volume, "it was taken out of the configuration", tell=False)
    store.volumes.remove(volume)
    workers.remove_volume(volume)
    store.notify(VolumeRemoved(storage_id, number))
