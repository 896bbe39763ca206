import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Writes records and syncs after each of them, without leaving the JVM. */
public final class SyncLoop {
  private SyncLoop() {}

  /** Nanoseconds for each record of {@code size} bytes, its sync included. */
  public static long run(
      FileSystem fs, String path, short replicas, int size, int count, String sync)
      throws Exception {
    byte[] record = new byte[size];
    Path file = new Path(path);
    try (FSDataOutputStream out = fs.create(file, true, 4096, replicas, 128L << 20)) {
      long nanos = 0;
      for (int round = 0; round < 2; round++) {
        long begun = System.nanoTime();
        for (int number = 0; number < count; number++) {
          out.write(record);
          if (sync.equals("hflush")) {
            out.hflush();
          } else if (sync.equals("hsync")) {
            out.hsync();
          }
        }
        nanos = System.nanoTime() - begun; // the first round was to warm up
      }
      return nanos / count;
    }
  }

  /** Nanoseconds of the longest hflush while records are written for {@code millis}. */
  public static long longest(
      FileSystem fs, String path, short replicas, int size, long millis) throws Exception {
    byte[] record = new byte[size];
    long longest = 0;
    try (FSDataOutputStream out = fs.create(new Path(path), true, 4096, replicas, 128L << 20)) {
      long end = System.nanoTime() + millis * 1_000_000;
      while (System.nanoTime() < end) {
        long begun = System.nanoTime();
        out.write(record);
        out.hflush();
        longest = Math.max(longest, System.nanoTime() - begun);
      }
    }
    return longest;
  }

  /** Nanoseconds to append {@code size} bytes and close, for each of {@code count} appends. */
  public static long append(FileSystem fs, String path, int size, int count) throws Exception {
    byte[] record = new byte[size];
    Path file = new Path(path);
    long begun = System.nanoTime();
    for (int number = 0; number < count; number++) {
      try (FSDataOutputStream out = fs.append(file)) {
        out.write(record);
      }
    }
    return (System.nanoTime() - begun) / count;
  }
}
