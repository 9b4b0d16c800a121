"""Benchmarks: the paper's tables and figures, with intervals and an oracle."""
