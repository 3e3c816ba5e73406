"""Certificates in lines, for traces of any length: version 2 of the format.

A certificate of version 1 names transactions by their numbers in a trace that is in memory as a whole. One that is
written while a trace goes by, and read while it goes by again, names them by what stands in the files: a
transaction is its file and the line of its begin. So it is JSON Lines, too, in the order of its points:

    {"boomslang-certificate": 2, "level": "snapshot-isolation", "points": 2}
    {"file": "c1.jsonl", "number": 0}
    {"initial": {"items": [["x", 1]]}}
    {"order": [2, 2, 9, 9], "points": "bcbc"}
    {"verdict": "valid", "transactions": 2, "operations": 14}

`writer.py` writes them and `reader.py` reads them, a line at a time. `replay_order.py` walks through the order
and through the trace beside it, and keeps what each key holds and the transactions that have no place yet.
`small_trace.py` finds the few lines of a trace that a refutation speaks of.
"""
