"""Put load on a database and record it; and hunt for what breaks its promise."""

from boomslang.run.faults import parse_faults
from boomslang.run.hunt import Hunted, Quarry, Tried, hunt
from boomslang.run.runner import Plan, Ran, Speed, run
from boomslang.run.variation import Variations, Varied, variations

__all__ = [
    "Hunted",
    "Plan",
    "Quarry",
    "Ran",
    "Speed",
    "Tried",
    "Variations",
    "Varied",
    "hunt",
    "parse_faults",
    "run",
    "variations",
]
