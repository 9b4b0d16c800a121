"""The worlds of robust-bc: lane driving, task cards, and what a reversed reward means in each."""
