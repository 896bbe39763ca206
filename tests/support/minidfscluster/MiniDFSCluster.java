package org.apache.hadoop.hdfs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.ha.ServiceFailedException;
import org.apache.hadoop.hdfs.client.BlockReportOptions;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.FsDatasetTestUtils;
import org.apache.hadoop.hdfs.server.datanode.RemoteDataNode;
import org.apache.hadoop.hdfs.server.datanode.ReplicaFiles;
import org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException;
import org.apache.hadoop.hdfs.server.namenode.FSNamesystem;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.server.namenode.RemoteNameNode;
import org.apache.hadoop.hdfs.server.protocol.NamenodeProtocols;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.ipc.StandbyException;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.net.DNSToSwitchMapping;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.net.StaticMapping;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.test.GenericTestUtils;

/**
 * Stands where Hadoop's tests expect the class of this name, before it on the class path. What they
 * ask of a cluster is asked of tests.support.hadoop.clusters, at the address that the system
 * property "howdah.clusters" has. Tests that look into a namenode find what its clients are told
 * (see RemoteNameNode), and of a datanode its addresses and files (RemoteDataNode, ReplicaFiles).
 * What is missing here, or an UnsupportedOperationException, only a test that looks into a process
 * can ask for.
 */
public class MiniDFSCluster implements AutoCloseable {
  public static final String PROP_TEST_BUILD_DATA = GenericTestUtils.SYSPROP_TEST_DATA_DIR;
  public static final String HDFS_MINIDFS_BASEDIR = "hdfs.minidfs.basedir";

  private static final int RECONNECT_S = 30;
  private static final int HEDGED_READS_S = 10;
  private static final String GROUP_MAPPING = "hadoop.security.group.mapping";
  private static final String KEPT_CONNECTION = "ipc.client.connection.maxidletime";
  private static final int KEPT_CONNECTION_MS = 100;
  private static final String REFUSED = "Operation failed: ";
  private static final String RACKS = "net.topology.node.switch.mapping.impl";

  static {
    // As Hadoop's does: some suites take it for granted.
    FileSystem.enableSymlinks();
    DefaultMetricsSystem.setMiniClusterMode(true);
  }

  private final Control control = new Control();
  private final Configuration conf;
  private final int id;
  /** Of the namenodes, each with a namespace of its own. */
  private final List<URI> uris = new ArrayList<>();

  private final List<String> https = new ArrayList<>();
  /** Addresses of HTTP over TLS; empty where there is none. */
  private final List<String> secure = new ArrayList<>();

  private final String directory;
  /** The nameservice of each namenode, where several take each other's place; else empty. */
  private final List<String> nameservices;

  private final List<String> ids;
  private final List<String> federated;

  private final Map<String, String> dataAddresses = new TreeMap<>();
  /** Of namenodes and datanodes, by their names. */
  private final Map<String, List<File>> directories = new TreeMap<>();

  private final int perDataNode;
  private final Map<Integer, NameNode> inside = new TreeMap<>();
  private final List<DataNodeProperties> running = new ArrayList<>();

  protected MiniDFSCluster(Builder wanted) throws IOException {
    conf = wanted.conf;
    if (wanted.impossible != null) {
      throw new UnsupportedOperationException(wanted.impossible);
    }
    perDataNode = wanted.storages == null ? 1 : wanted.storages[0].length;
    Map<String, Object> call = new LinkedHashMap<>();
    call.put("call", "start");
    call.put("conf", valuesSetIn(conf));
    call.put("datanodes", wanted.dataNodes);
    call.put("racks", wanted.racks == null ? racksOf(wanted.hosts) : wanted.racks);
    call.put("hosts", wanted.hosts);
    call.put("storages", wanted.storages);
    int namespaces =
        wanted.nameservices.isEmpty()
            ? wanted.nameNodes
            : (int) wanted.nameservices.stream().distinct().count();
    call.put("namespaces", namespaces);
    call.put("namenodes", wanted.nameNodes / namespaces);
    call.put("format", wanted.format);
    call.put("groups", groupsOfTests() + mockedGroups(conf));
    JsonNode made = control.ask(call);
    id = made.get("cluster").asInt();
    for (JsonNode namenode : made.get("namenodes")) {
      String uri = namenode.get("uri").asText();
      // As addresses of several namespaces are shown that a test has put into its configuration.
      boolean isShown = !wanted.federated.isEmpty();
      uris.add(URI.create(isShown ? uri.replace("127.0.0.1", "localhost") : uri));
      https.add(namenode.get("http").asText());
      secure.add(namenode.get("https").asText());
    }
    directory = made.get("dir").asText();
    made.get("datanodes")
        .fields()
        .forEachRemaining(node -> dataAddresses.put(node.getKey(), node.getValue().asText()));
    for (String name : dataAddresses.keySet()) {
      running.add(properties(name, conf));
    }
    made.get("directories")
        .fields()
        .forEachRemaining(
            server -> {
              List<File> found = new ArrayList<>();
              server.getValue().forEach(each -> found.add(new File(each.asText())));
              directories.put(server.getKey(), found);
            });
    if (uris.size() == 1) {
      FileSystem.setDefaultUri(conf, getURI());
      conf.set("dfs.namenode.rpc-address", getURI().getAuthority());
      String http = URI.create(getHttpUri(0)).getAuthority();
      if (http != null) {
        conf.set("dfs.namenode.http-address", http);
      }
      if (!secure.get(0).isEmpty()) {
        conf.set("dfs.namenode.https-address", secure.get(0));
      }
    }
    // Where the namenode puts what "metaSave" writes.
    System.setProperty("hadoop.log.dir", directory + "/" + nameOf(0) + "/tmp");
    nameservices = wanted.nameservices;
    ids = wanted.ids;
    federated = wanted.federated;
    if (!nameservices.isEmpty()) {
      Map<String, List<String>> byNameservice = new LinkedHashMap<>();
      for (int index = 0; index < uris.size(); index++) {
        String nameservice = nameservices.get(index);
        byNameservice.computeIfAbsent(nameservice, each -> new ArrayList<>()).add(ids.get(index));
        String suffix = "." + nameservice + "." + ids.get(index);
        conf.set("dfs.namenode.rpc-address" + suffix, getURI(index).getAuthority());
        String http = URI.create(getHttpUri(index)).getAuthority();
        conf.set("dfs.namenode.http-address" + suffix, http);
      }
      conf.set("dfs.nameservices", String.join(",", byNameservice.keySet()));
      byNameservice.forEach(
          (name, of) -> conf.set("dfs.ha.namenodes." + name, String.join(",", of)));
    }
    if (!wanted.usesConfiguredMapping) {
      // Where clients look up which rack they are in.
      conf.setClass(RACKS, StaticMapping.class, DNSToSwitchMapping.class);
    }
    // A connection to a server that was restarted fails its next call: none is kept for long.
    conf.setInt(KEPT_CONNECTION, KEPT_CONNECTION_MS);
    conf.setInt("dfs.replication", Math.min(conf.getInt("dfs.replication", 3), wanted.dataNodes));
    if (!wanted.format) {
      // It has the data of the one before, and its addresses.
      for (int index = 0; index < uris.size(); index++) {
        reconnect(index);
      }
    }
  }

  /** Where tests have put these hosts for all of their Java process; null for no hosts. */
  private static String[] racksOf(String[] hosts) {
    if (hosts == null) {
      return null;
    }
    StaticMapping mapping = new StaticMapping();
    mapping.setConf(new Configuration(false));
    return mapping.resolve(Arrays.asList(hosts)).toArray(new String[0]);
  }

  /** The groups that tests gave their users: "user=group,group;user=". */
  private static String groupsOfTests() throws IOException {
    StringBuilder found = new StringBuilder();
    try {
      Field groups = UserGroupInformation.class.getDeclaredField("groups");
      groups.setAccessible(true);
      Object testing = groups.get(null);
      if (testing == null || !testing.getClass().getSimpleName().equals("TestingGroups")) {
        return "";
      }
      Field mapping = testing.getClass().getDeclaredField("userToGroupsMapping");
      mapping.setAccessible(true);
      for (Map.Entry<?, ?> user : ((Map<?, ?>) mapping.get(testing)).entrySet()) {
        List<String> names = new ArrayList<>();
        ((Collection<?>) user.getValue()).forEach(name -> names.add(name.toString()));
        found.append(user.getKey()).append('=').append(String.join(",", names)).append(';');
      }
    } catch (ReflectiveOperationException error) {
      throw new IOException(error);
    }
    return found.toString();
  }

  /** Those of a mapping that a test brings: a class with a table. */
  private static String mockedGroups(Configuration conf) throws IOException {
    String mapping = conf.get(GROUP_MAPPING, "");
    StringBuilder found = new StringBuilder();
    if (!mapping.startsWith("org.apache.hadoop.hdfs.DFSTestUtil$")) {
      return "";
    }
    try {
      for (Field field : conf.getClassByName(mapping).getDeclaredFields()) {
        field.setAccessible(true);
        if (Map.class.isAssignableFrom(field.getType()) && field.get(null) != null) {
          for (Map.Entry<?, ?> user : ((Map<?, ?>) field.get(null)).entrySet()) {
            String names = String.join(",", (String[]) user.getValue());
            found.append(user.getKey()).append('=').append(names).append(';');
          }
        }
      }
    } catch (ReflectiveOperationException error) {
      throw new IOException(error);
    }
    return found.toString();
  }

  /** What a test has set itself; the addresses and directories of servers are not for it to say. */
  private static Map<String, String> valuesSetIn(Configuration conf) {
    Map<String, String> values = new TreeMap<>();
    for (Map.Entry<String, String> entry : conf) {
      String name = entry.getKey();
      String[] sources = conf.getPropertySources(name);
      boolean isDefault = sources != null && sources[sources.length - 1].endsWith("-default.xml");
      if (!isDefault
          && name.matches("(dfs|fs|hadoop|io|ipc)\\..*")
          && !name.equals(KEPT_CONNECTION)
          // Its groups are handed on, see mockedGroups.
          && !name.equals(GROUP_MAPPING)
          // As the cluster before had it, without datanodes.
          && !(name.equals("dfs.replication") && entry.getValue().equals("0"))
          && !name.matches(".*(address|\\.dirs?|defaultFS|contract\\..*)")
          // As the cluster before had them.
          && !name.matches("dfs\\.(nameservices|ha\\.namenodes\\..*|.*address\\..*)")) {
        values.put(name, entry.getValue());
      }
    }
    if (FileSystem.areSymlinksEnabled()) {
      // A test turns links on for its process, in which Hadoop's namenode would be.
      values.put("howdah.client.symlinks.enabled", "true");
    }
    return values;
  }

  public MiniDFSCluster(Configuration conf, int dataNodes, StartupOption operation)
      throws IOException {
    this(new Builder(conf).numDataNodes(dataNodes).startupOption(operation));
  }

  public MiniDFSCluster(Configuration conf, int dataNodes, boolean format, String[] racks)
      throws IOException {
    this(new Builder(conf).numDataNodes(dataNodes).format(format).racks(racks));
  }

  public MiniDFSCluster(
      Configuration conf, int dataNodes, boolean format, String[] racks, String[] hosts)
      throws IOException {
    this(new Builder(conf).numDataNodes(dataNodes).format(format).racks(racks).hosts(hosts));
  }

  public static class Builder {
    private final Configuration conf;
    private int dataNodes = 1;
    private int nameNodes = 1;
    private final List<String> nameservices = new ArrayList<>();
    private final List<String> ids = new ArrayList<>();
    /** Of several namespaces, each with a namenode. */
    private final List<String> federated = new ArrayList<>();
    private String[] racks;
    private String[] hosts;
    /** The types, of each datanode or once for all. */
    private String[][] storages;
    private boolean format = true;
    private boolean usesConfiguredMapping;
    /** Why there can be no such cluster; null if there can. */
    private String impossible;

    public Builder(Configuration conf) {
      this.conf = conf;
      // As Hadoop's does: all datanodes are on one machine.
      conf.setIfUnset("dfs.namenode.redundancy.considerLoad", "false");
    }

    public Builder(Configuration conf, File directory) {
      this(conf);
    }

    public Builder numDataNodes(int count) {
      dataNodes = count;
      return this;
    }

    /** Namespaces over the same datanodes, each with as many namenodes as any other. */
    public Builder nnTopology(MiniDFSNNTopology topology) {
      int count = topology.getNameservices().get(0).getNNs().size();
      for (MiniDFSNNTopology.NSConf each : topology.getNameservices()) {
        if (each.getNNs().size() != count) {
          impossible = "nameservices with different numbers of namenodes";
        }
        if (topology.isHA()) {
          each.getNNs().forEach(namenode -> nameservices.add(each.getId()));
          each.getNNs().forEach(namenode -> ids.add(namenode.getNnId()));
        } else if (topology.countNameNodes() > 1) {
          federated.add(each.getId());
        }
      }
      nameNodes = topology.countNameNodes();
      return this;
    }

    public Builder racks(String[] racks) {
      this.racks = racks;
      return this;
    }

    public Builder format(boolean format) {
      this.format = format;
      return this;
    }

    public Builder storageTypes(StorageType[] types) {
      if (types == null) {
        return this;
      }
      return storageTypes(new StorageType[][] {types});
    }

    public Builder storageTypes(StorageType[][] types) {
      if (types == null) {
        return this;
      }
      boolean isSame = Arrays.stream(types).allMatch(each -> Arrays.equals(each, types[0]));
      storages =
          Arrays.stream(types)
              .limit(isSame ? 1 : types.length)
              .map(each -> Arrays.stream(each).map(StorageType::name).toArray(String[]::new))
              .toArray(String[][]::new);
      return this;
    }

    // What follows is as it is in any case.

    public Builder manageNameDfsDirs(boolean manages) {
      return this;
    }

    public Builder manageDataDfsDirs(boolean manages) {
      return this;
    }

    public Builder startupOption(StartupOption option) {
      if (option != null && option != StartupOption.REGULAR && option != StartupOption.FORMAT) {
        impossible = "a start with " + option;
      }
      return this;
    }

    public Builder dnStartupOption(StartupOption option) {
      return startupOption(option);
    }

    public Builder dataNodeConfOverlays(Configuration[] overlays) {
      if (overlays != null) {
        impossible = "datanodes that are configured one by one";
      }
      return this;
    }

    public Builder storageCapacities(long[] capacities) {
      if (capacities != null) {
        impossible = "volumes of a given size";
      }
      return this;
    }

    public Builder storageCapacities(long[][] capacities) {
      if (capacities != null) {
        impossible = "volumes of a given size";
      }
      return this;
    }

    public Builder simulatedCapacities(long[] capacities) {
      if (capacities != null) {
        impossible = "datanodes that simulate their volumes";
      }
      return this;
    }

    public Builder hosts(String[] hosts) {
      this.hosts = hosts;
      return this;
    }

    public Builder storagesPerDatanode(int count) {
      if (storages == null) {
        storages = new String[1][count];
        Arrays.fill(storages[0], "DISK");
      }
      return this;
    }

    public Builder setNNRedundancyConsiderLoad(boolean considers) {
      conf.setBoolean("dfs.namenode.redundancy.considerLoad", considers);
      return this;
    }

    public Builder manageNameDfsSharedDirs(boolean manages) {
      return this;
    }

    public Builder enableManagedDfsDirsRedundancy(boolean enables) {
      return this;
    }

    public Builder setupHostsFile(boolean sets) {
      return this;
    }

    public Builder checkDataNodeAddrConfig(boolean checks) {
      return this;
    }

    public Builder useConfiguredTopologyMappingClass(boolean uses) {
      usesConfiguredMapping = uses;
      return this;
    }

    public Builder skipFsyncForTesting(boolean skips) {
      return this;
    }

    public Builder nameNodeHttpPort(int port) {
      return this;
    }

    public Builder waitSafeMode(boolean waits) {
      return this;
    }

    public Builder checkExitOnShutdown(boolean checks) {
      return this;
    }

    public Builder checkDataNodeHostConfig(boolean checks) {
      return this;
    }

    public Builder clusterId(String clusterId) {
      return this;
    }

    public Builder nameNodePort(int port) {
      return this;
    }


    public MiniDFSCluster build() throws IOException {
      return new MiniDFSCluster(this);
    }
  }

  /** A datanode that was stopped, to be given back for its restart. */
  public static class DataNodeProperties {
    final String name;
    final Configuration conf;
    private final Supplier<DataNode> datanode;

    DataNodeProperties(String name, Configuration conf, Supplier<DataNode> datanode) {
      this.name = name;
      this.conf = conf;
      this.datanode = datanode;
    }

    public DataNode getDatanode() {
      return datanode.get();
    }

    public void setDnArgs(String... arguments) {
      if (arguments.length > 0) {
        throw new UnsupportedOperationException(String.join(" ", arguments));
      }
    }
  }

  /** A namenode of several; it has its address. */
  public static class NameNodeInfo {
    public NameNode nameNode;
    Configuration conf;
    String nameserviceId;
    String nnId;

    NameNodeInfo(NameNode nameNode, Configuration conf, String nameserviceId, String nnId) {
      this.nameNode = nameNode;
      this.conf = conf;
      this.nameserviceId = nameserviceId;
      this.nnId = nnId;
    }

    public String getNameserviceId() {
      return nameserviceId;
    }

    public String getNamenodeId() {
      return nnId;
    }
  }

  public NameNodeInfo[] getNameNodeInfos() throws IOException {
    NameNodeInfo[] found = new NameNodeInfo[uris.size()];
    for (int index = 0; index < found.length; index++) {
      String nnId = nameservices.isEmpty() ? null : ids.get(index);
      List<String> own = nameservices.isEmpty() ? federated : nameservices;
      String nameservice = own.isEmpty() ? null : own.get(index);
      found[index] = new NameNodeInfo(getNameNode(index), conf, nameservice, nnId);
    }
    return found;
  }

  /** Of the nameservice of that number; all of them where each has a single one. */
  public NameNodeInfo[] getNameNodeInfos(int number) throws IOException {
    List<String> names = new ArrayList<>(new LinkedHashSet<>(nameservices));
    return names.isEmpty() ? getNameNodeInfos() : getNameNodeInfos(names.get(number));
  }

  public NameNodeInfo[] getNameNodeInfos(String nameservice) throws IOException {
    return Arrays.stream(getNameNodeInfos())
        .filter(each -> each.nameserviceId == null || each.nameserviceId.equals(nameservice))
        .toArray(NameNodeInfo[]::new);
  }

  public void transitionToActive(int index) throws ServiceFailedException {
    transition("active", index);
  }

  public void transitionToStandby(int index) throws ServiceFailedException {
    transition("standby", index);
  }

  public void transitionToObserver(int index) throws ServiceFailedException {
    transition("observer", index);
  }

  /** A namenode that refuses says why, as the command of administrators has it. */
  private void transition(String state, int index) throws ServiceFailedException {
    try {
      tell(state, nameOf(index));
    } catch (IllegalStateException error) {
      String said = error.getMessage();
      int refusal = said.indexOf(REFUSED);
      if (refusal < 0) {
        throw error;
      }
      throw new ServiceFailedException(said.substring(refusal + REFUSED.length()).trim());
    }
  }

  // Where it is.

  public URI getURI() {
    return getURI(0);
  }

  public URI getURI(int nameNode) {
    return uris.get(nameNode);
  }

  public int getNameNodePort() {
    return getNameNodePort(0);
  }

  public int getNameNodePort(int nameNode) {
    return getURI(nameNode).getPort();
  }

  public int getNumNameNodes() {
    return uris.size();
  }

  public String getHttpUri(int nameNode) {
    return https.get(nameNode);
  }

  public Configuration getConfiguration(int nameNode) {
    return conf;
  }

  public String getDataDirectory() {
    return directory;
  }

  public int getInstanceId() {
    return id;
  }

  public int getStoragesPerDatanode() {
    return perDataNode;
  }

  public Collection<URI> getNameDirs(int nameNode) {
    List<URI> found = new ArrayList<>();
    directories.get(nameOf(nameNode)).forEach(each -> found.add(each.toURI()));
    return found;
  }

  public Collection<URI> getNameEditsDirs(int nameNode) {
    return getNameDirs(nameNode);
  }

  public File getInstanceStorageDir(int index, int number) {
    return directories.get("datanode" + index).get(number);
  }

  public File getStorageDir(int index, int number) {
    return getInstanceStorageDir(index, number);
  }

  // The files of replicas.

  public FsDatasetTestUtils.MaterializedReplica getMaterializedReplica(
      int index, ExtendedBlock block) throws ReplicaNotFoundException {
    ReplicaFiles found = filesOf(index, block);
    if (found == null) {
      throw new ReplicaNotFoundException(block);
    }
    return found;
  }

  public FsDatasetTestUtils.MaterializedReplica getMaterializedReplica(
      DataNode datanode, ExtendedBlock block) throws ReplicaNotFoundException {
    for (int index = 0; index < running.size(); index++) {
      if (dataAddresses.get(running.get(index).name).equals(datanode.getDisplayName())) {
        return getMaterializedReplica(index, block);
      }
    }
    throw new IllegalArgumentException(datanode + " does not run");
  }

  private ReplicaFiles filesOf(int index, ExtendedBlock block) {
    try {
      for (File storage : directories.get(running.get(index).name)) {
        ReplicaFiles found = ReplicaFiles.find(storage, block.getLocalBlock());
        if (found != null) {
          return found;
        }
      }
      return null;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  public void corruptReplica(int index, ExtendedBlock block) throws IOException {
    getMaterializedReplica(index, block).corruptData();
  }

  public void corruptReplica(DataNode datanode, ExtendedBlock block) throws IOException {
    getMaterializedReplica(datanode, block).corruptData();
  }

  public void corruptMeta(int index, ExtendedBlock block) throws IOException {
    getMaterializedReplica(index, block).corruptMeta();
  }

  public void deleteMeta(int index, ExtendedBlock block) throws IOException {
    getMaterializedReplica(index, block).deleteMeta();
  }

  public void truncateMeta(int index, ExtendedBlock block, int size) throws IOException {
    getMaterializedReplica(index, block).truncateMeta(size);
  }

  public int corruptBlockOnDataNodes(ExtendedBlock block) throws IOException {
    int count = 0;
    for (int index = 0; index < running.size(); index++) {
      ReplicaFiles found = filesOf(index, block);
      if (found != null) {
        found.corruptData();
        count++;
      }
    }
    return count;
  }

  public int corruptBlockOnDataNodesByDeletingBlockFile(ExtendedBlock block) throws IOException {
    int count = 0;
    for (int index = 0; index < running.size(); index++) {
      ReplicaFiles found = filesOf(index, block);
      if (found != null) {
        found.deleteData();
        count++;
      }
    }
    return count;
  }

  public File getBlockFile(int index, ExtendedBlock block) {
    ReplicaFiles found = filesOf(index, block);
    return found == null ? null : found.data();
  }

  public File getBlockMetadataFile(int index, ExtendedBlock block) {
    ReplicaFiles found = filesOf(index, block);
    return found == null ? null : found.sums();
  }

  public File[] getAllBlockFiles(ExtendedBlock block) {
    List<File> found = new ArrayList<>();
    for (int index = 0; index < running.size(); index++) {
      File file = getBlockFile(index, block);
      if (file != null) {
        found.add(file);
      }
    }
    return found.toArray(new File[0]);
  }

  public String readBlockOnDataNode(int index, ExtendedBlock block) throws IOException {
    byte[] bytes = readBlockOnDataNodeAsBytes(index, block);
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  public byte[] readBlockOnDataNodeAsBytes(int index, ExtendedBlock block) throws IOException {
    File file = getBlockFile(index, block);
    return file == null ? null : Files.readAllBytes(file.toPath());
  }

  public static File getBlockFile(File storage, ExtendedBlock block) throws IOException {
    ReplicaFiles found = ReplicaFiles.find(storage, block.getLocalBlock());
    return found == null ? null : found.data();
  }

  public static File getBlockMetadataFile(File storage, ExtendedBlock block) throws IOException {
    ReplicaFiles found = ReplicaFiles.find(storage, block.getLocalBlock());
    return found == null ? null : found.sums();
  }

  public static List<File> getAllBlockFiles(File storage) throws IOException {
    return ReplicaFiles.find(storage, name -> name.matches("blk_-?\\d+"));
  }

  public static List<File> getAllBlockMetadataFiles(File storage) throws IOException {
    return ReplicaFiles.find(storage, name -> name.matches("blk_-?\\d+_\\d+\\.meta"));
  }

  public static String getDNCurrentDir(File storage) {
    return storage + "/current/";
  }

  public static String getBPDir(File storage, String pool) {
    return getDNCurrentDir(storage) + pool + "/";
  }

  public static String getBPDir(File storage, String pool, String name) {
    return getBPDir(storage, pool) + name + "/";
  }

  public static File getRbwDir(File storage, String pool) {
    return new File(getBPDir(storage, pool, "current") + "rbw");
  }

  public static File getFinalizedDir(File storage, String pool) {
    return new File(getBPDir(storage, pool, "current") + "finalized");
  }

  public static String getBaseDirectory() {
    return GenericTestUtils.getTestDir("dfs").getAbsolutePath() + File.separator;
  }

  public DistributedFileSystem getFileSystem() throws IOException {
    return getFileSystem(0);
  }

  public DistributedFileSystem getFileSystem(int nameNode) throws IOException {
    return (DistributedFileSystem) FileSystem.get(getURI(nameNode), conf);
  }

  public FileSystem getNewFileSystemInstance(int nameNode) throws IOException {
    return FileSystem.newInstance(getURI(nameNode), conf);
  }

  // What it has inside.

  public NameNode getNameNode() throws IOException {
    return getNameNode(0);
  }

  public NameNode getNameNode(int nameNode) throws IOException {
    if (!inside.containsKey(nameNode)) {
      String http = URI.create(getHttpUri(nameNode)).getAuthority();
      String tls = secure.get(nameNode).isEmpty() ? http : secure.get(nameNode);
      inside.put(
          nameNode,
          RemoteNameNode.of(
              () -> (DistributedFileSystem) getNewFileSystemInstance(nameNode),
              NetUtils.createSocketAddr(getURI(nameNode).getAuthority()),
              NetUtils.createSocketAddr(http == null ? tls : http),
              NetUtils.createSocketAddr(tls),
              inherits -> setPosixInheritance(nameNode, inherits)));
    }
    return inside.get(nameNode);
  }

  public FSNamesystem getNamesystem() throws IOException {
    return getNameNode().getNamesystem();
  }

  public FSNamesystem getNamesystem(int nameNode) throws IOException {
    return getNameNode(nameNode).getNamesystem();
  }

  public NamenodeProtocols getNameNodeRpc() throws IOException {
    return getNameNode().getRpcServer();
  }

  public NamenodeProtocols getNameNodeRpc(int nameNode) throws IOException {
    return getNameNode(nameNode).getRpcServer();
  }

  /** Those that run, as the first active namenode knows them. */
  public ArrayList<DataNode> getDataNodes() {
    ArrayList<DataNode> found = new ArrayList<>();
    running.forEach(each -> found.add(each.getDatanode()));
    return found;
  }

  private DataNodeProperties properties(String name, Configuration conf) {
    return new DataNodeProperties(name, conf, () -> datanode(name));
  }

  /** As the first active namenode knows it, whether it runs or not. */
  private DataNode datanode(String name) {
    try {
      return RemoteDataNode.of(known(name), () -> stopDataNode(dataAddresses.get(name)));
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  public DataNode getDataNode(int ipcPort) {
    for (DataNode each : getDataNodes()) {
      if (each.getIpcPort() == ipcPort) {
        return each;
      }
    }
    return null;
  }

  private DatanodeInfo known(String name) throws IOException {
    IOException refused = null;
    for (int index = 0; index < uris.size(); index++) {
      try (DistributedFileSystem fs = (DistributedFileSystem) getNewFileSystemInstance(index)) {
        for (DatanodeInfo each : fs.getClient().datanodeReport(DatanodeReportType.ALL)) {
          if (each.getXferAddr().equals(dataAddresses.get(name))) {
            return each;
          }
        }
      } catch (IOException error) {
        refused = error;
      }
    }
    throw new IOException(name + " is not known to its namenode", refused);
  }

  /** Waits until each has sent a heartbeat from now on: nobody can have one sent. */
  public void triggerHeartbeats() throws IOException {
    Map<String, Long> before = new TreeMap<>();
    for (DataNodeProperties each : running) {
      before.put(each.name, known(each.name).getLastUpdateMonotonic());
    }
    for (DataNodeProperties each : running) {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(RECONNECT_S);
      while (known(each.name).getLastUpdateMonotonic() <= before.get(each.name)) {
        if (System.nanoTime() > end) {
          throw new IOException("no heartbeat of " + each.name);
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  public void triggerBlockReports() throws IOException {
    report(false);
  }

  public void triggerDeletionReports() throws IOException {
    report(true);
  }

  private void report(boolean incremental) throws IOException {
    BlockReportOptions options = new BlockReportOptions.Factory().setIncremental(incremental).build();
    for (DataNodeProperties each : running) {
      DFSUtilClient.createClientDatanodeProtocolProxy(
              known(each.name), conf, RECONNECT_S * 1000, false)
          .triggerBlockReport(options);
    }
  }

  // It is up when it is there.

  public void waitActive() throws IOException {}

  public void waitActive(int nameNode) throws IOException {}

  public void waitClusterUp() throws IOException {}

  public void waitFirstBRCompleted(int nameNode, int timeoutMs) {}

  public boolean isClusterUp() {
    return true;
  }

  public boolean isNameNodeUp(int nameNode) {
    return true;
  }

  public boolean isDataNodeUp() {
    return !running.isEmpty();
  }

  // Stopping and starting.

  /** More of them than the cluster began with; the first of one that began without any. */
  public synchronized void startDataNodes(
      Configuration conf,
      int count,
      boolean managesDirectories,
      StartupOption operation,
      String[] racks,
      String[] hosts,
      long[] capacities,
      boolean setsHosts) {
    if (capacities != null) {
      throw new UnsupportedOperationException("volumes of a given size");
    }
    Map<String, Object> values = new TreeMap<>(valuesSetIn(conf));
    // What clients of a cluster without datanodes were told.
    values.remove("dfs.replication");
    for (int number = 0; number < count; number++) {
      String name = "datanode0";
      if (directories.containsKey(name) && !dataAddresses.containsKey(name) && running.isEmpty()) {
        tell("configure", name, values);
      } else {
        name =
            add(
                values,
                racks == null ? null : racks[number],
                hosts == null ? null : hosts[number]);
      }
      running.add(properties(name, conf));
    }
  }

  private String add(Map<String, Object> values, String rack, String host) {
    Map<String, Object> call = new LinkedHashMap<>();
    call.put("call", "add");
    call.put("cluster", id);
    call.put("conf", values);
    call.put("rack", rack);
    call.put("host", host);
    try {
      JsonNode added = control.ask(call);
      String name = added.get("datanode").asText();
      dataAddresses.put(name, added.get("address").asText());
      List<File> found = new ArrayList<>();
      added.get("directories").forEach(each -> found.add(new File(each.asText())));
      directories.put(name, found);
      // A new rack has the namenodes restarted.
      for (int index = 0; rack != null && index < uris.size(); index++) {
        reconnect(index);
      }
      return name;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  public void startDataNodes(
      Configuration conf, int count, boolean manages, StartupOption operation, String[] racks) {
    startDataNodes(conf, count, manages, operation, racks, null, null, false);
  }

  public void startDataNodes(
      Configuration conf,
      int count,
      boolean manages,
      StartupOption operation,
      String[] racks,
      long[] capacities) {
    startDataNodes(conf, count, manages, operation, racks, null, capacities, false);
  }

  public void startDataNodes(
      Configuration conf,
      int count,
      boolean manages,
      StartupOption operation,
      String[] racks,
      String[] hosts,
      long[] capacities) {
    startDataNodes(conf, count, manages, operation, racks, hosts, capacities, false);
  }

  public synchronized DataNodeProperties stopDataNode(int index) {
    if (index < 0 || index >= running.size()) {
      return null;
    }
    DataNodeProperties stopped = running.remove(index);
    tell("stop", stopped.name);
    return stopped;
  }

  public void shutdownDataNode(int index) {
    stopDataNode(index);
  }

  public synchronized DataNodeProperties stopDataNode(String address) {
    for (int index = 0; index < running.size(); index++) {
      if (dataAddresses.get(running.get(index).name).equals(address)) {
        return stopDataNode(index);
      }
    }
    // As Hadoop's: tests go on to another replica where a namenode still names a dead node.
    return null;
  }

  public synchronized boolean restartDataNode(DataNodeProperties stopped, boolean keepsPort) {
    tell("restart", stopped.name);
    running.add(stopped);
    return true;
  }

  public boolean restartDataNode(DataNodeProperties stopped) {
    return restartDataNode(stopped, true);
  }

  public synchronized boolean restartDataNode(int index, boolean keepsPort) {
    return restartDataNode(stopDataNode(index), keepsPort);
  }

  public boolean restartDataNode(int index) {
    return restartDataNode(index, true);
  }

  public synchronized void shutdownDataNodes() {
    while (!running.isEmpty()) {
      stopDataNode(0);
    }
  }

  /** As servers are named there. */
  private String nameOf(int nameNode) {
    return uris.size() == 1 ? "namenode" : "namenode" + nameNode;
  }

  public boolean restartDataNodes(boolean keepsPort) {
    boolean restarted = true;
    for (int left = running.size(); left > 0; left--) {
      restarted &= restartDataNode(stopDataNode(0), keepsPort);
    }
    return restarted;
  }

  public boolean restartDataNodes() {
    return restartDataNodes(true);
  }

  public boolean restartDataNode(DataNodeProperties stopped, boolean keepsPort, boolean expires) {
    return restartDataNode(stopped, keepsPort);
  }

  public void shutdownNameNode(int index) {
    tell("stop", nameOf(index));
  }

  public void shutdownNameNodes() {
    for (int index = 0; index < uris.size(); index++) {
      shutdownNameNode(index);
    }
  }

  public void restartNameNode(boolean waits) throws IOException {
    restartNameNode(0, waits);
  }

  public void restartNameNode(String... arguments) throws IOException {
    restartNameNode(true);
  }

  public void restartNameNode(int index) throws IOException {
    restartNameNode(index, true);
  }

  public void restartNameNode(int index, boolean waits, String... arguments) throws IOException {
    tell(waits ? "restart" : "restart-soon", nameOf(index));
    reconnect(index);
  }

  public void restartNameNodes() throws IOException {
    for (int index = 0; index < uris.size(); index++) {
      restartNameNode(index);
    }
  }

  /** The lease limits, soft and hard, both in milliseconds. */
  public void setLeasePeriod(long soft, long hard) throws IOException {
    setLeasePeriod(soft, hard, 0);
  }

  public void setLeasePeriod(long soft, long hard, int nameNode) throws IOException {
    Map<String, Object> values = new TreeMap<>();
    values.put("howdah.namenode.lease-soft-limit", soft + "ms");
    values.put("dfs.namenode.lease-hard-limit-sec", hard + "ms");
    tell("configure", nameOf(nameNode), values);
    reconnect(nameNode);
  }

  private void setPosixInheritance(int nameNode, boolean inherits) {
    String key = "dfs.namenode.posix.acl.inheritance.enabled";
    tell("configure", nameOf(nameNode), Map.of(key, String.valueOf(inherits)));
    try {
      reconnect(nameNode);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /**
   * Java's client fails the first call on a connection whose other end has gone. Ours may be served
   * anew sooner than an idle connection is closed, and a test's clients have connections that this
   * call does not use: all of them are given the time to close.
   */
  private void reconnect(int nameNode) throws IOException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(RECONNECT_S);
    long idle = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(3 * KEPT_CONNECTION_MS);
    while (System.nanoTime() < idle) {
      LockSupport.parkNanos(idle - System.nanoTime());
    }
    while (true) {
      try {
        getFileSystem(nameNode).getFileStatus(new Path("/"));
        return;
      } catch (IOException error) {
        if (error instanceof RemoteException
            && ((RemoteException) error).unwrapRemoteException() instanceof StandbyException) {
          return;
        }
        if (System.nanoTime() > end) {
          throw error;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
      }
    }
  }

  public void shutdown() {
    shutdown(false);
  }

  public void shutdown(boolean deletesDirectory) {
    try {
      // The next cluster's client is a new one, for it may be configured otherwise. Other
      // clusters that run keep theirs.
      if (!nameservices.isEmpty()) {
        FileSystem.closeAll();
      }
      for (URI uri : uris) {
        FileSystem client = FileSystem.get(uri, conf);
        if (client instanceof DistributedFileSystem) {
          endHedgedReads(((DistributedFileSystem) client).getClient());
        }
        client.close();
      }
    } catch (IOException error) {
      System.err.println("closing clients: " + error);
    }
    tell("close", null);
  }

  /**
   * A read that lost against its hedge goes on in a thread of the process. Hadoop's datanodes end
   * it when they are shut down; ours may serve the next test, whose injected faults it would meet.
   */
  private static void endHedgedReads(DFSClient client) {
    ThreadPoolExecutor threads = client.getHedgedReadsThreadPool();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(HEDGED_READS_S);
    while (threads != null && threads.getActiveCount() > 0 && System.nanoTime() < end) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
    }
    if (threads != null && threads.getActiveCount() > 0) {
      System.err.println("hedged reads still run after " + HEDGED_READS_S + " s");
    }
  }

  @Override
  public void close() {
    shutdown();
  }

  public void shutdown(boolean deletesDirectory, boolean checks) {
    shutdown();
  }

  private void tell(String call, String server) {
    tell(call, server, null);
  }

  private void tell(String call, String server, Map<String, Object> values) {
    Map<String, Object> message = new LinkedHashMap<>();
    message.put("call", call);
    message.put("cluster", id);
    message.put("server", server);
    message.put("conf", values);
    try {
      control.ask(message);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Calls to the one who has the clusters. */
  private static class Control {
    private static final ObjectMapper JSON = new ObjectMapper();

    JsonNode ask(Map<String, Object> message) throws IOException {
      String[] address = System.getProperty("howdah.clusters").split(":");
      try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
        OutputStream output = socket.getOutputStream();
        output.write((JSON.writeValueAsString(message) + "\n").getBytes(StandardCharsets.UTF_8));
        BufferedReader input =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        String answer = input.readLine();
        if (answer == null) {
          throw new IOException("no answer to " + message);
        }
        JsonNode answered = JSON.readTree(answer);
        if (answered.has("error")) {
          throw new IOException(answered.get("error").asText());
        }
        return answered;
      }
    }
  }
}
