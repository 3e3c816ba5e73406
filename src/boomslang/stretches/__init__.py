"""One long trace, decided by many workers: stretches of it, each by one of them.

Windows that go forward (stream/) need what the windows before them left. Here that is found out first, so that
stretches of the trace can be decided at the same time, each where there is room, and by somebody who has read no more
of the trace than that:

- **cut** (slices.py): where each file is cut, at line ends and, in several files, at the same moment;
- **survey** (survey.py), a task for each slice: how many lines it has, what it wrote last of each key, what its reads
  found that nobody in it wrote, who is open at its end;
- **match** (check.py), here: from all of these, key by key, what each key probably held at each cut;
- **seam** (seam.py), a task for each cut: one window around it is ordered; the transactions that are behind its order
  are those of the next stretch, whatever the lines say;
- **stretch** (stretch.py), a task for each: windows go forward from one seam to the next, and must end there;
- **stitch** (check.py), here: what each stretch has seen of the state at its start is compared with what those before
  it have really left. Where it differs, the stretch is decided again, from what was left. A stretch that has no order
  is joined with its neighbours, in the limit all of the trace in one piece, as on one machine.

Everything before the last step is a guess that costs time if it is wrong, and nothing else. Why *valid* is sound: the
orders of the stretches, one after the other, are an order of all points. Each read sees a writer of its own stretch,
where the windows were replayed, or the state at the start, and all of that which any read has seen was compared with
what the stretches before left. Which transactions are in a stretch is said by the seams at its ends, so each is in one.
Under snapshot isolation a transaction may begin in one and commit in a later one: it is held open at the end of the
former, where no other writer of its keys may commit after its begin, and pinned at the start of the latter. Orders of
sessions and of time are compared between stretches. *Invalid* is always a part of the whole trace that has no order:
the core of a window, with all that wrote what it read, wherever that stands (stream/past.py).
"""
