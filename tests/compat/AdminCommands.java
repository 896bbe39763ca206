import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.util.Arrays;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.tools.CacheAdmin;
import org.apache.hadoop.hdfs.tools.CryptoAdmin;
import org.apache.hadoop.hdfs.tools.DFSAdmin;
import org.apache.hadoop.hdfs.tools.DiskBalancerCLI;
import org.apache.hadoop.hdfs.tools.GetConf;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Runs each argument, a command line with tabs between its words, as `hdfs` would: `dfs`,
 * `dfsadmin`, `cacheadmin`, `crypto`, `diskbalancer`, `dfsrouteradmin` or `getconf` and what belongs to it.
 */
public class AdminCommands {
  public static void main(String[] commands) {
    PrintStream errors = System.err;
    int code = 1;
    try {
      run(commands);
      code = 0;
    } catch (Throwable failure) {
      failure.printStackTrace(errors);
    }
    // A disk balancer's plan leaves threads behind.
    System.exit(code);
  }

  static void run(String[] commands) throws Exception {
    PrintStream screen = System.out;
    PrintStream errors = System.err;
    for (String command : commands) {
      ByteArrayOutputStream said = new ByteArrayOutputStream();
      ByteArrayOutputStream complained = new ByteArrayOutputStream();
      System.setOut(new PrintStream(said, true));
      System.setErr(new PrintStream(complained, true));
      String[] words = command.split("\t");
      String[] arguments = Arrays.copyOfRange(words, 1, words.length);
      int code = ToolRunner.run(tool(words[0]), arguments);
      System.setOut(screen);
      System.setErr(errors);
      screen.print("\u0001" + (code & 255) + "\u0002" + said + "\u0002" + complained);
    }
    screen.flush();
  }

  static Tool tool(String name) throws Exception {
    if (name.equals("dfsadmin")) {
      return new DFSAdmin(new HdfsConfiguration());
    }
    if (name.equals("dfs")) {
      return new FsShell(new HdfsConfiguration());
    }
    if (name.equals("crypto")) {
      return new CryptoAdmin(new HdfsConfiguration());
    }
    if (name.equals("cacheadmin")) {
      return new CacheAdmin(new HdfsConfiguration());
    }
    if (name.equals("diskbalancer")) {
      return new DiskBalancerCLI(new HdfsConfiguration());
    }
    if (name.equals("dfsrouteradmin")) {
      // Its jar is on the class path of those who ask for it only.
      Class<?> admin = Class.forName("org.apache.hadoop.hdfs.tools.federation.RouterAdmin");
      return (Tool) admin.getConstructor(Configuration.class).newInstance(new HdfsConfiguration());
    }
    Constructor<GetConf> constructor = GetConf.class.getDeclaredConstructor(Configuration.class);
    constructor.setAccessible(true);
    return constructor.newInstance(new HdfsConfiguration());
  }
}
