import java.io.*;
import java.lang.reflect.Method;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.*;
import org.apache.hadoop.fs.permission.*;
import org.apache.hadoop.hdfs.*;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream.SyncFlag;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream;
import org.apache.hadoop.hdfs.protocol.*;
import org.apache.hadoop.hdfs.server.blockmanagement.CombinedHostFileManager;
import org.apache.hadoop.hdfs.server.blockmanagement.HostConfigManager;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.tools.DFSck;
import org.apache.hadoop.hdfs.tools.DebugAdmin;
import org.apache.hadoop.hdfs.tools.offlineEditsViewer.*;
import org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB;
import org.apache.hadoop.hdfs.tools.offlineImageViewer.WebImageViewer;
import org.apache.hadoop.net.DNSToSwitchMapping;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.util.ToolRunner;

/**
 * Hadoop's viewers, and its namenode, in one JVM: starting one costs seconds. A line
 * on standard input is a command, its words parted by tabs; it is answered by "ok"
 * or by what went wrong, on standard output.
 */
public class HadoopTools {
  static NameNode namenode;
  static DataNode datanode;
  static DistributedFileSystem fs;
  static Configuration hostsConf;
  /** Of the namenode that is served, each "key=value". */
  static String[] settings = {};

  public static void main(String[] ignored) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    Thread.setDefaultUncaughtExceptionHandler((thread, error) -> error.printStackTrace());
    DefaultMetricsSystem.setMiniClusterMode(true);
    FileSystem.enableSymlinks();
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line;
    while ((line = commands.readLine()) != null) {
      String[] words = line.split("\t", -1);
      String[] rest = Arrays.copyOfRange(words, 1, words.length);
      // In a thread of its own: the viewers keep operations by thread, and do not clear them.
      Thread thread = new Thread(() -> answers.println(outcome(words[0], rest)));
      thread.start();
      thread.join();
      answers.flush();
    }
    Runtime.getRuntime().halt(0);
  }

  static String outcome(String command, String[] words) {
    try {
      run(command, words);
      return "ok";
    } catch (Throwable error) {
      error.printStackTrace();
      return "failed: " + error.toString().replace('\n', ' ');
    }
  }

  static void run(String command, String[] words) throws Exception {
    switch (command) {
      case "oiv": check(OfflineImageViewerPB.run(words)); break;
      case "oev": check(ToolRunner.run(new OfflineEditsViewer(), words)); break;
      case "rewrite": rewrite(words[0], words[1]); break;
      case "ask": ask(words[0], words[1], Arrays.copyOfRange(words, 2, words.length)); break;
      case "start": start(new File(words[0]), null); break;
      case "serve":
        settings = Arrays.copyOfRange(words, 1, words.length);
        serve(new File(words[0]));
        break;
      case "name": name(new File(words[0])); break;
      case "refresh": obey(); break;
      case "fsck": fsck(words); break;
      case "debug": debug(words); break;
      case "make": make(new File(words[0]), words[1], words[2]); break;
      case "ordered":
        settings = new String[] {"dfs.namenode.snapshot.deletion.ordered=true",
            "dfs.namenode.snapshot.deletion.ordered.gc.period.ms=100"};
        try {
          ordered(new File(words[0]));
        } finally {
          settings = new String[0];
        }
        break;
      case "cached": cached(words[0], words[1]); break;
      case "list": list(words[0], Arrays.copyOfRange(words, 1, words.length)); break;
      case "coded": coded(words[0], Arrays.copyOfRange(words, 1, words.length)); break;
      case "upgrade": start(new File(words[0]), null, "-upgrade"); break;
      case "rolling": start(new File(words[0]), null, "-rollingUpgrade", words[1]); break;
      case "prepare": prepare(words[0], words[1]); break;
      case "end": check(fs.rollingUpgrade(
          HdfsConstants.RollingUpgradeAction.FINALIZE).isFinalized() ? 0 : 1); break;
      case "finalize": fs.finalizeUpgrade(); break;
      case "rollback": check(NameNode.doRollback(conf(new File(words[0])), false) ? 1 : 0); break;
      case "stop": stop(); break;
      default: throw new IllegalArgumentException(command);
    }
  }

  /** A directory, a rolling upgrade of a namenode that is alone, and another directory. */
  static void prepare(String before, String after) throws Exception {
    fs.mkdirs(new Path(before));
    fs.setSafeMode(HdfsConstants.SafeModeAction.SAFEMODE_ENTER);
    fs.rollingUpgrade(HdfsConstants.RollingUpgradeAction.PREPARE);
    fs.mkdirs(new Path(after));
  }

  static void check(int status) {
    if (status != 0) throw new IllegalStateException("exit status " + status);
  }

  /**
   * Reads an edit log with Hadoop's reader and writes each record with Hadoop's writer. The
   * viewer itself refuses to go from binary to binary, and its XML loses fields; so its parts
   * are joined.
   */
  static void rewrite(String log, String output) throws Exception {
    Class<?> factory = Class.forName("org.apache.hadoop.hdfs.tools.offlineEditsViewer"
        + ".OfflineEditsLoader$OfflineEditsLoaderFactory");
    Method create = factory.getDeclaredMethod("createLoader", OfflineEditsVisitor.class,
        String.class, boolean.class, OfflineEditsViewer.Flags.class);
    create.setAccessible(true);
    OfflineEditsVisitor visitor = new BinaryEditsVisitor(output);
    Object loader = create.invoke(null, visitor, log, false, new OfflineEditsViewer.Flags());
    Method load = loader.getClass().getDeclaredMethod("loadEdits");
    load.setAccessible(true);
    load.invoke(loader);
  }

  /** Requests to the processor Web; every answer's status and body go to a file. */
  static void ask(String image, String output, String[] targets) throws Exception {
    try (WebImageViewer viewer = new WebImageViewer(new InetSocketAddress("127.0.0.1", 0));
        PrintStream out = new PrintStream(output, StandardCharsets.UTF_8)) {
      viewer.initServer(image);
      for (String target : targets) {
        URL url = new URL("http://127.0.0.1:" + viewer.getPort() + target);
        HttpURLConnection asked = (HttpURLConnection) url.openConnection();
        int status = asked.getResponseCode();
        try (InputStream in = status < 400 ? asked.getInputStream() : asked.getErrorStream()) {
          String body = new String(in.readAllBytes(), StandardCharsets.UTF_8);
          out.println(status + " " + body.replace("\n", ""));
        }
      }
    }
  }

  static Configuration conf(File directory) {
    Configuration conf = new HdfsConfiguration();
    String any = "127.0.0.1:0";
    conf.set("fs.defaultFS", "hdfs://" + any);
    for (String key : new String[] {"namenode.rpc-address", "namenode.http-address",
        "datanode.address", "datanode.http.address", "datanode.ipc.address"}) {
      conf.set("dfs." + key, any);
    }
    conf.set("dfs.namenode.name.dir", new File(directory, "name").toURI().toString());
    conf.set("dfs.datanode.data.dir", new File(directory, "data").toURI().toString());
    conf.set("dfs.namenode.fs-limits.min-block-size", "512");
    conf.set("dfs.blocksize", "1024");
    conf.set("dfs.storage.policy.satisfier.mode", "external");
    conf.set("dfs.bytes-per-checksum", "512");
    conf.set("dfs.replication", "1");
    conf.set("dfs.namenode.safemode.threshold-pct", "0");
    conf.set("dfs.namenode.safemode.extension", "0");
    conf.set("dfs.namenode.accesstime.precision", "0");
    conf.set("dfs.heartbeat.interval", "1");
    // With it the namenode prints edits of caching that another thread has emptied, and fails.
    conf.set("dfs.namenode.edits.asynclogging", "false");
    for (String setting : settings) {
      conf.set(setting.split("=", 2)[0], setting.split("=", 2)[1]);
    }
    return conf;
  }

  /** A namenode on the directory's "name", and with a data directory a datanode. */
  static void start(File directory, File data, String... options) throws Exception {
    Configuration conf = conf(directory);
    if (data != null) NameNode.format(conf);
    namenode = NameNode.createNameNode(options, conf);
    conf.set("fs.defaultFS", "hdfs://127.0.0.1:" + namenode.getNameNodeAddress().getPort());
    conf.set("dfs.namenode.rpc-address", "127.0.0.1:" + namenode.getNameNodeAddress().getPort());
    if (data != null) datanode = DataNode.createDataNode(new String[0], conf);
    fs = (DistributedFileSystem) FileSystem.newInstance(conf);
    if (data != null) while (fs.getDataNodeStats().length == 0) Thread.sleep(20);
  }

  /** A new filesystem; the namenode's port stands in the directory's file "port". */
  static void serve(File directory) throws Exception {
    start(directory, new File(directory, "data"));
    String port = "" + namenode.getNameNodeAddress().getPort();
    Files.write(new File(directory, "port").toPath(), port.getBytes());
  }

  /** A new namenode without any datanode; where it answers is in the directory. */
  static void name(File directory) throws Exception {
    Configuration conf = conf(directory);
    conf.setClassLoader(HadoopTools.class.getClassLoader());
    conf.setClass("net.topology.node.switch.mapping.impl", Racks.class, DNSToSwitchMapping.class);
    conf.set("dfs.replication", "3");
    // It obeys this file, and makes nothing of it by itself.
    File hosts = new File(directory, "hosts.json");
    Files.write(hosts.toPath(), "".getBytes());
    conf.set("dfs.hosts", hosts.getPath());
    conf.setClass("dfs.namenode.hosts.provider.classname", CombinedHostFileManager.class,
        HostConfigManager.class);
    conf.set("dfs.namenode.decommission.interval", "3600");
    hostsConf = conf;
    NameNode.format(conf);
    namenode = NameNode.createNameNode(new String[0], conf);
    String ports = namenode.getNameNodeAddress().getPort() + " "
        + namenode.getHttpAddress().getPort();
    Files.write(new File(directory, "ports").toPath(), ports.getBytes());
  }

  /** Has the namenode read its host file; the call for that reads Hadoop's own files alone. */
  static void obey() throws Exception {
    namenode.getNamesystem().getBlockManager().getDatanodeManager().refreshNodes(hostsConf);
  }

  /** The rack of a datanode is the end of its host's name: r1 of dn2.r1. */
  public static class Racks implements DNSToSwitchMapping {
    public List<String> resolve(List<String> names) {
      List<String> racks = new ArrayList<>();
      for (String name : names) racks.add("/" + name.substring(name.indexOf('.') + 1));
      return racks;
    }
    public void reloadCachedMappings() {}
    public void reloadCachedMappings(List<String> names) {}
  }

  /** hdfs fsck: a file for exit code and output, the filesystem, its pages, and the words. */
  static void fsck(String[] words) throws Exception {
    Configuration conf = new HdfsConfiguration();
    conf.set("fs.defaultFS", words[1]);
    conf.set("dfs.namenode.http-address", words[2]);
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    DFSck fsck = new DFSck(conf, new PrintStream(said, true, "UTF-8"));
    int code = ToolRunner.run(fsck, Arrays.copyOfRange(words, 3, words.length));
    String all = (code & 255) + "\n" + said.toString("UTF-8");
    Files.write(new File(words[0]).toPath(), all.getBytes(StandardCharsets.UTF_8));
  }

  /** hdfs debug: a file for exit code, output and complaints, and the words. */
  static void debug(String[] words) throws Exception {
    PrintStream screen = System.out;
    PrintStream errors = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    ByteArrayOutputStream complained = new ByteArrayOutputStream();
    System.setOut(new PrintStream(said, true, "UTF-8"));
    System.setErr(new PrintStream(complained, true, "UTF-8"));
    int code;
    try {
      String[] rest = Arrays.copyOfRange(words, 1, words.length);
      code = ToolRunner.run(new DebugAdmin(new HdfsConfiguration()), rest);
    } finally {
      System.setOut(screen);
      System.setErr(errors);
    }
    String all = (code & 255) + "\u0001" + said.toString("UTF-8") + "\u0001"
        + complained.toString("UTF-8");
    Files.write(new File(words[0]).toPath(), all.getBytes(StandardCharsets.UTF_8));
  }

  static void stop() throws Exception {
    if (datanode != null) datanode.shutdown();
    namenode.stop();
    datanode = null;
    namenode = null;
  }

  /**
   * A filesystem with something of everything, half of it in an image and half behind;
   * with snapshots of a directory in either half that is named.
   */
  static void make(File directory, String early, String later) throws Exception {
    start(directory, new File(directory, "data"));
    fs.mkdirs(new Path("/user/alice/docs"));
    fs.setOwner(new Path("/user/alice"), "alice", "staff");
    fs.setPermission(new Path("/user/alice/docs"), new FsPermission((short) 01770));
    fs.mkdirs(new Path("/empty"));
    write("/user/alice/docs/three-blocks", 2500);
    write("/user/alice/docs/none", 0);
    write("/user/alice/docs/\u00e9\u6f22\ud83d\ude00 &<b>\\", 10);
    fs.setTimes(new Path("/user/alice/docs/none"), 1700000000000L, 1700000000001L);
    FSDataOutputStream open = fs.create(new Path("/user/alice/open"), (short) 2);
    open.write(new byte[1500]);
    open.hflush();
    write("/user/alice/appended", 700);
    FSDataOutputStream again = fs.append(new Path("/user/alice/appended"));
    again.write(new byte[10]);
    ((HdfsDataOutputStream) again).hsync(EnumSet.of(SyncFlag.UPDATE_LENGTH));
    attributes("/user", "/user/alice/docs", "/empty", "/link");
    if (!early.isEmpty()) snapshots(early);
    fs.setSafeMode(SafeModeAction.ENTER);
    fs.saveNamespace();
    fs.setSafeMode(SafeModeAction.LEAVE);
    fs.mkdirs(new Path("/later/docs"));
    fs.mkdirs(new Path("/later/cold"));
    write("/later/docs/none", 1025);
    write("/later/gone", 10);
    fs.delete(new Path("/later/gone"), true);
    write("/later/old", 10);
    fs.rename(new Path("/later/old"), new Path("/later/new"));
    attributes("/later", "/later/docs", "/later/cold", "/later/link");
    if (!later.isEmpty()) snapshots(later);
    FSDataOutputStream late = fs.create(new Path("/later/open"));
    late.write(new byte[100]);
    late.hflush();
  }

  /**
   * A filesystem in which snapshots are deleted in order: of three the youngest first, and then
   * the oldest. Both are gone in the end, and one was made of a name that was free again.
   */
  static void ordered(File directory) throws Exception {
    start(directory, new File(directory, "data"));
    Path top = new Path("/d");
    fs.mkdirs(top);
    fs.allowSnapshot(top);
    for (String name : new String[] {"s1", "s2", "s3"}) {
      fs.mkdirs(new Path(top, "before-" + name));
      fs.createSnapshot(top, name);
    }
    fs.deleteSnapshot(top, "s2");
    fs.createSnapshot(top, "s2");
    fs.deleteSnapshot(top, "s1");
    while (fs.getSnapshotListing(top).length > 2) Thread.sleep(20);
    fs.delete(new Path(top, "before-s1"), true);
  }

  static void attributes(String quota, String docs, String cold, String link) throws Exception {
    fs.createSymlink(new Path("/user/alice/docs"), new Path(link), false);
    fs.setAcl(new Path(docs), AclEntry.parseAclSpec(
        "user::rwx,user:bob:r-x,group::r-x,group:web:rwx,mask::rwx,other::---,"
        + "default:user::rwx,default:group::r-x,default:other::---", true));
    Path none = new Path(docs, "none");
    fs.setAcl(none, AclEntry.parseAclSpec("user::rw-,user:carol:rw-,group::r--,other::---", true));
    fs.setXAttr(none, "user.colour", new byte[] {0, (byte) 255, 98});
    fs.setXAttr(new Path(cold), "trusted.empty", new byte[0]);
    fs.setStoragePolicy(new Path(cold), "COLD");
    fs.setStoragePolicy(none, "ALL_SSD");
    fs.setQuota(new Path(quota), 100, 1L << 40);
    fs.setQuotaByStorageType(new Path(quota), StorageType.SSD, 1L << 30);
  }

  static void snapshots(String root) throws Exception {
    fs.mkdirs(new Path(root, "sub"));
    write(root + "/sub/kept", 1300);
    write(root + "/sub/removed", 600);
    write(root + "/sub/longer", 100);
    write(root + "/old/a", 1100);
    write(root + "/box/a", 100);
    write(root + "/box/b", 1100);
    fs.allowSnapshot(new Path(root));
    fs.createSnapshot(new Path(root), "s1");
    fs.delete(new Path(root, "sub/removed"), false);
    fs.delete(new Path(root, "old"), true);
    fs.delete(new Path(root, "box/a"), true);
    fs.rename(new Path(root, "box"), new Path(root, "case"));
    fs.setReplication(new Path(root, "case/b"), (short) 3);
    fs.truncate(new Path(root, "case/b"), 1024);
    fs.rename(new Path(root, "sub/kept"), new Path("/user/moved" + root.length()));
    write(root + "/sub/new", 5);
    try (FSDataOutputStream out = fs.append(new Path(root, "sub/longer"))) {
      out.write(new byte[2000]);
    }
    fs.setPermission(new Path(root, "sub"), new FsPermission((short) 0700));
    fs.createSnapshot(new Path(root), "s2");
    write(root + "/after", 5);
    fs.delete(new Path(root, "case"), true);
    fs.setReplication(new Path(root, "sub/longer"), (short) 2);
    fs.renameSnapshot(new Path(root), "s2", "second");
  }

  static void write(String path, int length) throws IOException {
    try (FSDataOutputStream out = fs.create(new Path(path))) {
      out.write(new byte[length]);
    }
  }

  /** All that a namenode says of what is under some paths, a line each, to a file. */
  /** Makes a cache pool of that name with a directive, and an image; all pools and directives
   * stand in the file then. */
  static void cached(String output, String pool) throws Exception {
    fs.addCachePool(new CachePoolInfo(pool).setGroupName("g").setLimit(5L));
    fs.addCacheDirective(new CacheDirectiveInfo.Builder().setPath(new Path("/of/" + pool))
        .setPool(pool).setReplication((short) 3).build());
    fs.setSafeMode(HdfsConstants.SafeModeAction.SAFEMODE_ENTER);
    fs.saveNamespace();
    fs.setSafeMode(HdfsConstants.SafeModeAction.SAFEMODE_LEAVE);
    try (PrintStream out = new PrintStream(output, StandardCharsets.UTF_8)) {
      for (RemoteIterator<CachePoolEntry> each = fs.listCachePools(); each.hasNext();) {
        CachePoolInfo info = each.next().getInfo();
        out.println(info.getPoolName() + " " + info.getOwnerName() + " " + info.getGroupName()
            + " " + info.getMode().toShort() + " " + info.getLimit());
      }
      RemoteIterator<CacheDirectiveEntry> entries = fs.listCacheDirectives(null);
      while (entries.hasNext()) {
        CacheDirectiveInfo info = entries.next().getInfo();
        out.println(info.getId() + " " + info.getPath().toUri().getPath() + " "
            + info.getReplication() + " " + info.getPool());
      }
    }
  }

  static void list(String output, String[] roots) throws Exception {
    try (PrintStream out = new PrintStream(output, StandardCharsets.UTF_8)) {
      for (String root : roots) list(out, root);
    }
  }

  static void list(PrintStream out, String path) throws Exception {
    DFSClient client = fs.getClient();
    HdfsFileStatus status = client.getFileLinkInfo(path);
    if (status == null) throw new FileNotFoundException(path);
    boolean live = !path.contains("/.snapshot");
    StringJoiner line = new StringJoiner("\t");
    line.add(path);
    line.add(status.isSymlink() ? "link" : status.isDirectory() ? "directory" : "file");
    line.add("" + status.getLen());
    line.add(String.format("%o", status.getPermission().toShort()));
    line.add(status.getOwner()).add(status.getGroup());
    line.add("" + status.getReplication()).add("" + status.getBlockSize());
    line.add("" + status.getModificationTime()).add("" + status.getAccessTime());
    line.add("" + status.getStoragePolicy()).add("" + status.getFileId());
    if (status.isSymlink()) {
      line.add(client.getLinkTarget(path));
    } else {
      line.add(client.getAclStatus(path).getEntries().toString());
      StringJoiner xattrs = new StringJoiner(",", "{", "}");
      for (Map.Entry<String, byte[]> each : new TreeMap<>(client.getXAttrs(path)).entrySet()) {
        String value = String.format("%x", new java.math.BigInteger(1, each.getValue()));
        xattrs.add(each.getKey() + "=" + each.getValue().length + ":" + value);
      }
      line.add(xattrs.toString());
    }
    if (status.isDirectory()) {
      ContentSummary summary = fs.getContentSummary(new Path(path));
      line.add(summary.getDirectoryCount() + " " + summary.getFileCount());
      line.add(summary.getLength() + " " + summary.getSpaceConsumed());
      line.add(summary.getSnapshotDirectoryCount() + " " + summary.getSnapshotFileCount());
      line.add(summary.getSnapshotLength() + " " + summary.getSnapshotSpaceConsumed());
      if (live) {
        QuotaUsage usage = fs.getQuotaUsage(new Path(path));
        line.add(usage.getFileAndDirectoryCount() + " " + usage.getSpaceConsumed());
      }
      line.add(summary.getQuota() + " " + summary.getSpaceQuota());
      line.add("" + summary.getTypeQuota(StorageType.SSD));
    } else if (!status.isSymlink()) {
      if (live) line.add(client.isFileClosed(path) ? "closed" : "open");
      StringJoiner blocks = new StringJoiner(",");
      LocatedBlocks located = client.getLocatedBlocks(path, 0, Long.MAX_VALUE);
      for (LocatedBlock block : located.getLocatedBlocks()) {
        ExtendedBlock b = block.getBlock();
        blocks.add(b.getBlockId() + "_" + b.getGenerationStamp() + ":" + b.getNumBytes());
      }
      line.add(blocks.toString());
    }
    out.println(line);
    if (!status.isDirectory()) return;
    byte[] after = HdfsFileStatus.EMPTY_NAME;
    DirectoryListing page;
    do {
      page = client.listPaths(path, after);
      for (HdfsFileStatus each : page.getPartialListing()) list(out, each.getFullName(path));
      after = page.getLastName();
    } while (page.hasMore());
  }

  /** The erasure coding policies of users with their states, and the one that each path has. */
  static void coded(String output, String[] roots) throws Exception {
    try (PrintStream out = new PrintStream(output, StandardCharsets.UTF_8)) {
      for (ErasureCodingPolicyInfo each : fs.getAllErasureCodingPolicies()) {
        ErasureCodingPolicy policy = each.getPolicy();
        if (policy.isSystemPolicy()) continue;
        out.println(policy.getName() + " " + policy.getId() + "\t" + each.getState());
      }
      for (String root : roots) coded(out, root);
    }
  }

  static void coded(PrintStream out, String path) throws Exception {
    DFSClient client = fs.getClient();
    HdfsFileStatus status = client.getFileLinkInfo(path);
    ErasureCodingPolicy policy = status.getErasureCodingPolicy();
    out.println(path + "\t" + (policy == null ? "" : policy.getName()));
    if (!status.isDirectory()) return;
    byte[] after = HdfsFileStatus.EMPTY_NAME;
    DirectoryListing page;
    do {
      page = client.listPaths(path, after);
      for (HdfsFileStatus each : page.getPartialListing()) coded(out, each.getFullName(path));
      after = page.getLastName();
    } while (page.hasMore());
  }
}
