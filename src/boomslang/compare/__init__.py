"""Two runs side by side: two traces, or two hunts.

Each is first told by itself, as a `Side` (`of_a_trace.py`, `of_a_hunt.py`): what was run, its figures, what was
answered about it, and which anomalies and operations there were. `comparison.py` puts two of them beside each other and
says what is new. Figures of one run each are two draws of a lottery: nothing here says that a difference is more than
chance.
"""

from boomslang.compare.comparison import Comparison, compare
from boomslang.compare.of_a_hunt import hunt_file, side_of_hunt
from boomslang.compare.of_a_trace import side_of_trace
from boomslang.compare.side import Answered, Side

__all__ = ["Answered", "Comparison", "Side", "compare", "hunt_file", "side_of_hunt", "side_of_trace"]
