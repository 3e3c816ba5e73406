"""Why a level is broken, laid out for drawing: from the explanation's document to transactions on a timeline, edges of
a graph and steps of an argument, all of bounded size.

An argument with cases has an end for each of them: a *leaf*, with the steps that lead to it and the cycle it ends in.
The graph draws one leaf at a time. A core of many transactions is summarised, and only its cycles are drawn; where the
explanation says what probably happened, that is a story of its own inside the story, and comes first.
"""

from __future__ import annotations

from typing import Any

from boomslang.explain.document import document
from boomslang.explain.likely_part import likely_part, without_likely
from boomslang.levels import LEVELS, implies, minimal
from boomslang.report.neighbours import neighbours
from boomslang.report.times import Axis
from boomslang.report.transaction_summary import glance
from boomslang.report.values import Values, clipped
from boomslang.verdict import Verdict

MOST = 30
"""Transactions that are drawn; of a larger core, those of its cycles."""
CASES = 40
"""Ends of cases that are told."""
LONG = 24
"""Steps that are listed one after the other; of more, only those that make up the contradiction."""
STEPS = 400
"""Steps that are told; of a longer argument, those that prove the cycles."""
KINDS = {"ww", "wr", "rw", "pwr", "prw", "so", "rt"}

Json = dict[str, Any]


class Story:
    """The story of one counterexample, which may be that of several levels."""

    def __init__(
        self,
        verdict: Verdict,
        titles: list[str],
        name: str,
        values: Values,
        *,
        further: bool = False,
        told: Json | None = None,
    ) -> None:
        self.verdict = verdict
        self.titles = titles
        self.further = further
        """Is it one more violation of a level whose story has been told?"""
        self.name = name
        assert verdict.counterexample is not None
        self.trace = verdict.counterexample.trace  # with its transactions as modules split them
        self.values = values.on(self.trace)
        for row, key in verdict.counterexample.core.reads:
            self.values.wanted.setdefault(row, []).append(key)
        self.whole = document(verdict) if told is None else told
        self.doc = without_likely(self.whole) if told is None else told
        self.edges: dict[str, Json] = {e["id"]: e for e in self.doc["edges"]}
        self.steps: dict[str, Json] = {s["id"]: s for s in self.doc["steps"]}
        self.leaves: list[Json] = []
        self.notes: list[str] = []
        self.skipped = 0

    def to_json(self) -> Json:
        likely = self._likely()  # first, as there is room for so many operations on a page
        argument = self._branch(self.doc["argument"], "", "", []) if self.doc["argument"] else None
        if self.skipped:
            self.notes.append(f"The argument has {self.skipped:,} more cases, which are not shown.")
        drawn = self._drawn()
        if len(self.steps) > STEPS:
            self._shorten(argument)
        assert self.verdict.counterexample is not None
        if self.verdict.counterexample.cut_short:
            self.notes.append("Time ran out before every part of the core had been tried: fewer may do.")
        anomaly = self.doc["anomaly"]
        return {
            "id": self.name,
            **self._titles("" if anomaly is None else anomaly["name"]),
            "anomaly": None if anomaly is None else {**anomaly, **_weakest(anomaly["rules_out"])},
            "notes": self.notes,
            "points": 2 if any(e["source_point"] for e in self.edges.values()) else 1,
            **self._timeline(drawn),
            "edges": [self._edge(e) for e in self._joining(drawn)],
            "steps": [self._step(s) for s in self.steps.values()],
            "argument": argument,
            "leaves": self.leaves,
            "core": sum(t["role"] == "core" for t in self.whole["transactions"]),
            "proof": self.doc["proof"],
            "likely": likely,
        }

    def _likely(self) -> Json | None:
        """What probably happened, told as this is; on its timeline, also who saw the state that cannot be."""
        part = likely_part(self.whole)
        if part is None:
            return None
        likely, proof = self.whole["likely"], self.whole["proof"]
        if proof is not None and proof["kind"] == "states":
            ids = {t["id"] for t in part["transactions"]} | {proof["transaction"]}
            part["transactions"] = [t for t in self.whole["transactions"] if t["id"] in ids]
        inner = Story(self.verdict, self.titles, f"{self.name}-likely", self.values, told=part)
        made = inner.to_json()
        for txn in made["transactions"]:
            txn["role"] = "likely" if txn["id"] in likely["transactions"] else "witness"
        return {**made, "how": likely["how"], "when": likely["when"], "notes": []}

    def _titles(self, anomaly: str) -> Json:
        names = " and not ".join(self.titles)
        if self.further:
            title = f"A further violation of {names}, by other transactions"
            return {"title": title, "tab": f"Further: {anomaly or names}"}
        more = f" and {len(self.titles) - 1} more" if len(self.titles) > 1 else ""
        if len(self.titles) > 2:
            names = f"{self.titles[0]} and {len(self.titles) - 1} more levels"
        tab = f"Not {self.titles[0]}{more}" + (f": {anomaly}" if anomaly else "")
        return {"title": f"Why it is not {names}", "tab": tab}

    # --- the argument

    def _branch(self, argument: Json, path: str, title: str, above: list[str]) -> Json:
        """The argument with its ends noted; `above` are the steps that led here."""
        steps = [*above, *argument["steps"]]
        made: Json = {"steps": argument["steps"], "question": argument["question"] or "", "cases": []}
        end = argument["contradiction"]
        if end is not None and len(argument["steps"]) > LONG:
            made["steps"] = self._leading(argument["steps"], end)
        made["contradiction"] = None if end is None else {"text": end["text"]}
        made["leaf"] = None if end is None else self._leaf(end, path, title, steps)
        for n, case in enumerate(argument["cases"]):
            if len(self.leaves) >= CASES:
                self.skipped += len(argument["cases"]) - n
                break
            name = f"{title} › {case['title']}" if title else case["title"]
            inner = self._branch(case["argument"], f"{path}{n + 1}.", name, steps)
            made["cases"].append({"title": case["title"], "argument": inner})
        return made

    def _leading(self, steps: list[str], end: Json) -> list[str]:
        """Of many steps those that the contradiction itself rests on; the others are found by opening them."""
        direct = {*end["because"], *(self.edges[e]["step"] for e in end["cycle"])}
        if len(steps) > len(direct):
            self.notes.append(
                f"{len(direct):,} of {len(steps):,} steps are listed: those that make up the contradiction. "
                "The others are found by opening what was derived from them."
            )
        return [s for s in steps if s in direct]

    def _leaf(self, end: Json, path: str, title: str, steps: list[str]) -> str:
        told = self._with_reasons([*steps, *end["because"]])
        cycle = list(end["cycle"])
        if not cycle:  # nobody is left who can have written a value: a cycle for each candidate
            cycle = [e for s in end["because"] for e in self.steps[s]["cycle"]]
        edges = [e for s in told if (e := self.steps[s]["edge"]) is not None]
        cycle_steps = [s for e in cycle if (s := self.edges[e]["step"]) is not None]
        operations = {o for s in [*cycle_steps, *end["because"]] for o in self.steps[s]["operations"]}
        leaf = {
            "id": f"c{len(self.leaves) + 1}",
            "path": path,
            "title": title or "the only one",
            "steps": told,
            "edges": list(dict.fromkeys([*edges, *cycle])),
            "cycle": list(dict.fromkeys(cycle)),
            "operations": sorted(operations | set(end["operations"])),
        }
        self.leaves.append(leaf)
        return str(leaf["id"])

    def _with_reasons(self, steps: list[str]) -> list[str]:
        found: dict[str, None] = {}
        todo = list(reversed(steps))
        while todo:
            step = todo.pop()
            if step not in found:
                found[step] = None
                todo.extend(self.steps[step]["because"])
        return list(found)

    def _shorten(self, argument: Json | None) -> None:
        """Keeps the steps that prove the cycles' edges, and what they were derived from at once."""
        on_cycles = {self.edges[e]["step"] for leaf in self.leaves for e in leaf["cycle"]}
        kept = {s for s in self.steps if s in on_cycles}
        for s in sorted(kept, key=lambda s: int(s[1:])):
            if len(kept) < STEPS:
                kept |= set(self.steps[s]["because"][: STEPS - len(kept)])
        self.notes.append(
            f"The argument has {len(self.steps):,} steps. Those that prove the cycle are shown; "
            "the JSON output has them all."
        )
        self.steps = {name: step for name, step in self.steps.items() if name in kept}
        for leaf in self.leaves:
            leaf["steps"] = [s for s in leaf["steps"] if s in kept]
            leaf["edges"] = [e for e in leaf["edges"] if self.edges[e]["step"] in kept or e in leaf["cycle"]]
        todo = [] if argument is None else [argument]
        while todo:
            branch = todo.pop()
            branch["steps"] = [s for s in branch["steps"] if s in kept]
            todo += [case["argument"] for case in branch["cases"]]

    # --- what is drawn

    def _drawn(self) -> list[str]:
        """The transactions to draw: all, or those of the cycles if they are many."""
        everybody: list[Json] = self.doc["transactions"]
        names = [t["id"] for t in everybody]
        if self.whole["proof"] is not None:
            self._say_how_many()
        if len(names) <= MOST:
            return names
        core = [t for t in everybody if t["role"] == "core"]
        sessions = {t["session"] for t in core}
        on_cycle = [
            end
            for leaf in self.leaves
            for e in leaf["cycle"]
            for end in (self.edges[e]["source"], self.edges[e]["target"])
        ]
        wanted = dict.fromkeys(t for t in on_cycle if t in set(names))
        if not wanted:
            rows = {o for leaf in self.leaves for o in leaf["operations"]}
            spoken = [t["id"] for t in everybody if any(o["index"] in rows for o in t["operations"])]
            wanted = dict.fromkeys([*spoken, *names])
        shown = list(wanted)[:MOST]
        many = f"{len(wanted):,} are on the cycle" if on_cycle else "What they did is alike"
        self.notes.append(
            f"A large core: {len(core):,} transactions of {len(sessions):,} sessions, with "
            f"{len(self.doc['reads']):,} reads, and {len(names) - len(core):,} more that may have been read from. "
            f"{many}; {len(shown):,} are drawn. The JSON output has them all."
        )
        return shown

    def _say_how_many(self) -> None:
        """Of a proof by counting or states: what its core is."""
        core = [t for t in self.whole["transactions"] if t["role"] == "core"]
        sessions = {t["session"] for t in core}
        self.notes.append(
            f"The proof rests on {len(self.doc['reads']):,} reads by {len(core):,} transactions of "
            f"{len(sessions):,} sessions. The JSON output has them all."
        )

    def _joining(self, drawn: list[str]) -> list[Json]:
        inside = set(drawn)
        kept = [e for e in self.edges.values() if e["source"] in inside and e["target"] in inside]
        if len(drawn) < len(self.doc["transactions"]):
            on_cycles = {e for leaf in self.leaves for e in leaf["cycle"]}
            kept = [e for e in kept if e["id"] in on_cycles]
        known = {e["id"] for e in kept}
        for leaf in self.leaves:
            for part in ("edges", "cycle"):
                leaf[part] = [e for e in leaf[part] if e in known]
        for step in self.steps.values():
            step["edge"] = step["edge"] if step["edge"] in known else None
            step["drawn"] = [e for e in step["cycle"] if e in known]
        return kept

    def _edge(self, e: Json) -> Json:
        names = ("id", "source", "target", "source_point", "target_point", "key", "text", "supposed")
        step = e["step"] if e["step"] in self.steps else None
        return {
            **{n: e[n] for n in names},
            "kind": e["kind"] if e["kind"] in KINDS and e["module"] is None else "other",
            "word": clipped(e["module"].partition(":")[0]) if e["module"] else e["kind"],
            "step": step,
        }

    def _step(self, s: Json) -> Json:
        cycle = [self.edges[e] for e in s["cycle"]]
        around = " → ".join([e["source"] for e in cycle] + [e["target"] for e in cycle[-1:]])
        return {
            "id": s["id"],
            "text": s["text"],
            "edge": s["edge"],
            "operations": s["operations"],
            "because": [b for b in s["because"] if b in self.steps],
            "cycle": s["drawn"],
            "cycle_text": around,
        }

    def _timeline(self, drawn: list[str]) -> Json:
        shown = set(drawn)
        mine = [t for t in self.doc["transactions"] if t["id"] in shown]
        views = {t["index"]: glance(self.trace, t["index"]) for t in mine}
        axis = Axis(self.trace, views.values())
        near = [glance(self.trace, t) for t in neighbours(self.trace, list(views))]
        near = [view for view in near if axis.fits(view)]
        matter = {t["index"]: {o["index"] for o in t["operations"] if o["matters"]} for t in mine}
        roles = {t["index"]: t["role"] for t in mine}
        everybody = {**views, **{view.index: view for view in near}}
        made = {
            t: self.values.transaction(view, roles.get(t, "neighbour"), matter.get(t, set()))
            for t, view in sorted(everybody.items())
        }
        for t, one in made.items():
            axis.place(everybody[t], one)
        return {
            "axis": axis.to_json(),
            "transactions": [one for t, one in made.items() if t in views],
            "neighbours": [one for t, one in made.items() if t not in views],
        }


def _weakest(names: list[str]) -> Json:
    """The weakest of the levels that are ruled out: all that imply one of them are too."""
    levels = [level for level in LEVELS if level.name in names]
    least = minimal(levels)
    above = [level for level in LEVELS if any(implies(level, one) for one in least)]
    return {"rules_out": [level.title for level in least], "and_above": len(above) > len(least)}
