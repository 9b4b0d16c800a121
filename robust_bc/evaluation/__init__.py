"""Evaluation: policies in their worlds, one row for each episode, and what the rows say together."""
