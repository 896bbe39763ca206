import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.contract.AbstractContractContentSummaryTest;
import org.apache.hadoop.fs.contract.AbstractContractCopyFromLocalTest;
import org.apache.hadoop.fs.contract.AbstractFSContract;
import org.apache.hadoop.fs.contract.hdfs.HDFSContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Contract suites that hadoop-hdfs does not bind to HDFS, bound as it binds the others. */
public class MoreHdfsContracts {

  public static class ContentSummary extends AbstractContractContentSummaryTest {
    @BeforeAll
    public static void start() throws IOException {
      HDFSContract.createCluster();
    }

    @AfterAll
    public static void stop() throws IOException {
      HDFSContract.destroyCluster();
    }

    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new HDFSContract(conf);
    }
  }

  public static class CopyFromLocal extends AbstractContractCopyFromLocalTest {
    @BeforeAll
    public static void start() throws IOException {
      HDFSContract.createCluster();
    }

    @AfterAll
    public static void stop() throws IOException {
      HDFSContract.destroyCluster();
    }

    @Override
    protected AbstractFSContract createContract(Configuration conf) {
      return new HDFSContract(conf);
    }
  }
}
