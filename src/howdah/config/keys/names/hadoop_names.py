"""Names of Hadoop's configuration keys that howdah does not know.

Those that core-default.xml, hdfs-default.xml and hdfs-rbf-default.xml of Hadoop 3.5
declare. A site file may have them, so they are no typing errors.
"""

_NAMES = """
dfs.balancer.address dfs.balancer.block-move.timeout dfs.balancer.dispatcherThreads
dfs.balancer.getBlocks.hot-time-interval dfs.balancer.getBlocks.min-block-size
dfs.balancer.getBlocks.size dfs.balancer.http-address dfs.balancer.http-bind-host
dfs.balancer.https-address dfs.balancer.https-bind-host dfs.balancer.httpserver.enabled
dfs.balancer.kerberos.internal.spnego.principal dfs.balancer.kerberos.principal
dfs.balancer.keytab.enabled dfs.balancer.keytab.file dfs.balancer.max-iteration-time
dfs.balancer.max-no-move-interval dfs.balancer.max-size-to-move dfs.balancer.movedWinWidth
dfs.balancer.moverThreads dfs.balancer.service.interval dfs.balancer.service.retries.on.exception
dfs.block.access.key.update.interval dfs.block.access.token.lifetime
dfs.block.access.token.protobuf.enable dfs.block.local-path-access.user
dfs.block.misreplication.processing.limit dfs.block.placement.ec.classname
dfs.block.replicator.classname dfs.block.scanner.skip.recent.accessed
dfs.block.scanner.volume.join.timeout.ms
dfs.checksum.ec.socket-timeout dfs.client.block.reader.remote.buffer.size
dfs.client.cached.conn.retry dfs.client.congestion.backoff.max.time
dfs.client.congestion.backoff.mean.time dfs.client.deadnode.detection.enabled
dfs.client.deadnode.detection.idle.sleep.ms
dfs.client.deadnode.detection.probe.connection.timeout.ms
dfs.client.deadnode.detection.probe.deadnode.interval.ms
dfs.client.deadnode.detection.probe.deadnode.threads
dfs.client.deadnode.detection.probe.suspectnode.interval.ms
dfs.client.deadnode.detection.probe.suspectnode.threads dfs.client.deadnode.detection.rpc.threads
dfs.client.ec.write.failed.blocks.tolerated dfs.client.failover.lazy.resolved
dfs.client.failover.resolver.impl
dfs.client.failover.resolver.useFQDN
dfs.client.https.keystore.resource dfs.client.https.need-auth
dfs.client.ignore.namenode.default.kms.uri dfs.client.key.provider.cache.expiry
dfs.client.local.interfaces dfs.client.mmap.cache.size dfs.client.mmap.cache.timeout.ms
dfs.client.mmap.retry.timeout.ms dfs.client.output.stream.uniq.default.key
dfs.client.rbf.observer.read.enable dfs.client.read.short.circuit.replica.stale.threshold.ms
dfs.client.read.shortcircuit.buffer.size dfs.client.read.striped.threadpool.size
dfs.client.read.uri.cache.enabled
dfs.client.refresh.read-block-locations.ms
dfs.client.refresh.read-block-locations.register-automatically
dfs.client.refresh.read-block-locations.threads dfs.client.replica.accessor.builder.classes
dfs.client.retry.policy.enabled dfs.client.retry.policy.spec
dfs.client.server-defaults.validity.period.ms dfs.client.short.circuit.num
dfs.client.short.circuit.replica.stale.threshold.ms dfs.client.socket.send.buffer.size
dfs.client.test.drop.namenode.response.number dfs.client.use.legacy.blockreader.local
dfs.client.write.byte-array-manager.count-limit
dfs.client.write.byte-array-manager.count-reset-time-period-ms
dfs.client.write.byte-array-manager.count-threshold dfs.client.write.byte-array-manager.enabled
dfs.client.write.recover.lease.on.close.exception dfs.cluster.administrators
dfs.content-summary.sleep-microsec dfs.data.transfer.protection
dfs.data.transfer.saslproperties.resolver.class
dfs.datanode.block-pinning.enabled dfs.datanode.block.id.layout.upgrade.threads
dfs.datanode.bp-ready.timeout
dfs.datanode.cached-dfsused.check.interval.ms
dfs.datanode.data.read.bandwidthPerSec dfs.datanode.data.transfer.bandwidthPerSec
dfs.datanode.data.write.bandwidthPerSec dfs.datanode.directoryscan.max.notify.count
dfs.datanode.disk.check.min.gap dfs.datanode.disk.check.timeout dfs.datanode.dns.interface
dfs.datanode.dns.nameserver dfs.datanode.ec.reconstruct.read.bandwidthPerSec
dfs.datanode.ec.reconstruct.write.bandwidthPerSec
dfs.datanode.ec.reconstruction.stripedread.buffer.size
dfs.datanode.ec.reconstruction.stripedread.timeout.millis dfs.datanode.ec.reconstruction.threads
dfs.datanode.ec.reconstruction.validation dfs.datanode.ec.reconstruction.xmits.weight
dfs.datanode.fileio.profiling.sampling.percentage dfs.datanode.fixed.volume.size
dfs.datanode.fsdataset.factory dfs.datanode.fsdatasetasyncdisk.max.threads.per.volume
dfs.datanode.fsdatasetcache.max.threads.per.volume dfs.datanode.http.internal-proxy.port
dfs.datanode.https.address dfs.datanode.httpserver.filter.handlers dfs.datanode.kerberos.principal
dfs.datanode.keytab.file dfs.datanode.lazywriter.interval.sec
dfs.datanode.lifeline.interval.seconds dfs.datanode.lock.fair dfs.datanode.lockmanager.trace
dfs.datanode.max.disks.to.report dfs.datanode.max.locked.memory dfs.datanode.max.nodes.to.report
dfs.datanode.max.slowdisks.to.exclude dfs.datanode.metrics.logger.period.seconds
dfs.datanode.min.outlier.detection.disks dfs.datanode.min.outlier.detection.nodes
dfs.datanode.nameservices.resolution-enabled dfs.datanode.nameservices.resolver.impl
dfs.datanode.network.counts.cache.max.size dfs.datanode.outliers.report.interval
dfs.datanode.parallel.volumes.load.threads.num
dfs.datanode.peer.metrics.min.outlier.detection.samples dfs.datanode.peer.stats.enabled
dfs.datanode.plugins dfs.datanode.pmem.cache.dirs dfs.datanode.pmem.cache.recovery
dfs.datanode.processcommands.threshold dfs.datanode.ram.disk.replica.tracker
dfs.datanode.reconcile.blocks.batch.interval dfs.datanode.reconcile.blocks.batch.size
dfs.datanode.replica.cache.expiry.time dfs.datanode.replica.cache.root.dir
dfs.datanode.reserve-for-archive.default.percentage
dfs.datanode.same-disk-tiering.capacity-ratio.percentage dfs.datanode.same-disk-tiering.enabled
dfs.datanode.shared.file.descriptor.paths dfs.datanode.slow.io.warning.threshold.ms
dfs.datanode.slowdisk.low.threshold.ms dfs.datanode.slowpeer.low.threshold.ms
dfs.datanode.sync.behind.writes.in.background dfs.datanode.transfer.socket.recv.buffer.size
dfs.datanode.transfer.socket.send.buffer.size dfs.datanode.volumes.replica-add.threadpool.size
dfs.default.chunk.view.size dfs.disk.balancer.block.tolerance.percent dfs.disk.balancer.enabled
dfs.disk.balancer.max.disk.errors dfs.disk.balancer.max.disk.throughputInMBperSec
dfs.disk.balancer.plan.threshold.percent dfs.disk.balancer.plan.valid.interval
dfs.edit.log.transfer.bandwidthPerSec dfs.edit.log.transfer.timeout
dfs.encrypt.data.overwrite.downstream.derived.qop dfs.encrypt.data.overwrite.downstream.new.qop
dfs.encrypt.data.transfer.algorithm dfs.encrypt.data.transfer.cipher.key.bitlength
dfs.encrypt.data.transfer.cipher.suites dfs.ha.allow.stale.reads dfs.ha.automatic-failover.enabled
dfs.ha.fencing.methods dfs.ha.fencing.ssh.connect-timeout dfs.ha.fencing.ssh.private-key-files
dfs.ha.log-roll.period dfs.ha.namenodes.EXAMPLENAMESERVICE dfs.ha.nn.not-become-active-in-safemode
dfs.ha.standby.checkpoints dfs.ha.tail-edits.in-progress dfs.ha.tail-edits.namenode-retries
dfs.ha.tail-edits.period dfs.ha.tail-edits.period.backoff-max dfs.ha.tail-edits.rolledits.timeout
dfs.ha.zkfc.client.ssl.enabled dfs.ha.zkfc.nn.http.timeout.ms dfs.ha.zkfc.port dfs.hosts.timeout
dfs.http.client.failover.max.attempts dfs.http.client.failover.sleep.base.millis
dfs.http.client.failover.sleep.max.millis dfs.http.client.retry.max.attempts
dfs.http.client.retry.policy.enabled dfs.http.client.retry.policy.spec dfs.http.policy
dfs.https.server.keystore.resource dfs.image.parallel.inode.threshold dfs.image.parallel.load
dfs.image.parallel.target.sections dfs.image.parallel.threads dfs.image.transfer.chunksize
dfs.internal.nameservices dfs.journalnode.edit-cache-size.bytes
dfs.journalnode.edit-cache-size.fraction dfs.journalnode.edits.dir dfs.journalnode.edits.dir.perm
dfs.journalnode.enable.sync dfs.journalnode.enable.sync.format dfs.journalnode.handler.count
dfs.journalnode.http-address dfs.journalnode.http-bind-host dfs.journalnode.https-address
dfs.journalnode.https-bind-host dfs.journalnode.kerberos.internal.spnego.principal
dfs.journalnode.kerberos.principal dfs.journalnode.keytab.file dfs.journalnode.rpc-address
dfs.journalnode.rpc-bind-host dfs.journalnode.sync.interval dfs.lock.suppress.warning.interval
dfs.metrics.percentiles.intervals dfs.mover.address dfs.mover.kerberos.principal
dfs.mover.keytab.enabled dfs.mover.keytab.file dfs.mover.max-no-move-interval
dfs.mover.movedWinWidth dfs.mover.moverThreads dfs.mover.retry.max.attempts
dfs.namenode.access-control-enforcer-reporting-threshold-ms
dfs.namenode.audit.loggers dfs.namenode.available-space-block-placement-policy.balance-local-node
dfs.namenode.available-space-block-placement-policy.balanced-space-preference-fraction
dfs.namenode.available-space-block-placement-policy.balanced-space-tolerance
dfs.namenode.available-space-block-placement-policy.balanced-space-tolerance-limit
dfs.namenode.available-space-rack-fault-tolerant-block-placement-policy.balanced-space-preference-fraction
dfs.namenode.available-space-rack-fault-tolerant-block-placement-policy.balanced-space-tolerance
dfs.namenode.avoid.read.slow.datanode dfs.namenode.backup.address
dfs.namenode.backup.dnrpc-address dfs.namenode.backup.http-address
dfs.namenode.block-placement-policy.default.prefer-local-node
dfs.namenode.block-placement-policy.exclude-slow-nodes.enabled
dfs.namenode.block-placement.min-blocks-for.write dfs.namenode.block.deletion.lock.threshold.ms
dfs.namenode.block.deletion.unlock.interval.ms dfs.namenode.blockreport.max.lock.hold.time
dfs.namenode.blockreport.queue.size dfs.namenode.blocks.per.postponedblocks.rescan
dfs.namenode.checkpoint.check.quiet-multiplier
dfs.namenode.checkpoint.parallel.upload.enabled
dfs.namenode.corrupt.block.delete.immediately.enabled dfs.namenode.crm.checklocktime.enable
dfs.namenode.crm.maxlocktime.ms dfs.namenode.crm.sleeptime.ms
dfs.namenode.decommission.backoff.monitor.pending.blocks.per.lock
dfs.namenode.decommission.backoff.monitor.pending.limit
dfs.namenode.decommission.blocks.per.interval dfs.namenode.decommission.interval
dfs.namenode.decommission.max.concurrent.tracked.nodes dfs.namenode.decommission.monitor.class
dfs.namenode.delegation.key.update-interval dfs.namenode.delegation.token.always-use
dfs.namenode.delegation.token.max-lifetime dfs.namenode.delegation.token.renew-interval
dfs.namenode.ec.policies.max.cellsize dfs.namenode.ec.system.default.policy
dfs.namenode.ec.userdefined.policy.allowed dfs.namenode.edekcacheloader.initial.delay.ms
dfs.namenode.edekcacheloader.interval.ms dfs.namenode.edekcacheloader.max-retries
dfs.namenode.edits.asynclogging dfs.namenode.edits.asynclogging.pending.queue.size
dfs.namenode.edits.journal-plugin dfs.namenode.edits.journal-plugin.qjournal
dfs.namenode.edits.noeditlogchannelflush dfs.namenode.edits.qjournals.resolution-enabled
dfs.namenode.edits.qjournals.resolver.impl dfs.namenode.enable.log.stale.datanode
dfs.namenode.excess.redundancy.timeout-sec dfs.namenode.excess.redundancy.timeout.check.limit
dfs.namenode.file.close.num-committed-allowed dfs.namenode.fslock.fair
dfs.namenode.full.block.report.lease.length.ms dfs.namenode.gc.time.monitor.enable
dfs.namenode.gc.time.monitor.observation.window.ms dfs.namenode.gc.time.monitor.sleep.interval.ms
dfs.namenode.get-blocks.check.operation dfs.namenode.get-blocks.max-qps
dfs.namenode.hosts.provider.classname dfs.namenode.https-address dfs.namenode.https-bind-host
dfs.namenode.inode.attributes.provider.bypass.users dfs.namenode.inode.attributes.provider.class
dfs.namenode.invalidate.work.pct.per.iteration dfs.namenode.ip-proxy-users
dfs.namenode.kerberos.internal.spnego.principal dfs.namenode.kerberos.principal
dfs.namenode.kerberos.principal.pattern dfs.namenode.keytab.file
dfs.namenode.lazypersist.file.scrub.interval.sec dfs.namenode.legacy-oiv-image.dir
dfs.namenode.lifeline.handler.count dfs.namenode.lifeline.handler.ratio
dfs.namenode.lifeline.rpc-address dfs.namenode.lifeline.rpc-bind-host
dfs.namenode.list.encryption.zones.num.responses
dfs.namenode.list.reencryption.status.num.responses dfs.namenode.lock.detailed-metrics.enabled
dfs.namenode.lock.model.provider.class dfs.namenode.maintenance.replication.min
dfs.namenode.max-corrupt-file-blocks-returned dfs.namenode.max-lock-hold-to-release-lease-ms
dfs.namenode.max-num-blocks-to-log dfs.namenode.max.full.block.report.leases
dfs.namenode.max.objects dfs.namenode.max.slowpeer.collect.nodes
dfs.namenode.metrics.logger.period.seconds dfs.namenode.name.cache.threshold
dfs.namenode.observer.enabled dfs.namenode.path.based.cache.block.map.allocation.percent
dfs.namenode.plugins dfs.namenode.provided.enabled dfs.namenode.quota.init-threads
dfs.namenode.random.node.order.enabled dfs.namenode.read-lock-reporting-threshold-ms
dfs.namenode.read.considerLoad dfs.namenode.read.considerStorageType
dfs.namenode.redundancy.considerLoadByStorageType dfs.namenode.redundancy.considerLoadByVolume
dfs.namenode.redundancy.queue.restart.iterations dfs.namenode.reencrypt.batch.size
dfs.namenode.reencrypt.edek.threads dfs.namenode.reencrypt.sleep.interval
dfs.namenode.reencrypt.throttle.limit.handler.ratio
dfs.namenode.reencrypt.throttle.limit.updater.ratio
dfs.namenode.reject-unresolved-dn-topology-mapping dfs.namenode.remove.dead.datanode.batchnum
dfs.namenode.resource.check.interval dfs.namenode.resource.checked.volumes
dfs.namenode.resource.checked.volumes.minimum dfs.namenode.resource.du.reserved
dfs.namenode.rpc-address.auxiliary-ports dfs.namenode.safemode.recheck.interval
dfs.namenode.secondary.http-address dfs.namenode.secondary.https-address
dfs.namenode.send.qop.enabled dfs.namenode.service.handler.count dfs.namenode.shared.edits.dir
dfs.namenode.slowpeer.collect.interval dfs.namenode.snapshot.skip.capture.accesstime-only-change
dfs.namenode.snapshot.skiplist.interval dfs.namenode.snapshot.skiplist.max.levels
dfs.namenode.stale.datanode.minimum.interval dfs.namenode.startup.delay.block.deletion.sec
dfs.namenode.state.context.enabled dfs.namenode.storage.dir.perm
dfs.namenode.upgrade.domain.factor dfs.namenode.write-lock-reporting-threshold-ms
dfs.namenode.write.stale.datanode.ratio dfs.net.topology.impl
dfs.nodeplan.steps.supported.packages dfs.permissions.ContentSummary.subAccess
dfs.permissions.allow.owner.set.quota dfs.pipeline.congestion.ratio dfs.pipeline.ecn
dfs.pipeline.slownode dfs.protected.subdirectories.enable dfs.provided.acls.import.enabled
dfs.provided.aliasmap.class dfs.provided.aliasmap.inmemory.batch-size
dfs.provided.aliasmap.inmemory.dnrpc-address dfs.provided.aliasmap.inmemory.enabled
dfs.provided.aliasmap.inmemory.leveldb.dir dfs.provided.aliasmap.inmemory.rpc.bind-host
dfs.provided.aliasmap.inmemory.server.log dfs.provided.aliasmap.leveldb.path
dfs.provided.aliasmap.load.retries dfs.provided.aliasmap.text.codec
dfs.provided.aliasmap.text.delimiter dfs.provided.aliasmap.text.read.file
dfs.provided.aliasmap.text.write.dir dfs.provided.storage.id dfs.qjm.operations.timeout
dfs.qjournal.accept-recovery.timeout.ms dfs.qjournal.finalize-segment.timeout.ms
dfs.qjournal.get-journal-state.timeout.ms dfs.qjournal.http.open.timeout.ms
dfs.qjournal.http.read.timeout.ms dfs.qjournal.new-epoch.timeout.ms
dfs.qjournal.parallel-read.num-threads dfs.qjournal.prepare-recovery.timeout.ms
dfs.qjournal.queued-edits.limit.mb dfs.qjournal.select-input-streams.timeout.ms
dfs.qjournal.start-segment.timeout.ms dfs.qjournal.write-txns.timeout.ms
dfs.quota.by.storage.type.enabled dfs.reformat.disabled
dfs.secondary.namenode.kerberos.internal.spnego.principal
dfs.secondary.namenode.kerberos.principal dfs.secondary.namenode.keytab.file
dfs.short.circuit.shared.memory.watcher.interrupt.check.ms dfs.storage.default.policy
dfs.storage.policy.permissions.superuser-only dfs.storage.policy.satisfier.address
dfs.storage.policy.satisfier.datanode.cache.refresh.interval.ms
dfs.storage.policy.satisfier.kerberos.principal dfs.storage.policy.satisfier.keytab.file
dfs.storage.policy.satisfier.max.outstanding.paths dfs.storage.policy.satisfier.mode
dfs.storage.policy.satisfier.move.task.retry.max.attempts dfs.storage.policy.satisfier.queue.limit
dfs.storage.policy.satisfier.recheck.timeout.millis
dfs.storage.policy.satisfier.retry.max.attempts
dfs.storage.policy.satisfier.self.retry.timeout.millis
dfs.storage.policy.satisfier.work.multiplier.per.iteration dfs.trustedchannel.resolver.class
dfs.use.dfs.network.topology dfs.user.home.dir.prefix dfs.web.authentication.kerberos.keytab
dfs.web.authentication.kerberos.principal dfs.web.authentication.simple.anonymous.allowed
dfs.web.ugi dfs.webhdfs.acl.provider.permission.pattern dfs.webhdfs.netty.high.watermark
dfs.webhdfs.netty.low.watermark dfs.webhdfs.oauth2.access.token.provider
dfs.webhdfs.oauth2.client.id dfs.webhdfs.oauth2.enabled dfs.webhdfs.oauth2.refresh.url
dfs.webhdfs.rest-csrf.browser-useragents-regex dfs.webhdfs.rest-csrf.custom-header
dfs.webhdfs.rest-csrf.enabled dfs.webhdfs.rest-csrf.methods-to-ignore
dfs.webhdfs.socket.connect-timeout dfs.webhdfs.socket.read-timeout
dfs.webhdfs.ugi.expire.after.access dfs.webhdfs.use.ipc.callq
dfs.xframe.enabled dfs.xframe.value file.blocksize
file.client-write-packet-size file.replication file.stream-buffer-size
fs.AbstractFileSystem.abfs.impl fs.AbstractFileSystem.abfss.impl fs.AbstractFileSystem.adl.impl
fs.AbstractFileSystem.file.impl fs.AbstractFileSystem.ftp.impl fs.AbstractFileSystem.gs.impl
fs.AbstractFileSystem.har.impl fs.AbstractFileSystem.hdfs.impl fs.AbstractFileSystem.o3fs.impl
fs.AbstractFileSystem.ofs.impl fs.AbstractFileSystem.s3a.impl fs.AbstractFileSystem.swebhdfs.impl
fs.AbstractFileSystem.viewfs.impl fs.AbstractFileSystem.wasb.impl fs.AbstractFileSystem.wasbs.impl
fs.AbstractFileSystem.webhdfs.impl fs.abfs.impl fs.abfss.impl fs.adl.impl
fs.adl.oauth2.access.token.provider fs.adl.oauth2.access.token.provider.type
fs.adl.oauth2.client.id fs.adl.oauth2.credential fs.adl.oauth2.devicecode.clientapp.id
fs.adl.oauth2.msi.port fs.adl.oauth2.refresh.token fs.adl.oauth2.refresh.url fs.automatic.close
fs.azure.authorization fs.azure.authorization.caching.enable fs.azure.buffer.dir
fs.azure.enable.readahead fs.azure.local.sas.key.mode fs.azure.sas.expiry.period
fs.azure.saskey.usecontainersaskeyforallaccess fs.azure.secure.mode fs.azure.user.agent.prefix
fs.client.htrace.sampler.classes fs.client.resolve.topology.enabled fs.creation.parallel.count
fs.df.interval fs.du.interval fs.file.checksum.verify fs.file.impl fs.ftp.data.connection.mode
fs.ftp.host fs.ftp.host.port fs.ftp.impl fs.ftp.timeout fs.ftp.transfer.mode
fs.getspaceused.classname fs.getspaceused.jitterMillis fs.gs.auth.client.id
fs.gs.auth.client.secret fs.gs.auth.refresh.token fs.gs.auth.service.account.json.keyfile
fs.gs.auth.type fs.gs.block.size fs.gs.bucket.delete.enable
fs.gs.create.items.conflict.check.enable fs.gs.fadvise.request.track.count fs.gs.impl
fs.gs.inputstream.fadvise fs.gs.inputstream.inplace.seek.limit
fs.gs.inputstream.min.range.request.size fs.gs.inputstream.support.gzip.encoding.enable
fs.gs.marker.file.pattern fs.gs.outputstream.buffer.size fs.gs.outputstream.sync.min.interval
fs.gs.project.id fs.gs.rewrite.max.chunk.size fs.gs.working.dir fs.har.impl.disable.cache
fs.hdfs.impl.disable.cache fs.iostatistics.logging.level fs.iostatistics.thread.level.enabled
fs.obs.impl fs.protected.directories fs.s3a.access.key fs.s3a.accesspoint.required
fs.s3a.acl.default fs.s3a.assumed.role.arn fs.s3a.assumed.role.credentials.provider
fs.s3a.assumed.role.policy fs.s3a.assumed.role.session.duration fs.s3a.assumed.role.session.name
fs.s3a.assumed.role.sts.endpoint fs.s3a.assumed.role.sts.endpoint.region fs.s3a.attempts.maximum
fs.s3a.audit.enabled fs.s3a.aws.credentials.provider fs.s3a.block.size fs.s3a.buffer.dir
fs.s3a.change.detection.mode fs.s3a.change.detection.source
fs.s3a.change.detection.version.required fs.s3a.committer.abort.pending.uploads
fs.s3a.committer.magic.enabled fs.s3a.committer.name fs.s3a.committer.staging.conflict-mode
fs.s3a.committer.staging.tmp.path fs.s3a.committer.staging.unique-filenames
fs.s3a.committer.threads fs.s3a.connection.establish.timeout fs.s3a.connection.maximum
fs.s3a.connection.ssl.enabled fs.s3a.connection.timeout fs.s3a.connection.ttl
fs.s3a.delegation.token.binding fs.s3a.downgrade.syncable.exceptions fs.s3a.encryption.algorithm
fs.s3a.encryption.context fs.s3a.encryption.key fs.s3a.endpoint fs.s3a.etag.checksum.enabled
fs.s3a.executor.capacity fs.s3a.fast.upload.active.blocks fs.s3a.fast.upload.buffer fs.s3a.impl
fs.s3a.list.version fs.s3a.max.total.tasks fs.s3a.multiobjectdelete.enable fs.s3a.multipart.purge
fs.s3a.multipart.purge.age fs.s3a.multipart.size fs.s3a.multipart.threshold fs.s3a.paging.maximum
fs.s3a.path.style.access fs.s3a.proxy.domain fs.s3a.proxy.host fs.s3a.proxy.password
fs.s3a.proxy.port fs.s3a.proxy.username fs.s3a.proxy.workstation fs.s3a.readahead.range
fs.s3a.retry.interval fs.s3a.retry.limit fs.s3a.retry.throttle.interval
fs.s3a.retry.throttle.limit fs.s3a.secret.key fs.s3a.security.credential.provider.path
fs.s3a.select.enabled fs.s3a.select.errors.include.sql fs.s3a.select.input.compression
fs.s3a.select.input.csv.comment.marker fs.s3a.select.input.csv.field.delimiter
fs.s3a.select.input.csv.header fs.s3a.select.input.csv.quote.character
fs.s3a.select.input.csv.quote.escape.character fs.s3a.select.input.csv.record.delimiter
fs.s3a.select.output.csv.field.delimiter fs.s3a.select.output.csv.quote.character
fs.s3a.select.output.csv.quote.escape.character fs.s3a.select.output.csv.quote.fields
fs.s3a.select.output.csv.record.delimiter fs.s3a.session.token fs.s3a.signing-algorithm
fs.s3a.socket.recv.buffer fs.s3a.socket.send.buffer fs.s3a.ssl.channel.mode
fs.s3a.threads.keepalivetime fs.s3a.threads.max fs.s3a.user.agent.prefix
fs.trash.clean.trashroot.enable fs.viewfs.overload.scheme.target.abfs.impl
fs.viewfs.overload.scheme.target.abfss.impl fs.viewfs.overload.scheme.target.file.impl
fs.viewfs.overload.scheme.target.ftp.impl fs.viewfs.overload.scheme.target.gs.impl
fs.viewfs.overload.scheme.target.hdfs.impl fs.viewfs.overload.scheme.target.http.impl
fs.viewfs.overload.scheme.target.https.impl fs.viewfs.overload.scheme.target.o3fs.impl
fs.viewfs.overload.scheme.target.ofs.impl fs.viewfs.overload.scheme.target.oss.impl
fs.viewfs.overload.scheme.target.s3a.impl fs.viewfs.overload.scheme.target.swebhdfs.impl
fs.viewfs.overload.scheme.target.wasb.impl fs.viewfs.overload.scheme.target.webhdfs.impl
fs.viewfs.rename.strategy fs.wasb.impl fs.wasbs.impl ftp.blocksize ftp.bytes-per-checksum
ftp.client-write-packet-size ftp.replication ftp.stream-buffer-size
ha.failover-controller.active-standby-elector.zk.op.retries
ha.failover-controller.cli-check.rpc-timeout.ms
ha.failover-controller.graceful-fence.connection.retries
ha.failover-controller.graceful-fence.rpc-timeout.ms
ha.failover-controller.new-active.rpc-timeout.ms ha.health-monitor.check-interval.ms
ha.health-monitor.connect-retry-interval.ms ha.health-monitor.rpc-timeout.ms
ha.health-monitor.rpc.connect.max.retries ha.health-monitor.sleep-after-disconnect.ms
ha.zookeeper.acl ha.zookeeper.auth ha.zookeeper.parent-znode ha.zookeeper.quorum
ha.zookeeper.session-timeout.ms
hadoop.common.configuration.version hadoop.domainname.resolver.impl hadoop.fuse.connection.timeout
hadoop.fuse.timer.period hadoop.hdfs.configuration.version hadoop.htrace.span.receiver.classes
hadoop.http.authentication.cookie.domain hadoop.http.authentication.kerberos.endpoint.whitelist
hadoop.http.authentication.kerberos.keytab hadoop.http.authentication.kerberos.principal
hadoop.http.authentication.signature.secret.file
hadoop.http.authentication.simple.anonymous.allowed hadoop.http.authentication.token.validity
hadoop.http.authentication.type hadoop.http.cross-origin.allowed-headers
hadoop.http.cross-origin.allowed-methods hadoop.http.cross-origin.allowed-origins
hadoop.http.cross-origin.enabled hadoop.http.cross-origin.max-age hadoop.http.filter.initializers
hadoop.http.idle_timeout.ms hadoop.http.jmx.nan-filter.enabled hadoop.http.logs.enabled
hadoop.http.metrics.enabled hadoop.http.sni.host.check.enabled hadoop.jetty.logs.serve.aliases
hadoop.kerberos.keytab.login.autorenewal.enabled hadoop.kerberos.kinit.command
hadoop.kerberos.min.seconds.before.relogin hadoop.metrics.jvm.use-thread-mxbean
hadoop.prometheus.endpoint.enabled hadoop.registry.jaas.context hadoop.registry.kerberos.realm
hadoop.registry.secure hadoop.registry.system.acls hadoop.registry.zk.connection.timeout.ms
hadoop.registry.zk.quorum hadoop.registry.zk.retry.ceiling.ms hadoop.registry.zk.retry.interval.ms
hadoop.registry.zk.retry.times hadoop.registry.zk.root hadoop.registry.zk.session.timeout.ms
hadoop.rpc.protection hadoop.rpc.socket.factory.class.ClientProtocol
hadoop.rpc.socket.factory.class.default hadoop.security.auth_to_local
hadoop.security.auth_to_local.mechanism hadoop.security.credential.clear-text-fallback
hadoop.security.credential.provider.path
hadoop.security.credstore.java-keystore-provider.password-file hadoop.security.crypto.buffer.size
hadoop.security.crypto.cipher.suite hadoop.security.crypto.codec.classes.EXAMPLECIPHERSUITE
hadoop.security.crypto.codec.classes.aes.ctr.nopadding
hadoop.security.crypto.codec.classes.sm4.ctr.nopadding hadoop.security.crypto.jce.provider
hadoop.security.crypto.jce.provider.auto-add hadoop.security.crypto.jceks.key.serialfilter
hadoop.security.dns.interface hadoop.security.dns.log-slow-lookups.enabled
hadoop.security.dns.log-slow-lookups.threshold.ms hadoop.security.dns.nameserver
hadoop.security.group.mapping hadoop.security.group.mapping.ldap.base
hadoop.security.group.mapping.ldap.bind.password
hadoop.security.group.mapping.ldap.bind.password.alias
hadoop.security.group.mapping.ldap.bind.password.file hadoop.security.group.mapping.ldap.bind.user
hadoop.security.group.mapping.ldap.bind.users
hadoop.security.group.mapping.ldap.connection.timeout.ms
hadoop.security.group.mapping.ldap.conversion.rule
hadoop.security.group.mapping.ldap.ctx.factory.class
hadoop.security.group.mapping.ldap.directory.search.timeout
hadoop.security.group.mapping.ldap.group.search.filter.pattern
hadoop.security.group.mapping.ldap.groupbase hadoop.security.group.mapping.ldap.num.attempts
hadoop.security.group.mapping.ldap.num.attempts.before.failover
hadoop.security.group.mapping.ldap.posix.attr.gid.name
hadoop.security.group.mapping.ldap.posix.attr.uid.name
hadoop.security.group.mapping.ldap.read.timeout.ms
hadoop.security.group.mapping.ldap.search.attr.group.name
hadoop.security.group.mapping.ldap.search.attr.member
hadoop.security.group.mapping.ldap.search.attr.memberof
hadoop.security.group.mapping.ldap.search.filter.group
hadoop.security.group.mapping.ldap.search.filter.user
hadoop.security.group.mapping.ldap.search.group.hierarchy.levels
hadoop.security.group.mapping.ldap.ssl hadoop.security.group.mapping.ldap.ssl.keystore
hadoop.security.group.mapping.ldap.ssl.keystore.password
hadoop.security.group.mapping.ldap.ssl.keystore.password.file
hadoop.security.group.mapping.ldap.ssl.truststore
hadoop.security.group.mapping.ldap.ssl.truststore.password.file
hadoop.security.group.mapping.ldap.url hadoop.security.group.mapping.ldap.userbase
hadoop.security.group.mapping.providers hadoop.security.group.mapping.providers.combined
hadoop.security.groups.cache.background.reload
hadoop.security.groups.cache.background.reload.threads hadoop.security.groups.cache.warn.after.ms
hadoop.security.groups.negative-cache.secs hadoop.security.groups.shell.command.timeout
hadoop.security.hostname.cache.expire-interval.seconds
hadoop.security.instrumentation.requires.admin
hadoop.security.java.secure.random.algorithm hadoop.security.kerberos.ticket.cache.path
hadoop.security.key.default.bitlength hadoop.security.key.default.cipher
hadoop.security.key.provider.path hadoop.security.kms.client.authentication.retry-count
hadoop.security.kms.client.encrypted.key.cache.expiry
hadoop.security.kms.client.encrypted.key.cache.low-watermark
hadoop.security.kms.client.encrypted.key.cache.num.refill.threads
hadoop.security.kms.client.encrypted.key.cache.size
hadoop.security.kms.client.failover.max.retries
hadoop.security.kms.client.failover.sleep.base.millis
hadoop.security.kms.client.failover.sleep.max.millis hadoop.security.kms.client.timeout
hadoop.security.openssl.engine.id hadoop.security.random.device.file.path
hadoop.security.resolver.impl hadoop.security.sasl.CustomizedCallbackHandler.class
hadoop.security.sasl.mechanism hadoop.security.saslproperties.resolver.class
hadoop.security.secret-manager.key-generator.algorithm hadoop.security.secret-manager.key-length
hadoop.security.secure.random.impl hadoop.security.sensitive-config-keys
hadoop.security.service.user.name.key hadoop.security.token.service.use_ip
hadoop.security.uid.cache.secs hadoop.service.shutdown.timeout
hadoop.shell.missing.defaultFs.warning hadoop.shell.safely.delete.limit.num.files
hadoop.socks.server hadoop.ssl.client.conf hadoop.ssl.enabled.protocols
hadoop.ssl.hostname.verifier hadoop.ssl.keystores.factory.class hadoop.ssl.require.client.cert
hadoop.ssl.server.conf hadoop.system.tags hadoop.tags.custom hadoop.tags.system hadoop.token.files
hadoop.tokens hadoop.user.group.metrics.percentiles.intervals hadoop.util.hash.type
hadoop.workaround.non.threadsafe.getpwuid hadoop.zk.acl hadoop.zk.address hadoop.zk.auth
hadoop.zk.kerberos.keytab hadoop.zk.kerberos.principal hadoop.zk.num-retries
hadoop.zk.retry-interval-ms hadoop.zk.server.principal hadoop.zk.ssl.enabled
hadoop.zk.ssl.keystore.location hadoop.zk.ssl.keystore.password hadoop.zk.ssl.truststore.location
hadoop.zk.ssl.truststore.password hadoop.zk.timeout-ms httpfs.buffer.size
io.compression.codec.bzip2.library io.compression.codec.lz4.buffersize
io.compression.codec.lz4.use.lz4hc io.compression.codec.lzo.buffersize
io.compression.codec.lzo.class io.compression.codec.snappy.buffersize
io.compression.codec.zstd.buffersize io.compression.codec.zstd.level io.compression.codecs
io.erasurecode.codec.native.enabled io.erasurecode.codec.rs-legacy.rawcoders
io.erasurecode.codec.rs.rawcoders io.erasurecode.codec.xor.rawcoders io.map.index.interval
io.map.index.skip io.mapfile.bloom.error.rate io.mapfile.bloom.size io.seqfile.compress.blocksize
io.seqfile.local.dir io.serializations io.skip.checksum.errors ipc.backoff.enable
ipc.callqueue.impl ipc.callqueue.overflow.trigger.failover ipc.client.async.calls.max
ipc.client.bind.wildcard.addr ipc.client.connect.max.retries.on.sasl
ipc.client.connection.idle-scan-interval.ms ipc.client.fallback-to-simple-auth-allowed
ipc.client.kill.max ipc.client.low-latency ipc.cost-provider.impl ipc.identity-provider.impl
ipc.scheduler.impl ipc.server.handler.queue.size ipc.server.log.slow.rpc
ipc.server.log.slow.rpc.threshold.ms ipc.server.max.response.size
ipc.server.metrics.update.runner.interval ipc.server.purge.interval
ipc.server.read.connection-queue.size ipc.server.read.threadpool.size ipc.server.reuseaddr
ipc.server.tcpnodelay net.topology.configured.node.mapping
net.topology.dependency.script.file.name net.topology.impl nfs.allow.insecure.ports nfs.dump.dir
nfs.exports.allowed.hosts nfs.kerberos.principal nfs.keytab.file nfs.mountd.port nfs.rtmax
nfs.server.port nfs.wtmax rpc.metrics.percentiles.intervals rpc.metrics.quantile.enable
rpc.metrics.timeunit tfile.fs.input.buffer.size tfile.fs.output.buffer.size tfile.io.chunk.size
dfs.federation.router.admin.handler.count dfs.federation.router.admin.mount.check.enable
dfs.federation.router.client.reject.overload dfs.federation.router.client.retry.max.attempts
dfs.federation.router.client.thread-size dfs.federation.router.connect.max.retries.on.timeouts
dfs.federation.router.connection.clean.ms dfs.federation.router.connection.creator.queue-size
dfs.federation.router.connection.min-active-ratio dfs.federation.router.connection.pool-size
dfs.federation.router.dn-report.cache-expire dfs.federation.router.dn-report.time-out
dfs.federation.router.enable.get.dn.usage dfs.federation.router.enable.multiple.socket
dfs.federation.router.fairness.acquire.timeout
dfs.federation.router.fairness.policy.controller.class
dfs.federation.router.federation.rename.bandwidth dfs.federation.router.federation.rename.delay
dfs.federation.router.federation.rename.diff
dfs.federation.router.federation.rename.force.close.open.file
dfs.federation.router.federation.rename.map dfs.federation.router.federation.rename.option
dfs.federation.router.federation.rename.trash dfs.federation.router.file.resolver.client.class
dfs.federation.router.fs-limits.max-component-length dfs.federation.router.handler.count
dfs.federation.router.handler.queue.size dfs.federation.router.heartbeat-state.interval
dfs.federation.router.heartbeat.enable
dfs.federation.router.https-address dfs.federation.router.https-bind-host
dfs.federation.router.kerberos.internal.spnego.principal dfs.federation.router.kerberos.principal
dfs.federation.router.kerberos.principal.hostname dfs.federation.router.keytab.file
dfs.federation.router.max.concurrency.per.connection dfs.federation.router.metrics.class
dfs.federation.router.metrics.enable dfs.federation.router.monitor.localnamenode.enable
dfs.federation.router.monitor.namenode.nameservice.resolution-enabled
dfs.federation.router.monitor.namenode.nameservice.resolver.impl
dfs.federation.router.mount-table.cache.enable dfs.federation.router.mount-table.cache.update
dfs.federation.router.mount-table.cache.update.client.max.time
dfs.federation.router.mount-table.cache.update.timeout
dfs.federation.router.mount-table.max-cache-size dfs.federation.router.namenode.heartbeat.enable
dfs.federation.router.namenode.heartbeat.jmx.interval
dfs.federation.router.namenode.resolver.client.class
dfs.federation.router.observer.federated.state.propagation.maxsize
dfs.federation.router.observer.state.id.refresh.period dfs.federation.router.reader.count
dfs.federation.router.reader.queue.size dfs.federation.router.rpc.enable
dfs.federation.router.safemode.checkperiod dfs.federation.router.safemode.extension
dfs.federation.router.secret.manager.class dfs.federation.router.store.connection.test
dfs.federation.router.store.driver.file.async.threads
dfs.federation.router.store.driver.fs.async.threads
dfs.federation.router.store.driver.zk.async.max.threads
dfs.federation.router.store.driver.zk.parent-path dfs.federation.router.store.enable
dfs.federation.router.store.membership.expiration
dfs.federation.router.store.membership.expiration.deletion
dfs.federation.router.store.router.expiration dfs.federation.router.store.router.expiration.deletion
dfs.federation.router.store.serializer dfs.federation.router.top.num.token.realowners
"""

HADOOP_NAMES = frozenset(_NAMES.split())
