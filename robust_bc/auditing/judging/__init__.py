"""The verdict: checks, agreement, groups, contradiction and conflict."""
