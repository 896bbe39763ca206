package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;

/**
 * Stands where Hadoop's tests expect the class of this name, before it on the class path: they
 * start a cluster, and get one that is running already, that of the class path's core-site.xml.
 * What they set for clients holds; what they set for servers has to be set where those are started.
 */
public class MiniDFSCluster implements AutoCloseable {
  private final Configuration conf;

  private MiniDFSCluster(Configuration conf) {
    this.conf = conf;
  }

  public static class Builder {
    private final Configuration conf;

    public Builder(Configuration conf) {
      this.conf = conf;
    }

    public Builder numDataNodes(int count) {
      return this;
    }

    public MiniDFSCluster build() {
      return new MiniDFSCluster(conf);
    }
  }

  public void waitClusterUp() {}

  public void waitActive() {}

  public URI getURI() {
    return FileSystem.getDefaultUri(conf);
  }

  public Configuration getConfiguration(int nameNode) {
    return conf;
  }

  public DistributedFileSystem getFileSystem() throws IOException {
    return (DistributedFileSystem) FileSystem.get(getURI(), conf);
  }

  /** The next cluster's client is a new one, for it may be configured otherwise. */
  public void shutdown() {
    try {
      FileSystem.closeAll();
    } catch (IOException error) {
      throw new IllegalStateException("clients could not be closed", error);
    }
  }

  @Override
  public void close() {
    shutdown();
  }
}
