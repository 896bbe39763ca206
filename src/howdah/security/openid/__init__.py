"""A provider of OpenID Connect as servers ask it: settings, documents over HTTPS, and the checks of
what users show (shell)."""
