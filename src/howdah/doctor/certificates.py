"""The certificate of servers of this machine, looked at as they would read it (shell)."""

from __future__ import annotations

import stat
import time

from howdah.config import Configuration
from howdah.doctor.inputs import Certificate
from howdah.errors import InvalidConfiguration
from howdah.runtime.tls.contexts import server_context
from howdah.runtime.tls.expiry import not_after
from howdah.runtime.tls.key_material import read_key
from howdah.runtime.tls.stores import server_resource, server_stores


def certificate_of(conf: Configuration) -> Certificate:
    """Return what is known of the certificate."""
    try:
        described, stores = server_resource(conf), server_stores(conf)
    except InvalidConfiguration as error:
        return Certificate("", str(error))
    assert stores.keystore is not None, "`server_stores` sees to it"
    path = stores.keystore.path
    open_to_all = []
    for file in (described, path):
        try:
            if file.stat().st_mode & stat.S_IROTH:
                open_to_all.append(str(file))
        except OSError:
            continue  # that it cannot be read is what the next step says
    try:
        server_context(stores)
        own = read_key(stores.keystore).certificates()[0]
        left_s = not_after(own).timestamp() - time.time()
    except (InvalidConfiguration, ValueError) as error:
        return Certificate(str(path), str(error), None, tuple(open_to_all))
    return Certificate(str(path), "", left_s, tuple(open_to_all))
