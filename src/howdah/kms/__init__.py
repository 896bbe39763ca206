"""`howdah kms`: a key server for encryption zones, which speaks as Hadoop's KMS does.

A zone's key never leaves the server. Each file has a key of its own, which the server makes and
gives out encrypted by the zone's (`EEK`); to read the file its user has the server decrypt that.
Which user may do what is said by `kms-acls.xml`, whatever HDFS lets him do.
"""
