import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

import com.sun.management.OperatingSystemMXBean;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Asks a namenode for one file again and again, without leaving the JVM. */
public final class CallLoop {
  private static final AtomicInteger STRANGERS = new AtomicInteger();

  private CallLoop() {}

  /** Calls of getFileInfo a second, of so many threads together. */
  public static double statuses(FileSystem fs, String path, int count, int threads)
      throws Exception {
    Path file = new Path(path);
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      Callable<Void> calls =
          () -> {
            for (int number = 0; number < count / threads; number++) {
              fs.getFileStatus(file);
            }
            return null;
          };
      List<Future<Void>> results = new ArrayList<>();
      long begun = System.nanoTime();
      for (int number = 0; number < threads; number++) {
        results.add(pool.submit(calls));
      }
      for (Future<Void> result : results) {
        result.get();
      }
      return count / threads * threads * 1e9 / (System.nanoTime() - begun);
    } finally {
      pool.shutdown();
    }
  }

  /** Milliseconds from a new client to its first answer, or to the first byte of a file. */
  public static double firsts(Configuration conf, String path, int count, boolean reads)
      throws Exception {
    Path file = new Path(path);
    List<Configuration> strangers = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      strangers.add(stranger(conf));
    }
    long begun = System.nanoTime();
    for (Configuration own : strangers) {
      try (FileSystem fs = FileSystem.newInstance(own)) {
        if (reads) {
          try (FSDataInputStream in = fs.open(file)) {
            in.read();
          }
        } else {
          fs.getFileStatus(file);
        }
      }
    }
    return (System.nanoTime() - begun) / 1e6 / count;
  }

  /** With settings that no client before had: those that have the same share their connections. */
  private static Configuration stranger(Configuration conf) {
    int number = STRANGERS.incrementAndGet();
    Configuration own = new Configuration(conf);
    own.setInt("ipc.client.connection.maxidletime", 10_000 + number);
    own.set("dfs.client.context", "stranger" + number);
    return own;
  }

  /** Processor seconds that this process has used. */
  public static double processCpuSeconds() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime()
        / 1e9;
  }
}
