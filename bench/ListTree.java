import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.tools.CopyListing;
import org.apache.hadoop.tools.DistCpContext;
import org.apache.hadoop.tools.DistCpOptions;

/**
 * Lists a tree for each line of standard input: how (distcp or recursive), the URI of the
 * tree, and for distcp where its list goes. Answers each with what a run of DistCp is
 * answered with by RunDistCp: only the second number, files, and the last one, seconds, say
 * something here.
 */
public class ListTree {
  static long byDistCp(Configuration conf, String tree, String list) throws Exception {
    DistCpOptions options =
        new DistCpOptions.Builder(List.of(new Path(tree)), new Path("/target")).build();
    DistCpContext context = new DistCpContext(options);
    context.setTargetPathExists(false);
    CopyListing listing = CopyListing.getCopyListing(conf, new Credentials(), context);
    listing.buildListing(new Path(list), context);
    return conf.getLong("mapred.total.records", conf.getLong("mapred.number.of.records", 0));
  }

  static long recursively(Configuration conf, String tree) throws Exception {
    Path path = new Path(tree);
    FileSystem fs = path.getFileSystem(conf);
    long found = 0;
    RemoteIterator<LocatedFileStatus> files = fs.listFiles(path, true);
    while (files.hasNext()) {
      files.next();
      found++;
    }
    return found;
  }

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    for (String argument : arguments) {
      int at = argument.indexOf('=');
      conf.set(argument.substring(0, at), argument.substring(at + 1));
    }
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String[] words = line.split("\t");
      long before = System.nanoTime();
      long found = words[0].equals("distcp")
          ? byDistCp(conf, words[1], words[2]) : recursively(conf, words[1]);
      double seconds = (System.nanoTime() - before) / 1e9;
      System.out.println("RESULT 0 " + found + " 0 0 " + seconds);
    }
  }
}
