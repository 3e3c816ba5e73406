"""Put load on a database and record it; and hunt for what breaks its promise."""

from boomslang.run.faults import parse_faults
from boomslang.run.hunt import Hunted, Quarry, hunt, variations
from boomslang.run.runner import Plan, Ran, Speed, run

__all__ = ["Hunted", "Plan", "Quarry", "Ran", "Speed", "hunt", "parse_faults", "run", "variations"]
