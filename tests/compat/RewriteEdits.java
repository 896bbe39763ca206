import java.lang.reflect.Method;
import org.apache.hadoop.hdfs.tools.offlineEditsViewer.BinaryEditsVisitor;
import org.apache.hadoop.hdfs.tools.offlineEditsViewer.OfflineEditsViewer;
import org.apache.hadoop.hdfs.tools.offlineEditsViewer.OfflineEditsVisitor;

/**
 * Reads an edit log with Hadoop's reader and writes each record with Hadoop's writer. The viewer
 * itself refuses to go from binary to binary, and its XML loses fields; so its parts are joined.
 */
public class RewriteEdits {
  public static void main(String[] files) throws Exception {
    Class<?> factory =
        Class.forName(
            "org.apache.hadoop.hdfs.tools.offlineEditsViewer"
                + ".OfflineEditsLoader$OfflineEditsLoaderFactory");
    Method create =
        factory.getDeclaredMethod(
            "createLoader",
            OfflineEditsVisitor.class,
            String.class,
            boolean.class,
            OfflineEditsViewer.Flags.class);
    create.setAccessible(true);
    Object loader =
        create.invoke(
            null,
            new BinaryEditsVisitor(files[1]),
            files[0],
            false,
            new OfflineEditsViewer.Flags());
    Method load = loader.getClass().getDeclaredMethod("loadEdits");
    load.setAccessible(true);
    load.invoke(loader);
  }
}
