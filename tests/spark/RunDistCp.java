import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.util.ToolRunner;

/**
 * Runs Hadoop's DistCp once for each line of standard input, whose words are parted by
 * tabs, with Hadoop's local job runner. Answers each with a line: exit code, files copied,
 * files skipped, bytes copied.
 */
public class RunDistCp {
  static Counters counters;

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

  public static void main(String[] arguments) throws Exception {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Configuration conf = new Configuration();
    for (String argument : arguments) {
      String[] pair = argument.split("=", 2);
      conf.set(pair[0], pair[1]);
    }
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      counters = null;
      Configuration own = new Configuration(conf);
      long start = System.nanoTime();
      int code = ToolRunner.run(own, new Counted(own), line.split("\t"));
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.println(
          "RESULT " + code + " " + count("COPY") + " " + count("SKIP") + " "
              + count("BYTESCOPIED") + " " + seconds);
      System.out.flush();
    }
  }
}
