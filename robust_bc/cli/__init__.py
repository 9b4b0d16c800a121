"""The command line: the only place in `robust_bc` that may import the other packages, and it does so lazily."""
