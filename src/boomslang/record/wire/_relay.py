"""The native half of wire: the proxy's relay, out of the one extension module."""

from boomslang._native.relay import *  # noqa: F403
