"""The audit: which demonstrations are bad, how sure that is, and why."""

REVISION = 19
"""Whoever changes what an audit says counts it up: benchmarks then compute anew what depends on it."""
