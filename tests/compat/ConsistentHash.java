import java.util.Arrays;
import java.util.HashSet;
import org.apache.hadoop.hdfs.server.federation.utils.ConsistentHashRing;

/** Prints which of three nameservices Hadoop's router has each argument in. */
public class ConsistentHash {
  public static void main(String[] paths) {
    ConsistentHashRing ring =
        new ConsistentHashRing(new HashSet<>(Arrays.asList("east", "west", "north")));
    for (String path : paths) {
      System.out.println(ring.getLocation(path));
    }
  }
}
