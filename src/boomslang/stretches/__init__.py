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

Everything before the last step is a guess that costs time if it is wrong, and nothing else: tests lie about it.

Why *valid* is sound. The orders of the stretches, one after the other, are an order of all points:

- Each committed transaction is in one stretch. Which ones a stretch has is said by the seams at its ends: the lines
  between them, with those that the first seam holds back, without those that the second does. A seam lies before
  the next cut, so what is over before it is open at no later one. All of them are counted by the surveys, and what
  the stretches have taken must come to that number.
- Each read sees a writer of its own stretch, where the windows were replayed (stream/replayed.py), or the state at the
  start. All of the latter that any read has seen (demands; with scans, every key) is compared with what the stretches
  before have really left, from the initial state on. Where that is unknown, the first demand says what
  it was.
- Under snapshot isolation a transaction may begin in one stretch and commit in a later one. It is held open at the end
  of the former, where nobody may have overwritten its keys since its begin, begun after it returned, or begun behind it
  in its session (`Stretch.holds_open`); and it is the first writer of its keys in the latter (stream/window.py).
- Orders of sessions and of time: within a stretch as in any stream; between stretches, the first of each session and
  the earliest return are compared with the last and the latest begin of all before (`_in_order`).
- A transaction of unknown outcome may be read from in two stretches: then the later is decided again without it.

What is written is a certificate, and `verify` knows nothing of stretches.

*Invalid* is always a part of the whole trace that has no order: the core of a window, with all that wrote what it read,
wherever that stands (stream/past.py). A stretch alone refutes nothing, unless it is all of the trace.
"""
