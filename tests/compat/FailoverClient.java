import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Works on a filesystem in rounds until its input ends, and says after each that all of it was
 * acknowledged. In a round it adds to a file that stays open, makes another file, renames that,
 * makes and deletes a third, and reads what it has made before. It ends with 0 when everything
 * is there at the end. Over HTTP nobody remembers a call whose answer was lost: Java's client asks
 * again, and what was done then cannot be done a second time.
 */
public class FailoverClient {
  public static void main(String[] arguments) throws Exception {
    Path directory = new Path(arguments[0]);
    FileSystem fs = FileSystem.get(URI.create(arguments[0]), new Configuration());
    boolean remembers = fs.getScheme().equals("hdfs");
    AtomicBoolean ends = new AtomicBoolean();
    Thread listener = new Thread(() -> waitForTheEnd(ends));
    listener.setDaemon(true);
    listener.start();
    List<Path> made = new ArrayList<>();
    int rounds = 0;
    Path log = new Path(directory, "log");
    try (FSDataOutputStream out = fs.create(log)) {
      while (!ends.get()) {
        out.write(line(rounds));
        out.hflush();
        Path fresh = new Path(directory, "fresh-" + rounds);
        write(fs, fresh, rounds, !remembers);
        Path renamed = new Path(directory, "file-" + rounds);
        boolean isRenamed = fs.rename(fresh, renamed);
        check(isRenamed || !remembers && !fs.exists(fresh), "rename of " + fresh);
        made.add(renamed);
        Path doomed = new Path(directory, "doomed-" + rounds);
        write(fs, doomed, rounds, !remembers);
        check(fs.delete(doomed, false) || !remembers, "deletion of " + doomed);
        check(!fs.exists(doomed), doomed + " is gone");
        int some = (rounds * 7919) % made.size();
        check(read(fs, made.get(some)).equals(text(some)), "content of " + made.get(some));
        System.out.println("round " + rounds++);
      }
    }
    StringBuilder expected = new StringBuilder();
    for (int number = 0; number < rounds; number++) {
      expected.append(text(number));
      check(read(fs, made.get(number)).equals(text(number)), "content of " + made.get(number));
    }
    check(read(fs, log).equals(expected.toString()), "content of " + log);
    System.out.println("done " + rounds);
  }

  private static void waitForTheEnd(AtomicBoolean ends) {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
      while (in.readLine() != null) {}
    } catch (java.io.IOException error) {
      error.printStackTrace();
    }
    ends.set(true);
  }

  private static String text(int number) {
    return "line " + number + "\n";
  }

  private static byte[] line(int number) {
    return text(number).getBytes(StandardCharsets.UTF_8);
  }

  private static void write(FileSystem fs, Path path, int number, boolean overwrite)
      throws Exception {
    try (FSDataOutputStream out = fs.create(path, overwrite)) {
      out.write(line(number));
    }
  }

  private static String read(FileSystem fs, Path path) throws Exception {
    try (FSDataInputStream in = fs.open(path)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      System.err.println("wrong: " + what);
      System.exit(1);
    }
  }
}
