"""The native half of asg: the analysis of a history, out of the one extension module."""

from boomslang._native.analyse import *  # noqa: F403
