"""TLS for everything that speaks HTTP, from Hadoop's own files. `http_policy` says by the policy
where servers answer HTTP; `jks` reads Java's keystores, `expiry` the end of a certificate (both
pure); `stores` has what ssl-server.xml and ssl-client.xml say, `key_material` the keys and
certificates of their files, `contexts` what OpenSSL makes of them, anew when a file changes.
`server` takes a connection through its handshake, `client` makes one."""
