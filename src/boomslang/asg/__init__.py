"""Phase 2, parsing: from a trace to its Abstract Semantic Graph."""

from boomslang.asg.graph import ASG, build_asg

__all__ = ["ASG", "build_asg"]
