"""Names of the keys of `hadoop-policy.xml`: who may speak which protocol.

They are no keys of the other files, and `howdah.runtime.users.service_policy` reads them.
"""

from __future__ import annotations

from typing import Final

DEFAULT_LISTS: Final = "security.service.authorization.default"
"""What the keys begin with that count for protocols without keys of their own."""
_PREFIXES: Final = (
    DEFAULT_LISTS,
    "security.client.protocol",
    "security.client.datanode.protocol",
    "security.datanode.protocol",
    "security.datanode.lifeline.protocol",
    "security.inter.datanode.protocol",
    "security.namenode.protocol",
    "security.qjournal.service.protocol",
    "security.interqjournal.service.protocol",
    "security.ha.service.protocol",
    "security.zkfc.protocol",
    "security.refresh.policy.protocol",
    "security.refresh.user.mappings.protocol",
    "security.get.user.mappings.protocol",
    "security.refresh.callqueue.protocol",
    "security.refresh.generic.protocol",
    "security.reconfiguration.protocol",
    "security.router.admin.protocol",
)
_OF_OTHERS: Final = (
    "security.job.client.protocol",
    "security.job.task.protocol",
    "security.mrhs.client.protocol",
    "security.applicationclient.protocol",
    "security.applicationhistory.protocol",
    "security.applicationmaster.protocol",
    "security.applicationmaster-nodemanager.applicationmaster.protocol",
    "security.collector-nodemanager.protocol",
    "security.containermanagement.protocol",
    "security.distributedscheduling.protocol",
    "security.resourcelocalizer.protocol",
    "security.resourcemanager-administration.protocol",
    "security.resourcetracker.protocol",
    "security.trace.protocol",
)
"""Of YARN and MapReduce, which share the file."""
POLICY_NAMES: Final = frozenset(
    f"{prefix}{kind}{blocked}"
    for prefix in (*_PREFIXES, *_OF_OTHERS)
    for kind in (".acl", ".hosts")
    for blocked in ("", ".blocked")
)
