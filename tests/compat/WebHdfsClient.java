import java.io.FileNotFoundException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.QuotaUsage;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.XAttrSetFlag;
import org.apache.hadoop.fs.permission.AclEntry;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.web.WebHdfsFileSystem;
import org.apache.hadoop.fs.StorageType;

/**
 * Does everything through WebHdfsFileSystem, and compares what it shows with what
 * DistributedFileSystem shows of the same cluster. Arguments: hdfs and webhdfs addresses.
 */
public class WebHdfsClient {
    private static int compared = 0;

    interface Look<T> {
        T look() throws Exception;
    }

    static <T> T same(String what, Look<T> web, Look<T> rpc) throws Exception {
        T one = web.look();
        T other = rpc.look();
        if (!Objects.deepEquals(one, other)) {
            throw new AssertionError(what + ": " + one + " over HTTP, " + other + " over RPC");
        }
        compared++;
        return one;
    }

    static void check(String what, boolean holds) {
        if (!holds) {
            throw new AssertionError(what);
        }
        compared++;
    }

    static void fails(String what, Class<?> with, Look<?> web) throws Exception {
        try {
            web.look();
        } catch (Exception error) {
            if (!with.isInstance(error)) {
                throw new AssertionError(what + " failed with " + error, error);
            }
            compared++;
            return;
        }
        throw new AssertionError(what + " did not fail");
    }

    static String shown(FileStatus status) {
        return Path.getPathWithoutSchemeAndAuthority(status.getPath()) + " " + status.getLen()
            + " " + status.isDirectory() + " " + status.getReplication() + " "
            + status.getBlockSize() + " " + status.getModificationTime() + " "
            + status.getAccessTime() + " " + status.getPermission() + " " + status.getOwner()
            + " " + status.getGroup() + " " + status.hasAcl() + " " + status.isSnapshotEnabled();
    }

    static String shown(BlockLocation[] blocks) throws Exception {
        StringBuilder text = new StringBuilder();
        for (BlockLocation block : blocks) {
            String[] names = block.getNames();
            String[] hosts = block.getHosts();
            Arrays.sort(names);
            Arrays.sort(hosts);
            text.append(block.getOffset()).append(' ').append(block.getLength()).append(' ')
                .append(Arrays.toString(names)).append(Arrays.toString(hosts))
                .append(block.isCorrupt()).append('\n');
        }
        return text.toString();
    }

    static String shown(QuotaUsage usage) {
        // Java's own equals differs where a client leaves out what has no quota.
        return usage + " " + usage.getFileAndDirectoryCount() + " "
            + usage.getTypeQuota(StorageType.SSD) + " " + usage.getTypeConsumed(StorageType.SSD);
    }

    static byte[] all(InputStream stream) throws Exception {
        try (InputStream in = stream) {
            return in.readAllBytes();
        }
    }

    static Map<String, String> texts(Map<String, byte[]> values) {
        Map<String, String> found = new TreeMap<>();
        values.forEach((name, value) -> found.put(name, Arrays.toString(value)));
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set("fs.defaultFS", arguments[0]);
        conf.setLong("dfs.blocksize", 1 << 20);
        DistributedFileSystem rpc =
            (DistributedFileSystem) new Path(arguments[0]).getFileSystem(conf);
        for (int number = 1; number < arguments.length; number++) {
            compared = 0;
            compare(rpc, (WebHdfsFileSystem) new Path(arguments[number]).getFileSystem(conf));
            rpc.delete(new Path("/java"), true);
        }
    }

    static void compare(DistributedFileSystem rpc, WebHdfsFileSystem web) throws Exception {
        Path top = new Path("/java");
        Path file = new Path(top, "a file ü+%");
        byte[] data = new byte[3_000_000];
        new java.util.Random(1).nextBytes(data);

        // Files.
        check("mkdirs", web.mkdirs(new Path(top, "d/e"), new FsPermission((short) 0750)));
        try (OutputStream out = web.create(file, new FsPermission((short) 0640), false, 4096,
                (short) 1, 1 << 20, null)) {
            out.write(data);
        }
        check("read", Arrays.equals(data, all(web.open(file))));
        try (FSDataInputStream in = web.open(file)) {
            byte[] part = new byte[1000];
            in.readFully(1_048_500, part);
            check("pread", Arrays.equals(part, Arrays.copyOfRange(data, 1_048_500, 1_049_500)));
            in.seek(2_999_990);
            check("seek", in.read() == (data[2_999_990] & 0xff));
        }
        try (OutputStream out = web.append(file)) {
            out.write(new byte[] {1, 2, 3});
        }
        same("length", () -> web.getFileStatus(file).getLen(), () -> 3_000_003L);
        same("status", () -> shown(web.getFileStatus(file)), () -> shown(rpc.getFileStatus(file)));
        same("checksum", () -> web.getFileChecksum(file), () -> rpc.getFileChecksum(file));
        same("blocks", () -> shown(web.getFileBlockLocations(file, 0, Long.MAX_VALUE)),
            () -> shown(rpc.getFileBlockLocations(file, 0, Long.MAX_VALUE)));
        fails("create again", FileAlreadyExistsException.class, () -> {
            web.create(file, false).close();
            return null;
        });
        fails("open nothing", FileNotFoundException.class, () -> web.open(new Path("/none")).read());
        fails("status of nothing", FileNotFoundException.class,
            () -> web.getFileStatus(new Path("/none")));
        check("truncate", web.truncate(file, 1 << 20));
        Path empty = new Path(top, "empty");
        web.create(empty).close();
        check("empty", all(web.open(empty)).length == 0);
        for (String name : List.of("one", "two")) {
            try (OutputStream out = web.create(new Path(top, name))) {
                out.write(name.getBytes());
            }
        }
        web.concat(new Path(top, "one"), new Path[] {new Path(top, "two")});
        check("concat", new String(all(web.open(new Path(top, "one")))).equals("onetwo"));

        // Names.
        check("rename", web.rename(new Path(top, "d"), new Path(top, "f")));
        check("rename nothing", !web.rename(new Path(top, "d"), new Path(top, "g")));
        check("delete", web.delete(new Path(top, "f"), true));
        check("delete nothing", !web.delete(new Path(top, "f"), true));
        same("listing", () -> Arrays.toString(Arrays.stream(list(web, top)).toArray()),
            () -> Arrays.toString(Arrays.stream(list(rpc, top)).toArray()));
        RemoteIterator<FileStatus> pages = web.listStatusIterator(top);
        int count = 0;
        while (pages.hasNext()) {
            pages.next();
            count++;
        }
        check("batches", count == rpc.listStatus(top).length);

        // Attributes.
        web.setPermission(file, new FsPermission((short) 0604));
        web.setOwner(file, "ann", "staff");
        web.setTimes(file, 12345, 67890);
        web.setReplication(file, (short) 2);
        same("attributes", () -> shown(web.getFileStatus(file)),
            () -> shown(rpc.getFileStatus(file)));
        web.modifyAclEntries(top, AclEntry.parseAclSpec("user:bob:rw-,default:user::rwx", true));
        same("acl", () -> web.getAclStatus(top), () -> rpc.getAclStatus(top));
        same("acl bit", () -> shown(web.getFileStatus(top)), () -> shown(rpc.getFileStatus(top)));
        web.removeAclEntries(top, AclEntry.parseAclSpec("user:bob", false));
        web.removeDefaultAcl(top);
        web.removeAcl(top);
        same("no acl", () -> web.getAclStatus(top), () -> rpc.getAclStatus(top));
        web.setXAttr(file, "user.a", new byte[] {0, 1, -1}, EnumSet.of(XAttrSetFlag.CREATE));
        web.setXAttr(file, "user.b", "text".getBytes());
        same("xattrs", () -> texts(web.getXAttrs(file)), () -> texts(rpc.getXAttrs(file)));
        same("xattr", () -> web.getXAttr(file, "user.a"), () -> rpc.getXAttr(file, "user.a"));
        same("names", () -> web.listXAttrs(file), () -> rpc.listXAttrs(file));
        web.removeXAttr(file, "user.a");
        web.access(file, FsAction.READ);
        web.setQuota(top, 100, 1L << 40);
        web.setQuotaByStorageType(top, StorageType.SSD, 1 << 30);
        same("summary", () -> shown(web.getContentSummary(top)),
            () -> shown(rpc.getContentSummary(top)));
        same("usage", () -> shown(web.getQuotaUsage(top)), () -> shown(rpc.getQuotaUsage(top)));
        check("quota", web.getQuotaUsage(top).getTypeQuota(StorageType.SSD) == 1 << 30);
        same("policies", () -> List.copyOf(web.getAllStoragePolicies()).toString(),
            () -> List.copyOf(rpc.getAllStoragePolicies()).toString());
        web.setStoragePolicy(top, "COLD");
        same("policy", () -> web.getStoragePolicy(top).toString(),
            () -> rpc.getStoragePolicy(top).toString());
        web.unsetStoragePolicy(top);
        web.satisfyStoragePolicy(file);

        // Snapshots.
        web.allowSnapshot(top);
        same("snapshot", () -> web.createSnapshot(top, "s1").toUri().getPath(),
            () -> "/java/.snapshot/s1");
        web.mkdirs(new Path(top, "later"));
        web.createSnapshot(top, "s2");
        web.renameSnapshot(top, "s2", "s3");
        same("diff", () -> web.getSnapshotDiffReport(top, "s1", "s3").toString(),
            () -> rpc.getSnapshotDiffReport(top, "s1", "s3").toString());
        same("snapshottable", () -> web.getSnapshottableDirectoryList()[0].getFullPath(),
            () -> rpc.getSnapshottableDirListing()[0].getFullPath());
        same("snapshots", () -> web.getSnapshotListing(top)[1].getFullPath(),
            () -> rpc.getSnapshotListing(top)[1].getFullPath());
        web.deleteSnapshot(top, "s1");
        web.deleteSnapshot(top, "s3");
        web.disallowSnapshot(top);

        // The filesystem.
        same("home", () -> web.getHomeDirectory().toUri().getPath(),
            () -> rpc.getHomeDirectory().toUri().getPath());
        same("trash", () -> web.getTrashRoot(file).toUri().getPath(),
            () -> rpc.getTrashRoot(file).toUri().getPath());
        same("defaults", () -> web.getServerDefaults(file).getBlockSize(),
            () -> rpc.getServerDefaults(file).getBlockSize());
        same("space", () -> web.getStatus().getCapacity(), () -> rpc.getStatus().getCapacity());
        System.out.println("compared " + compared);
    }

    static String[] list(org.apache.hadoop.fs.FileSystem fs, Path path) throws Exception {
        return Arrays.stream(fs.listStatus(path)).map(WebHdfsClient::shown).toArray(String[]::new);
    }
}
