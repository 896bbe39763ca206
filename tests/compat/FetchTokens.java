import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.security.Credentials;

/**
 * Gets all tokens that a job needs for the default filesystem, for the renewer that is the first
 * argument, into the file that is the second.
 */
public class FetchTokens {
  public static void main(String[] arguments) throws Exception {
    Configuration conf = new HdfsConfiguration();
    Credentials credentials = new Credentials();
    FileSystem.get(conf).addDelegationTokens(arguments[0], credentials);
    credentials.writeTokenStorageFile(new Path(new File(arguments[1]).toURI()), conf);
  }
}
