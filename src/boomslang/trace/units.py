"""What a tick of a trace's clock may be, and how many nanoseconds that is."""

UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
