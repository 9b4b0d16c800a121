"""Robust methods of others, and plain ones: what ChoiceNet is measured against."""
