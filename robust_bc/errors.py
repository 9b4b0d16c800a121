"""The errors that are meant for the person at the keyboard."""


class RobustBCError(Exception):
    """Something the user can put right; its message is one sentence that says what and how.

    Not a ValueError: libraries in between (the argument parser) catch those and would wrap the sentence.
    """


class DamagedFileError(RobustBCError):
    """A file is not what it should be; whoever can compute its content anew catches this one."""
