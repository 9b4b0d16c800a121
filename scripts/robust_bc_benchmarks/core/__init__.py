"""What every benchmark has in common: a plan, its cells, one runner, and one long table of results."""
