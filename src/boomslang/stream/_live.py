"""The native half of stream: the state of a stream, out of the one extension module."""

from boomslang._native.live import *  # noqa: F403
