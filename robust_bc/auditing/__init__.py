"""The audit: which demonstrations are bad, how sure that is, and why."""
