"""WebHDFS: Hadoop's REST API, as far as it needs no process. `parameters` has operations and
their parameters as tables, `faults` errors as answers, `json_values` protobuf as Hadoop's JSON;
`reads` and `writes` say which calls of ClientProtocol an operation is, and what it answers.
Whoever has a namenode at hand (its own process, or a client of it) makes the calls. All pure.
"""
