"""The native half of solve: the engine, out of the one extension module."""

from boomslang._native.engine import *  # noqa: F403
