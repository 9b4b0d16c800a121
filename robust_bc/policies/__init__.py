"""A fitted policy, what an audit left out before it learned, and its files."""
