"""The one kind of error that is meant for the person at the keyboard."""


class RobustBCError(ValueError):
    """Something the user can put right; its message is one sentence that says what and how."""
