"""Returns and collisions against shares of corrupt demonstrations."""
