import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.io.nativeio.NativeIO;

/** Hadoop's datanode that need not lock memory, for which it would want its native library. */
public class MemoryDatanode {
  public static void main(String[] arguments) {
    NativeIO.POSIX.setCacheManipulator(new NativeIO.POSIX.NoMlockCacheManipulator());
    DataNode.main(arguments);
  }
}
