"""The native half of trace: the trace reader, out of the one extension module."""

from boomslang._native.reader import *  # noqa: F403
