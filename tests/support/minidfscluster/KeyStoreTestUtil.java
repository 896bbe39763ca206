package org.apache.hadoop.security.ssl;

import org.apache.hadoop.conf.Configuration;

/**
 * Stands where Hadoop's tests expect the class of this name, before it on the class path. Hadoop's
 * makes RSA keys of 1,024 bits, which OpenSSL takes for no server. The certificates are those that
 * tests.support.hadoop.clusters has made for all of its clusters, and the directory of
 * their ssl-client.xml is on the class path: Java's client believes these, and nobody else.
 */
public class KeyStoreTestUtil {
  private KeyStoreTestUtil() {}

  public static String getClasspathDir(Class<?> test) {
    return "";
  }

  public static void setupSSLConfig(
      String keystores, String settings, Configuration conf, boolean usesClientCertificate) {
    if (usesClientCertificate) {
      throw new UnsupportedOperationException("no certificates of clients for Hadoop's tests");
    }
  }

  public static void cleanupSSLConfig(String keystores, String settings) {}

  public static String getClientSSLConfigFileName() {
    return "ssl-client.xml";
  }

  public static String getServerSSLConfigFileName() {
    return "ssl-server.xml";
  }
}
