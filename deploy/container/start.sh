#!/bin/sh
# One machine of the cluster: start.sh SERVER…, of journalnode, namenode, zkfc, datanode.
# The first namenode is formatted once, the others copy it; the container ends when one of its
# servers does, and is started again by whoever runs it.
set -eu
name=/var/lib/howdah/name

prepare_namenode() {
    [ -e "$name/current/VERSION" ] && return
    # The journal nodes, and for the others the first namenode, have to be there.
    if [ "$(hostname)" = "${FIRST_NAMENODE:?}" ]; then
        until howdah namenode -format -nonInteractive; do sleep 2; done
    else
        until howdah namenode -bootstrapStandby -nonInteractive; do sleep 2; done
    fi
}

stop() {
    # shellcheck disable=SC2086  # several numbers
    kill $pids 2>/dev/null || true
    wait
}

pids=
trap stop EXIT
trap 'exit 143' TERM INT
for server in "$@"; do
    [ "$server" != namenode ] || prepare_namenode
    howdah "$server" &
    pids="$pids $!"
done
# Until the first of them ends.
while :; do
    for pid in $pids; do
        kill -0 "$pid" 2>/dev/null || exit 1
    done
    sleep 1 &
    wait $!
done
