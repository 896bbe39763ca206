package org.apache.hadoop.hdfs.server.datanode;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.hadoop.hdfs.protocol.Block;

/** The two files of a replica, which a test damages behind its datanode's back. */
public class ReplicaFiles implements FsDatasetTestUtils.MaterializedReplica {
  private final File data;
  private final File sums;

  private ReplicaFiles(File data, File sums) {
    this.data = data;
    this.sums = sums;
  }

  /** Those below a storage directory, or null if it has none of the block. */
  public static ReplicaFiles find(File storage, Block block) throws IOException {
    List<File> data = find(storage, name -> name.equals(block.getBlockName()));
    List<File> sums =
        find(storage, name -> name.matches(block.getBlockName() + "_\\d+\\.meta"));
    if (data.isEmpty()) {
      return null;
    }
    return new ReplicaFiles(data.get(0), sums.isEmpty() ? null : sums.get(0));
  }

  /** Files below a directory whose names are wanted. */
  public static List<File> find(File top, Predicate<String> wanted) throws IOException {
    List<File> found = new ArrayList<>();
    if (!top.isDirectory()) {
      return found;
    }
    try (Stream<Path> paths = Files.walk(top.toPath())) {
      paths
          .filter(path -> wanted.test(path.getFileName().toString()))
          .forEach(path -> found.add(path.toFile()));
    }
    return found;
  }

  public File data() {
    return data;
  }

  public File sums() {
    return sums;
  }

  @Override
  public void corruptData() throws IOException {
    byte[] bytes = Files.readAllBytes(there(data).toPath());
    for (int place = 0; place < Math.min(bytes.length, 32); place++) {
      bytes[place]++;
    }
    overwrite(data, bytes);
  }

  @Override
  public void corruptData(byte[] content) throws IOException {
    overwrite(there(data), content);
  }

  @Override
  public void truncateData(long size) throws IOException {
    truncate(data, size);
  }

  @Override
  public void deleteData() throws IOException {
    Files.delete(there(data).toPath());
  }

  @Override
  public void corruptMeta() throws IOException {
    byte[] bytes = Files.readAllBytes(there(sums).toPath());
    for (int place = bytes.length / 4; place < bytes.length / 2; place++) {
      bytes[place] ^= 0x5a;
    }
    overwrite(sums, bytes);
  }

  @Override
  public void deleteMeta() throws IOException {
    Files.delete(there(sums).toPath());
  }

  @Override
  public void truncateMeta(long size) throws IOException {
    truncate(sums, size);
  }

  @Override
  public void makeUnreachable() throws IOException {
    Path other = data.getParentFile().getParentFile().toPath().resolve("subdir31");
    if (other.equals(data.getParentFile().toPath())) {
      other = other.resolveSibling("subdir30");
    }
    Files.createDirectories(other);
    for (File file : new File[] {data, sums}) {
      Files.move(there(file).toPath(), other.resolve(file.getName()));
    }
  }

  private static void overwrite(File file, byte[] bytes) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(file, "rw")) {
      open.write(bytes);
    }
  }

  private static void truncate(File file, long size) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(there(file), "rw")) {
      open.setLength(size);
    }
  }

  private static File there(File file) throws FileNotFoundException {
    if (file == null || !file.exists()) {
      throw new FileNotFoundException(file + " does not exist");
    }
    return file;
  }
}
