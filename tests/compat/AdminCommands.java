import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.tools.DFSAdmin;
import org.apache.hadoop.util.ToolRunner;

/** Runs each argument, a command line with tabs between its words, as `hdfs dfsadmin` would. */
public class AdminCommands {
  public static void main(String[] commands) throws Exception {
    PrintStream screen = System.out;
    PrintStream errors = System.err;
    for (String command : commands) {
      ByteArrayOutputStream said = new ByteArrayOutputStream();
      ByteArrayOutputStream complained = new ByteArrayOutputStream();
      System.setOut(new PrintStream(said, true));
      System.setErr(new PrintStream(complained, true));
      int code = ToolRunner.run(new DFSAdmin(new HdfsConfiguration()), command.split("\t"));
      System.setOut(screen);
      System.setErr(errors);
      screen.print("\u0001" + (code & 255) + "\u0002" + said + "\u0002" + complained);
    }
  }
}
