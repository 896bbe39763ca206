"""Who a process is on a secured cluster, how it proves that, and how others do (shell).

    settings     what the configuration says, once it is read
    gssapi       MIT's GSSAPI library, by ctypes: nothing has to be compiled
    login        a ticket cache or a keytab, of which security contexts come
    token_file   delegation tokens of a file, which is read again when it changes
    users        the name of a user that carries how it is proven

    server_methods   how clients prove themselves at a server's RPC port
    offered_protections  which protections it offers to whom
    server_checks    what keeps a server from starting with Kerberos
    data_handshakes  both sides of a handshake on a data connection

The exchange itself is pure (`howdah.protocol.sasl`).
"""
