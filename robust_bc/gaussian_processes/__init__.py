"""Gaussian processes on GPyTorch: exact, leveraged, and a truncated mixture of experts."""
