"""The native half of explain: violations among known edges, out of the one extension module."""

from boomslang._native.known import *  # noqa: F403
