"""Mixing good demonstrations with an exact share of bad ones, and what people get wrong."""
