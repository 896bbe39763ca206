package org.apache.hadoop.minikdc;

/**
 * Stands where Hadoop's tests expect the class of this name, whose jar is not on the class path. A
 * test class with a field of this type cannot be looked at without it. Nobody here starts one:
 * tests that do so are of Kerberos.
 */
public class MiniKdc {
  private MiniKdc() {}
}
