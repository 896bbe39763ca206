"""What clients ask most, answered from the request's bytes to the answer's bytes (pure).

`howdah.protocol.rpc.fast_path` says how such calls are served beside their handlers, `reads` which
they are; `file_status` finds a file and writes its status, `locations` where its blocks are: twins
of the kernel's functions. `write_responses` has the answers of `create` and `addBlock` as bytes,
for their handlers (`howdah.protocol.rpc.service.Encoded`), and `requests` the fields of requests
of those who write. None of it decides anything: whatever is not plain is left to the handlers in
`client_queries`, and the same tests ask both.
"""
