package org.apache.hadoop.hdfs.server.datanode;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;

import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.NodeType;
import org.apache.hadoop.hdfs.server.common.StorageInfo;
import org.apache.hadoop.hdfs.security.token.block.ExportedBlockKeys;
import org.apache.hadoop.hdfs.server.protocol.DatanodeRegistration;
import org.mockito.invocation.InvocationOnMock;

/**
 * What Hadoop's tests take from a datanode, where its namenode tells its clients the same: its
 * addresses. Whatever else a test asks for is an UnsupportedOperationException.
 */
public class RemoteDataNode {
  private RemoteDataNode() {}

  /** The datanode of that name, as its namenode knows it; `stop` stops its process. */
  public static DataNode of(DatanodeInfo known, Runnable stop) throws Exception {
    DataNode datanode = mock(DataNode.class, RemoteDataNode::refuse);
    doAnswer(call -> known).when(datanode).getDatanodeId();
    doAnswer(call -> known.getDatanodeUuid()).when(datanode).getDatanodeUuid();
    doAnswer(call -> known.getXferAddr()).when(datanode).getDisplayName();
    doAnswer(call -> known.getResolvedAddress()).when(datanode).getXferAddress();
    doAnswer(call -> known.getXferPort()).when(datanode).getXferPort();
    doAnswer(call -> known.getIpcPort()).when(datanode).getIpcPort();
    doAnswer(call -> known.getInfoPort()).when(datanode).getInfoPort();
    doAnswer(call -> registration(known)).when(datanode).getDNRegistrationForBP(any());
    doAnswer(call -> "DataNode " + known).when(datanode).toString();
    doAnswer(
            call -> {
              stop.run();
              return null;
            })
        .when(datanode)
        .shutdown();
    return datanode;
  }

  private static DatanodeRegistration registration(DatanodeInfo known) {
    return new DatanodeRegistration(
        known, new StorageInfo(NodeType.DATA_NODE), new ExportedBlockKeys(), "3.5.0");
  }

  private static Object refuse(InvocationOnMock call) {
    throw new UnsupportedOperationException(call.getMethod() + ": the datanode is another process");
  }
}
