"""Isolation levels as data: what they are, what they are called, and which implies which."""

from boomslang.levels.catalog import LEVELS, find_level, names_of
from boomslang.levels.lattice import implies, maximal, minimal, neighbours, strictly_stronger
from boomslang.levels.level import Dependency, Level, Once, Point
from boomslang.levels.registry import is_shipped, known_levels, level
from boomslang.levels.within import bounded, fitted

__all__ = [
    "LEVELS",
    "Dependency",
    "Level",
    "Once",
    "Point",
    "bounded",
    "find_level",
    "fitted",
    "implies",
    "is_shipped",
    "known_levels",
    "level",
    "maximal",
    "minimal",
    "names_of",
    "neighbours",
    "strictly_stronger",
]
