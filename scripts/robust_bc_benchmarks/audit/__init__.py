"""How well bad demonstrations are found, and what that is worth."""
