"""OpenID Connect as a server speaks it at whose web ports users log in: the flow, the provider's
documents, and the tokens that it signs (pure).

The package authlib, and joserfc which it is built on, are imported where they are used: servers
without OpenID Connect run without them.
"""
