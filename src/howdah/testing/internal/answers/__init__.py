"""What servers answer, field by field: our servers are held against Hadoop's.

`conversation` asks a namenode and a datanode the same requests, whoever serves them;
`facts` says of each answer which fields it has, and what is in them. Which optional
fields a server sets is part of the protocol: there are clients that hang without one.
"""
