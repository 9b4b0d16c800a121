"""Training experts, adversaries and medium teachers with PPO."""
