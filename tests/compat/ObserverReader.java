import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;

/** Makes directories and looks at each at once, by one client; then sees what another one did. */
public class ObserverReader {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.addResource(new Path(arguments[0]));
        int directories = Integer.parseInt(arguments[1]);
        URI uri = URI.create(conf.get("fs.defaultFS"));
        try (FileSystem one = FileSystem.newInstance(uri, conf);
                FileSystem other = FileSystem.newInstance(uri, conf)) {
            for (int number = 0; number < directories; number++) {
                one.mkdirs(new Path("/one/" + number));
                if (!one.getFileStatus(new Path("/one/" + number)).isDirectory()) {
                    throw new AssertionError("own directory " + number);
                }
                ((DistributedFileSystem) other).msync();
                if (other.listStatus(new Path("/one")).length != number + 1) {
                    throw new AssertionError("directory of the other " + number);
                }
            }
        }
        System.out.println("seen " + directories);
    }
}
