"""Who a process is on a secured cluster, and how it proves that (shell).

    settings     what the configuration says, once it is read
    gssapi       MIT's GSSAPI library, by ctypes: nothing has to be compiled
    login        a ticket cache or a keytab, of which security contexts come
    token_file   delegation tokens of a file, which is read again when it changes
    users        the name of a user that carries how it is proven

The exchange itself is pure (`howdah.protocol.sasl`).
"""
