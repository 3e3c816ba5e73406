"""The native half of windows: long traces in windows, out of the one extension module."""

from boomslang._native.windows import *  # noqa: F403
