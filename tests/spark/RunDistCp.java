import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.util.ToolRunner;

/**
 * Runs Hadoop's DistCp once for each line of standard input, whose words are parted by
 * tabs, with Hadoop's local job runner. Answers each with a line: exit code, files copied,
 * files skipped, bytes copied.
 *
 * The word SERVERS with a directory and a number instead starts a cluster of Hadoop's in the
 * same process, with so many datanodes; the answer is its addresses. STRIPED with a path
 * makes a directory there whose files are erasure coded.
 */
public class RunDistCp {
  static Counters counters;
  static DistributedFileSystem fs;

  static class Counted extends DistCp {
    Counted(Configuration conf) throws Exception {
      super(conf, null);
    }

    @Override
    public void waitForJobCompletion(Job job) throws Exception {
      super.waitForJobCompletion(job);
      counters = job.getCounters();
    }
  }

  static long count(String name) {
    String group = "org.apache.hadoop.tools.mapred.CopyMapper$Counter";
    return counters == null ? 0 : counters.findCounter(group, name).getValue();
  }

  static String start(File directory, int datanodes) throws Exception {
    DefaultMetricsSystem.setMiniClusterMode(true);
    Configuration conf = new HdfsConfiguration(false);
    conf.addResource("core-default.xml");
    conf.addResource("hdfs-default.xml");
    String any = "127.0.0.1:0";
    conf.set("fs.defaultFS", "hdfs://" + any);
    for (String key : new String[] {"namenode.rpc-address", "namenode.http-address",
        "datanode.address", "datanode.http.address", "datanode.ipc.address"}) {
      conf.set("dfs." + key, any);
    }
    conf.set("dfs.namenode.name.dir", new File(directory, "name").toURI().toString());
    conf.set("dfs.namenode.safemode.extension", "0");
    conf.set("dfs.namenode.acls.enabled", "true");
    conf.set("dfs.heartbeat.interval", "1");
    conf.set("dfs.replication", "1");
    conf.set("fs.trash.interval", "60");
    conf.set("hadoop.tmp.dir", new File(directory, "tmp").toString());
    NameNode.format(conf);
    NameNode namenode = NameNode.createNameNode(new String[0], conf);
    String address = "127.0.0.1:" + namenode.getNameNodeAddress().getPort();
    conf.set("fs.defaultFS", "hdfs://" + address);
    conf.set("dfs.namenode.rpc-address", address);
    for (int number = 0; number < datanodes; number++) {
      Configuration own = new Configuration(conf);
      File data = new File(directory, "data" + number);
      own.set("dfs.datanode.data.dir", data.toURI().toString());
      DataNode.createDataNode(new String[0], own);
    }
    fs = (DistributedFileSystem) FileSystem.newInstance(conf);
    while (fs.getDataNodeStats().length < datanodes) Thread.sleep(20);
    return "SERVERS hdfs://" + address + " 127.0.0.1:" + namenode.getHttpAddress().getPort();
  }

  static String stripe(Path path) throws Exception {
    fs.enableErasureCodingPolicy("XOR-2-1-1024k");
    fs.mkdirs(path);
    fs.setErasureCodingPolicy(path, "XOR-2-1-1024k");
    return "STRIPED";
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Configuration conf = new Configuration();
    for (String argument : arguments) {
      String[] pair = argument.split("=", 2);
      conf.set(pair[0], pair[1]);
    }
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split("\t");
      if (words[0].equals("SERVERS") || words[0].equals("STRIPED")) {
        System.out.println(
            words[0].equals("STRIPED")
                ? stripe(new Path(words[1]))
                : start(new File(words[1]), Integer.parseInt(words[2])));
        System.out.flush();
        continue;
      }
      counters = null;
      Configuration own = new Configuration(conf);
      long start = System.nanoTime();
      int code = ToolRunner.run(own, new Counted(own), words);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.println(
          "RESULT " + code + " " + count("COPY") + " " + count("SKIP") + " "
              + count("BYTESCOPIED") + " " + seconds);
      System.out.flush();
    }
    // Servers have threads that would go on.
    Runtime.getRuntime().halt(0);
  }
}
