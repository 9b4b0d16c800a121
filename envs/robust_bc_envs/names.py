"""Gymnasium ids of our own."""

LANE_DRIVING = "RobustBC/LaneDriving-v0"
