"""Commands for delegation tokens."""
