"""What comes in from files: one typed reader for each kind, with limits, and nothing that is read is ever executed."""
