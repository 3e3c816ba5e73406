"""Is a refutation that needs no solver right? One way in for all kinds."""

from __future__ import annotations

from boomslang.certify.proof import Proof, StuckSessions, TooFewArrivals, TooFewVersions
from boomslang.certify.stuck_sessions import fault_of_sessions
from boomslang.certify.too_few_arrivals import fault_of_departures
from boomslang.certify.too_few_versions import fault_of_count
from boomslang.certify.unreachable_state import fault_of_states
from boomslang.trace import Trace


def fault_of_proof(trace: Trace, level: str, proof: Proof) -> str:
    """What is wrong with it; nothing, if it refutes the trace at this level."""
    if isinstance(proof, TooFewVersions):
        return fault_of_count(trace, level, proof)
    if isinstance(proof, TooFewArrivals):
        return fault_of_departures(trace, level, proof)
    if isinstance(proof, StuckSessions):
        return fault_of_sessions(trace, level, proof)
    return fault_of_states(trace, level, proof)
