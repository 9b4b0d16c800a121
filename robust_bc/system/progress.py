"""How a long job tells how far it is."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share that is done, and a note."""
