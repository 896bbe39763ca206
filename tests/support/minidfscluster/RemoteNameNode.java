package org.apache.hadoop.hdfs.server.namenode;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyBoolean;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;

import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.hadoop.fs.permission.PermissionStatus;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.NameNodeProxies;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol;
import org.apache.hadoop.hdfs.server.protocol.NamenodeProtocols;
import org.apache.hadoop.ipc.RefreshCallQueueProtocol;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.RefreshUserMappingsProtocol;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol;
import org.apache.hadoop.tools.GetUserMappingsProtocol;
import org.mockito.invocation.InvocationOnMock;

/**
 * What Hadoop's tests take from inside a namenode, where its clients can be told the same: by the
 * calls of ClientProtocol. It is in the package of what it stands for, whose methods are not public.
 * Whatever else a test asks for is an UnsupportedOperationException.
 */
public class RemoteNameNode {
  /** Where a client for the calls comes from: those of before a restart may be closed. */
  public interface Connect {
    DistributedFileSystem connect() throws IOException;
  }

  private final Connect connect;
  private final Consumer<Boolean> setPosixInheritance;
  private static final Set<Class<?>> OTHERS =
      Set.of(
          NamenodeProtocol.class,
          GetUserMappingsProtocol.class,
          RefreshUserMappingsProtocol.class,
          RefreshAuthorizationPolicyProtocol.class,
          RefreshCallQueueProtocol.class);

  private final InetSocketAddress rpc;
  private boolean inheritsAsPosix = true;

  private RemoteNameNode(
      Connect connect, InetSocketAddress rpc, Consumer<Boolean> setPosixInheritance) {
    this.connect = connect;
    this.rpc = rpc;
    this.setPosixInheritance = setPosixInheritance;
  }

  public static NameNode of(
      Connect connect,
      InetSocketAddress rpc,
      InetSocketAddress http,
      InetSocketAddress https,
      Consumer<Boolean> setPosixInheritance)
      throws IOException {
    RemoteNameNode remote = new RemoteNameNode(connect, rpc, setPosixInheritance);
    NameNode namenode = mock(NameNode.class, RemoteNameNode::refuse);
    FSNamesystem namesystem = remote.namesystem();
    answer(namenode, call -> namesystem).getNamesystem();
    answer(namenode, call -> remote.protocols()).getRpcServer();
    answer(namenode, call -> rpc).getNameNodeAddress();
    answer(namenode, call -> http).getHttpAddress();
    answer(namenode, call -> https).getHttpsAddress();
    answer(namenode, call -> rpc.getHostName() + ":" + rpc.getPort()).getHostAndPort();
    answer(namenode, call -> remote.protocols().setSafeMode(SafeModeAction.SAFEMODE_GET, false))
        .isInSafeMode();
    answer(namenode, call -> "NameNode " + rpc).toString();
    return namenode;
  }

  private FSNamesystem namesystem() throws IOException {
    FSNamesystem namesystem = mock(FSNamesystem.class, RemoteNameNode::refuse);
    FSDirectory directory = directory();
    answer(namesystem, call -> directory).getFSDirectory();
    answer(namesystem, call -> setSafeMode(SafeModeAction.SAFEMODE_ENTER))
        .enterSafeMode(anyBoolean());
    answer(namesystem, call -> setSafeMode(SafeModeAction.SAFEMODE_LEAVE))
        .leaveSafeMode(anyBoolean());
    answer(namesystem, call -> protocols().setSafeMode(SafeModeAction.SAFEMODE_GET, false))
        .isInSafeMode();
    answer(namesystem, call -> protocols().versionRequest().getBlockPoolID()).getBlockPoolId();
    answer(namesystem, call -> protocols().saveNamespace(call.getArgument(0), call.getArgument(1)))
        .saveNamespace(anyLong(), anyLong());
    return namesystem;
  }

  private FSDirectory directory() throws IOException {
    FSDirectory directory = mock(FSDirectory.class, RemoteNameNode::refuse);
    answer(directory, call -> inode(call.getArgument(0))).getINode(anyString());
    answer(directory, call -> inode(call.getArgument(0))).getINode(anyString(), any());
    answer(directory, call -> inheritsAsPosix).isPosixAclInheritanceEnabled();
    answer(directory, this::setPosixInheritance).setPosixAclInheritanceEnabled(anyBoolean());
    return directory;
  }

  /** Files and directories: what tests ask for, permissions and list, both have alike. */
  private INode inode(String path) throws IOException {
    try (DistributedFileSystem fs = connect.connect()) {
      HdfsFileStatus status = fs.getClient().getFileLinkInfo(path);
      if (status == null) {
        return null;
      }
      INodeDirectory inode =
          new INodeDirectory(
              status.getFileId(),
              DFSUtil.string2Bytes(status.getLocalName()),
              new PermissionStatus(status.getOwner(), status.getGroup(), status.getPermission()),
              status.getModificationTime());
      if (status.hasAcl()) {
        inode.addAclFeature(
            new AclFeature(
                AclEntryStatusFormat.toInt(fs.getClient().getAclStatus(path).getEntries())));
      }
      return inode;
    }
  }

  private Void setSafeMode(SafeModeAction action) throws IOException {
    protocols().setSafeMode(action, false);
    return null;
  }

  private Void setPosixInheritance(InvocationOnMock call) {
    inheritsAsPosix = call.getArgument(0);
    setPosixInheritance.accept(inheritsAsPosix);
    return null;
  }

  /** The calls of clients, of other namenodes and of administrators. */
  private NamenodeProtocols protocols() {
    return (NamenodeProtocols)
        Proxy.newProxyInstance(
            RemoteNameNode.class.getClassLoader(),
            new Class<?>[] {NamenodeProtocols.class},
            (proxy, method, arguments) -> {
              // Two protocols have this call; a datanode's is not for anybody else.
              Class<?> protocol =
                  method.getName().equals("versionRequest")
                      ? NamenodeProtocol.class
                      : method.getDeclaringClass();
              for (int index = 0; arguments != null && index < arguments.length; index++) {
                if (arguments[index] == null && method.getParameterTypes()[index].isArray()) {
                  // No message says which of both it is.
                  Class<?> of = method.getParameterTypes()[index].getComponentType();
                  arguments[index] = Array.newInstance(of, 0);
                }
              }
              try (DistributedFileSystem fs = connect.connect()) {
                if (protocol.isAssignableFrom(ClientProtocol.class)) {
                  return method.invoke(fs.getClient().getNamenode(), arguments);
                }
                if (!OTHERS.contains(protocol)) {
                  throw new UnsupportedOperationException(method + " is no call from outside");
                }
                Object proxy2 =
                    NameNodeProxies.createNonHAProxy(
                            fs.getConf(), rpc, protocol, UserGroupInformation.getCurrentUser(), false)
                        .getProxy();
                return protocol
                    .getMethod(method.getName(), method.getParameterTypes())
                    .invoke(proxy2, arguments);
              } catch (InvocationTargetException error) {
                throw error.getCause() instanceof RemoteException
                    ? thrown((RemoteException) error.getCause())
                    : error.getCause();
              }
            });
  }

  /** As the namenode itself throws it, where a client knows the class. */
  private static Throwable thrown(RemoteException error) {
    try {
      Class<?> wanted = Class.forName(error.getClassName());
      if (RuntimeException.class.isAssignableFrom(wanted)) {
        return (Throwable) wanted.getConstructor(String.class).newInstance(error.getMessage());
      }
    } catch (ReflectiveOperationException unknown) {
      return error;
    }
    return error.unwrapRemoteException();
  }

  private interface Answer {
    Object to(InvocationOnMock call) throws Throwable;
  }

  private static <T> T answer(T mock, Answer answer) {
    return doAnswer(answer::to).when(mock);
  }

  private static Object refuse(InvocationOnMock call) {
    throw new UnsupportedOperationException(call.getMethod() + ": the namenode is another process");
  }
}
