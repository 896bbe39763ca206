import java.lang.management.ManagementFactory;
import java.util.Random;

import com.sun.management.OperatingSystemMXBean;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.erasurecode.ErasureCoderOptions;
import org.apache.hadoop.io.erasurecode.rawcoder.RSRawDecoder;
import org.apache.hadoop.io.erasurecode.rawcoder.RSRawEncoder;

/** Codes cells with Hadoop's coder in plain Java, and says how long this thread has worked. */
public class CoderLoop {
  private final RSRawEncoder encoder;
  private final RSRawDecoder decoder;
  private final byte[][] data;
  private final byte[][] parity;
  private final int lostUnits;

  public CoderLoop(int dataUnits, int parityUnits, int cellBytes) {
    ErasureCoderOptions options = new ErasureCoderOptions(dataUnits, parityUnits, false, false);
    encoder = new RSRawEncoder(options);
    decoder = new RSRawDecoder(options);
    data = new byte[dataUnits][cellBytes];
    parity = new byte[parityUnits][cellBytes];
    lostUnits = parityUnits;
    Random random = new Random(1);
    for (byte[] cell : data) {
      random.nextBytes(cell);
    }
  }

  /** Nanoseconds of processor time for each stripe. */
  public double encode(int stripes) throws Exception {
    long before = used();
    for (int i = 0; i < stripes; i++) {
      encoder.encode(data, parity);
    }
    return (double) (used() - before) / stripes;
  }

  /** The same where the first data cells are lost, as many as there is parity. */
  public double decode(int stripes) throws Exception {
    encoder.encode(data, parity);
    byte[][] units = new byte[data.length + parity.length][];
    int[] lost = new int[lostUnits];
    byte[][] made = new byte[lostUnits][data[0].length];
    for (int i = 0; i < units.length; i++) {
      units[i] = i < data.length ? data[i] : parity[i - data.length];
    }
    for (int i = 0; i < lostUnits; i++) {
      lost[i] = i;
      units[i] = null;
    }
    long before = used();
    for (int i = 0; i < stripes; i++) {
      decoder.decode(units, lost, made);
    }
    return (double) (used() - before) / stripes;
  }

  /** Seconds of processor time of the whole process so far. */
  public static double processCpuSeconds() {
    OperatingSystemMXBean system =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    return system.getProcessCpuTime() / 1e9;
  }

  private static long used() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }
}
