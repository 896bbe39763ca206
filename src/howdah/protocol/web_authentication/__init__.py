"""Proofs over HTTP as Hadoop's servers take them: SPNEGO once, and the signed cookie behind it."""
