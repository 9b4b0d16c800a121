"""Lane driving: the road, its cars and its pictures."""
