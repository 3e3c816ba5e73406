"""User modules: what somebody knows beside the trace and the level, a page of code each.

module.py says what a module is, registry.py where modules come from, and `shipped` holds those that come with
Boomslang, one file each. docs/write-a-module.md is the tutorial.
"""

from boomslang.modules.module import Hints, Module, module
from boomslang.modules.registry import find_module, find_modules, known_modules, register_user_module

__all__ = [
    "Hints",
    "Module",
    "find_module",
    "find_modules",
    "known_modules",
    "module",
    "register_user_module",
]
