"""Answers of our servers and of Hadoop's, compared field by field.

`conversation` sends a namenode and a datanode a fixed list of requests (`unprivileged` those
of a user without privileges), `asking` is the connection, `facts` takes an answer apart,
and `allowed` lists the differences that are meant. Which optional fields a server sets is
part of the protocol: some clients hang where one is missing.
"""
