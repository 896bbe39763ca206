import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.tools.DFSAdmin;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.ProxyUsers;
import org.apache.hadoop.util.ToolRunner;

/**
 * Acts for users. Arguments: a site file with rules; a file of cases, each a line with the real
 * user, the user and an address, with tabs between; addresses of a cluster, hdfs and webhdfs.
 * Prints Hadoop's verdict of each case, and then what each filesystem did.
 */
public class ActingForUsers {
  static UserGroupInformation acting(String realUser, String user) {
    return UserGroupInformation.createProxyUser(
        user, UserGroupInformation.createRemoteUser(realUser));
  }

  static String told(Exception error) {
    return error.getMessage().split("\n")[0];
  }

  static String verdict(String[] words) {
    UserGroupInformation user = acting(words[0], words[1]);
    try {
      ProxyUsers.authorize(user, words[2]);
      return "ok " + user;
    } catch (Exception error) {
      return told(error);
    }
  }

  static String use(URI uri, String realUser, String user, Path path) {
    Configuration conf = new HdfsConfiguration();
    conf.setInt("dfs.replication", 1);
    try {
      return acting(realUser, user).doAs((PrivilegedExceptionAction<String>) () -> {
        try (FileSystem fs = FileSystem.newInstance(uri, conf)) {
          byte[] data = new byte[300_000];
          try (OutputStream out = fs.create(path)) {
            out.write(data);
          }
          int count = 0;
          try (InputStream in = fs.open(path)) {
            while (in.read() >= 0) {
              count++;
            }
          }
          return count + " bytes of " + fs.getFileStatus(path).getOwner() + ", who lives in "
              + fs.getHomeDirectory().toUri().getPath();
        }
      });
    } catch (Exception error) {
      return told(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Configuration rules = new Configuration(false);
    rules.addResource(new Path(new java.io.File(arguments[0]).toURI()));
    UserGroupInformation.setConfiguration(rules);
    ProxyUsers.refreshSuperUserGroupsConfiguration(rules);
    for (String line : Files.readAllLines(Paths.get(arguments[1]))) {
      System.out.println(verdict(line.split("\t", -1)));
    }
    for (int number = 2; number < arguments.length; number++) {
      URI uri = URI.create(arguments[number]);
      Path path = new Path("/joes/java-" + uri.getScheme());
      System.out.println(use(uri, "hive", "joe", path));
      System.out.println(use(uri, "hive", "sue", path));
      System.out.println(use(uri, "far", "joe", path));
    }
    Configuration conf = new HdfsConfiguration();
    conf.set("fs.defaultFS", arguments[2]);
    ToolRunner.run(
        new DFSAdmin(conf), new String[] {"-refreshSuperUserGroupsConfiguration"});
  }
}
