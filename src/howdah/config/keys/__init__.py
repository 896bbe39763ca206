"""Every configuration key that howdah knows, declared once.

A constant is named after its key: upper case, `.` and `-` turned to `_`, so
`dfs.namenode.rpc-address` is `DFS_NAMENODE_RPC_ADDRESS`. Names, units and
defaults are those of Hadoop 3.5 (core-default.xml, hdfs-default.xml), with three
differences: what Hadoop binds to 0.0.0.0 binds to 127.0.0.1 here, nobody comes
in by accident; a writer goes on with one datanode where no other is found; and TLS 1.3
is spoken beside 1.2.

There is a module for each part of the system; `howdah.config.keys` has the names of all.

Keys that are not declared can still be set and read as text
(`Configuration.raw`); they have no type and no default.
"""

from __future__ import annotations

from typing import Any

from howdah.config.keys.audit import *
from howdah.config.keys.balancer import *
from howdah.config.keys.blocks import *
from howdah.config.keys.caching import *
from howdah.config.keys.client import *
from howdah.config.keys.clouds.azure import *
from howdah.config.keys.clouds.google import *
from howdah.config.keys.common import *
from howdah.config.keys.datanode import *
from howdah.config.keys.deprecated import DEPRECATED as DEPRECATED
from howdah.config.keys.failover import *
from howdah.config.keys.ha import *
from howdah.config.keys.httpfs import *
from howdah.config.keys.journalnode import *
from howdah.config.keys.key_servers import *
from howdah.config.keys.logins import *
from howdah.config.keys.namenode import *
from howdah.config.keys.objects import *
from howdah.config.keys.placement import *
from howdah.config.keys.quorum import *
from howdah.config.keys.reencryption import *
from howdah.config.keys.router import *
from howdah.config.keys.rpc import *
from howdah.config.keys.s3_gateway import *
from howdah.config.keys.satisfier import *
from howdah.config.keys.security import *
from howdah.config.keys.tls import *
from howdah.config.keys.web_authentication import *
from howdah.config.keys.without_effect import WITHOUT_EFFECT as WITHOUT_EFFECT
from howdah.config.value_types import Key

KNOWN: dict[str, Key[Any]] = {
    value.name: value for value in list(globals().values()) if isinstance(value, Key)
}
