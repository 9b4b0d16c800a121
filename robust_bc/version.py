"""The version of robust-bc."""

__version__ = "0.1.0"
