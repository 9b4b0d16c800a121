"""Fitting a fleet: its data, its loop, its history and its checkpoints."""
