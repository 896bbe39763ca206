"""Write the lines of the audit log (pure)."""
