"""Who may ask the web ports of a secured server for what: the rule of each address, and the guard
that keeps to it."""
