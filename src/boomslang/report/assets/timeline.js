// The timeline: a lane for each session, a bar from begin to end for each transaction, a box for each operation.
// Spread evenly, every event has room for its label and only what was before what is true to scale; by the clock, the
// lengths are true too.

const FAULT = 14; // for the names of faults, below the lanes
const LANE = 62;
const BAR = 40;
const BOX = 22;
const LETTER = 6.7;
const LABELS = 112;

class TimelineView {
  constructor(story, selection) {
    this.story = story;
    this.selection = selection;
    this.neighbours = false;
    this.clock = false;
    this.picture = el("div", { class: "scroll lanes", role: "group", "aria-label": "Timeline" });
    this.note = el("p", { class: "hint" });
    this.box = el("div", { class: "timeline" }, this.tools(), this.picture, this.note);
    this.rove = roving(this.picture, ".bar, .op", arrows);
    this.draw();
    selection.views.push((marks) => this.mark(marks));
    new ResizeObserver(() => {
      if (Math.abs(this.picture.clientWidth - this.drawn) > 4) this.draw();
    }).observe(this.picture);
  }

  tools() {
    const tools = el("div", { class: "tools" });
    if (this.story.axis.kind === "time") {
      const button = el("button", { type: "button", "aria-pressed": "false" }, "True to the clock");
      button.addEventListener("click", () => {
        this.clock = !this.clock;
        button.setAttribute("aria-pressed", String(this.clock));
        this.draw();
      });
      tools.append(button);
    }
    if (this.story.neighbours.length) {
      const n = this.story.neighbours.length;
      const button = el("button", { type: "button", "aria-pressed": "false", class: "neighbours" }, `Show ${count(n, "neighbour")}`);
      button.addEventListener("click", () => {
        this.neighbours = !this.neighbours;
        button.setAttribute("aria-pressed", String(this.neighbours));
        button.textContent = `${this.neighbours ? "Hide" : "Show"} ${count(n, "neighbour")}`;
        this.draw();
        this.bringIntoView(this.bars.get(this.story.transactions[0].id));
      });
      tools.append(button);
    }
    return tools;
  }

  // --- where things go

  // Lanes of sessions; transactions of one lane that overlap, or that have no session, get rows of their own.
  lanes() {
    const chosen = [...this.story.transactions, ...(this.neighbours ? this.story.neighbours : [])];
    const shown = this.story.axis.kind === "none" ? closeUp(chosen) : chosen;
    const lanes = new Map();
    for (const t of shown) {
      const name = t.session === null ? `\0${t.id}` : t.session;
      if (!lanes.has(name)) lanes.set(name, { name: t.session, rows: [] });
      const lane = lanes.get(name);
      const row = lane.rows.find((r) => r.every((o) => o.to < t.from || t.to < o.from || (o.to <= t.from && o.from < t.from)));
      if (row) row.push(t);
      else lane.rows.push([t]);
    }
    return [...lanes.values()].sort((a, b) => natural(a.name, b.name));
  }

  scale(shown) {
    const times = new Set();
    for (const t of shown) {
      for (const x of [t.from, t.to]) times.add(x);
      for (const o of t.operations) for (const x of [o.from, o.to]) times.add(x);
    }
    const all = [...times].sort((a, b) => a - b);
    const room = Math.max(320, this.picture.clientWidth - LABELS - 58);
    if (this.clock) {
      const length = all[all.length - 1] - all[0] || 1;
      return { all, x: (t) => ((t - all[0]) / length) * room, width: room };
    }
    const place = new Map(all.map((t, i) => [t, i]));
    const gaps = new Array(Math.max(0, all.length - 1)).fill(10);
    const operations = shown.flatMap((t) => t.operations).sort((a, b) => a.from - b.from || a.to - b.to);
    for (const o of operations) {
      const wanted = o.matters ? o.label.length * LETTER + 12 : 20;
      const [from, to] = [place.get(o.from), place.get(o.to)];
      if (from === to) continue;
      let there = 0;
      for (let i = from; i < to; i++) there += gaps[i];
      for (let i = from; i < to && there < wanted; i++) gaps[i] += (wanted - there) / (to - from);
    }
    let width = gaps.reduce((a, b) => a + b, 0);
    const stretch = width && width < room ? room / width : 1;
    const at = [0];
    gaps.forEach((g, i) => at.push(at[i] + g * stretch));
    width = at[at.length - 1];
    return { all, x: (t) => at[place.get(t)], width };
  }

  // --- drawing

  draw() {
    this.drawn = this.picture.clientWidth;
    const lanes = this.lanes();
    const shown = lanes.flatMap((lane) => lane.rows.flat());
    const { all, x, width } = this.scale(shown);
    const axis = this.story.axis.kind === "none" ? 8 : 30;
    const rows = lanes.reduce((sum, lane) => sum + lane.rows.length, 0);
    const told = (this.story.faults || []).length ? FAULT : 0;
    const height = axis + rows * LANE + 6 + told;
    const across = width + 54;
    const picture = svg("svg", { width: across, height, viewBox: `0 0 ${across} ${height}`, class: "picture" });
    const names = svg("svg", { width: LABELS, height, viewBox: `0 0 ${LABELS} ${height}`, class: "names" });
    const left = 24;
    this.addAxis(picture, all, x, left, height);
    this.boxes = new Map();
    this.bars = new Map();
    let y = axis;
    lanes.forEach((lane, n) => {
      const tall = lane.rows.length * LANE;
      for (const side of [names, picture]) {
        side.append(svg("rect", { x: 0, y, width: side === names ? LABELS : across, height: tall, class: n % 2 ? "lane odd" : "lane" }));
      }
      y += tall;
    });
    this.addFaults(picture, all, x, left, height); // over the lanes, under the transactions
    y = axis;
    lanes.forEach((lane) => {
      const tall = lane.rows.length * LANE;
      if (lane.name !== null) {
        const name = svg("text", { x: 10, y: y + tall / 2 + 4, class: "session" }, clip(lane.name, 14));
        name.append(svg("title", null, `session ${lane.name}`));
        names.append(name);
      }
      lane.rows.forEach((row, r) => {
        const named = this.named(row, x);
        row.forEach((t) => this.addBar(picture, t, left, y + r * LANE, x, named.has(t)));
      });
      y += tall;
    });
    this.picture.replaceChildren(el("div", { class: "rows" }, names, picture));
    this.picture.setAttribute("aria-label", `Timeline: ${count(lanes.length, "lane")}, ${count(shown.length, "transaction")}`);
    this.note.textContent = AXES[this.story.axis.kind](this.story.axis, this.clock);
    this.rove();
    this.mark(this.selection.marks());
  }

  addAxis(picture, all, x, left, height) {
    const kind = this.story.axis.kind;
    if (kind === "none") return;
    const text_of = kind === "time" ? tidied(all, this.story.axis.unit) : (t) => `${this.story.axis.word} ${t}`;
    let free = -Infinity;
    for (const t of all) {
      const at = left + x(t);
      const text = text_of(t);
      const half = (text.length * LETTER) / 2;
      if (!Number.isInteger(t) || at - half < free) continue;
      free = at + half + 10;
      picture.append(
        svg("line", { x1: at, x2: at, y1: 22, y2: height, class: "tick" }),
        svg("text", { x: at, y: 15, class: "tick", "text-anchor": "middle" }, text),
      );
    }
  }

  // What was done to nodes meanwhile: a band from its beginning to its end, as far as it is in the picture.
  addFaults(picture, all, x, left, height) {
    const place = (t) => {
      const n = all.findIndex((known) => known >= t);
      if (n <= 0) return n ? x(all[all.length - 1]) : x(all[0]);
      const [a, b] = [all[n - 1], all[n]];
      return x(a) + ((x(b) - x(a)) * (t - a)) / (b - a);
    };
    let free = -Infinity;
    for (const fault of this.story.faults || []) {
      const [from, to] = [left + place(fault.from), left + place(fault.to)];
      const named = from >= free; // a name that would stand on another's is left to the tip
      if (named) free = from + fault.what.length * LETTER + 8;
      const band = svg("g", { class: "fault", role: "img", "aria-label": `fault: ${fault.what}` },
        svg("rect", { x: from, y: 22, width: Math.max(3, to - from), height: height - 28 }),
        named ? svg("text", { x: from + 3, y: height - 9 }, fault.what) : null,
      );
      tipFor(band, () => [`fault: ${fault.what}`]);
      picture.append(band);
    }
  }

  // Those of a row whose names have room. A neighbour's gives way to all others.
  named(row, x) {
    const found = new Set();
    let free = -Infinity;
    const sorted = [...row].sort((a, b) => x(a.from) - x(b.from));
    sorted.forEach((t, n) => {
      const end = x(t.from) + (t.id.length + (t.outcome === "committed" ? 0 : t.outcome.length + 1)) * LETTER + 6;
      const before = sorted.slice(n + 1).find((o) => o.role !== "neighbour");
      if (t.role === "neighbour" && (x(t.from) < free || (before && x(before.from) < end))) return;
      free = end;
      found.add(t);
    });
    return found;
  }

  addBar(picture, t, left, top, x, named) {
    const [from, to] = [left + x(t.from) - 5, left + x(t.to) + 5];
    const y = top + (LANE - BAR) / 2 + 4;
    const choose = () => this.selection.select("transaction", t.id);
    const what = `${t.id}${t.session === null ? "" : `, session ${t.session}`}, ${t.outcome}${t.role === "core" ? "" : `, ${ROLES[t.role]}`}`;
    const bar = svg(
      "g",
      {
        class: `bar ${t.role} ${t.outcome}`, "data-txn": t.id, role: "button", tabindex: "-1",
        "aria-label": what, onclick: choose, onkeydown: onEnter(choose),
      },
      svg("rect", { x: from, y, width: Math.max(12, to - from), height: BAR, rx: 7 }),
      named ? svg("text", { x: from + 1, y: y - 4, class: "name" }, t.id, t.outcome === "committed" ? "" : ` ${t.outcome}`, t.session === null ? "" : svg("tspan", { class: "paper" }, ` ${clip(t.session, 20)}`)) : null,
    );
    tipFor(bar, () => [what, count(t.operations.length + t.more, "operation"), t.where]);
    this.bars.set(t.id, bar);
    picture.append(bar);
    let filled = -Infinity;
    for (const o of t.operations) {
      const start = Math.max(left + x(o.from), filled + 1);
      const end = Math.max(left + x(o.to), start + (this.clock ? 4 : 16));
      filled = end;
      picture.append(this.opShape(t, o, start, y + (BAR - BOX) / 2, end - start));
    }
  }

  opShape(t, o, x, y, width) {
    const choose = (event) => {
      event.stopPropagation();
      this.selection.select("operation", o.id);
    };
    const fits = Math.floor((width - 8) / LETTER);
    const label = o.matters && fits >= o.label.length ? o.label : o.matters && fits >= 4 ? clipInside(o.label, fits) : width >= 12 ? o.glyph : "";
    const shape = svg(
      "g",
      {
        class: `op ${o.does}${o.matters ? " matters" : ""}${o.error === null ? "" : " failed"}`,
        "data-op": o.id, role: "button", tabindex: "-1", "aria-label": `${t.id}: ${o.text}, ${o.where}`,
        onclick: choose, onkeydown: onEnter(choose),
      },
      svg("rect", { x, y, width, height: BOX, rx: 4 }),
      svg("text", { x: x + width / 2, y: y + 15, "text-anchor": "middle" }, label),
    );
    tipFor(shape, () => [`${t.id}: ${o.text}`, o.error === null ? "" : `failed: ${o.error}`, o.where].filter(Boolean));
    this.boxes.set(o.id, shape);
    return shape;
  }

  mark(marks) {
    if (!this.boxes) return;
    const some = marks.operations.size + marks.transactions.size > 0;
    for (const [id, shape] of this.boxes) {
      shape.classList.toggle("lit", marks.operations.has(id));
      shape.classList.toggle("dim", marks.operations.size > 0 && !marks.operations.has(id));
    }
    for (const [id, bar] of this.bars) {
      bar.classList.toggle("lit", marks.transactions.has(id));
      bar.classList.toggle("dim", some && !marks.transactions.has(id));
    }
    const lit = [...this.boxes].filter(([id]) => marks.operations.has(id)).map(([, shape]) => shape);
    if (!lit.some((shape) => this.inView(shape))) this.bringIntoView(lit[0]);
  }

  inView(shape) {
    const [frame, spot] = [this.picture.getBoundingClientRect(), shape.getBoundingClientRect()];
    return spot.left >= frame.left + LABELS && spot.right <= frame.right;
  }

  // Scrolls the lanes, and only them.
  bringIntoView(shape) {
    if (!shape || this.inView(shape)) return;
    const [frame, spot] = [this.picture.getBoundingClientRect(), shape.getBoundingClientRect()];
    this.picture.scrollLeft += spot.left - frame.left - LABELS - frame.width / 6;
  }
}

// Where nothing is known between lanes: each lane by itself, from the left and without gaps.
function closeUp(transactions) {
  const next = new Map();
  return [...transactions]
    .sort((a, b) => a.from - b.from)
    .map((t) => {
      const lane = t.session === null ? t : t.session;
      const by = (next.get(lane) || 0) - t.from;
      next.set(lane, t.to + by + 1);
      const operations = t.operations.map((o) => ({ ...o, from: o.from + by, to: o.to + by }));
      return { ...t, from: t.from + by, to: t.to + by, operations };
    });
}

const ROLES = { core: "part of the core", candidate: "may have been read from", likely: "part of what probably happened", witness: "saw what cannot be", neighbour: "a neighbour, not needed for the argument" };

const AXES = {
  time: (axis, clock) =>
    `Times${axis.clock ? ` of the clock ${axis.clock}` : ""}, counted from the first event of the explanation${axis.unit ? "" : ", in the unit that the trace has them in"}` +
    (clock ? "." : ". Events are spread evenly: what is left of what is exact, lengths are not."),
  line: () => "The trace has no times. Events are in the order in which they were recorded.",
  none: () => "The trace has no times that can be compared: each lane shows only its own order.",
};

// How a time is written: in the largest unit in which the whole timeline is at least a few of them, with the unit.
function tidied(all, unit) {
  const length = all.length ? all[all.length - 1] - all[0] : 0;
  const tick = { s: 1e9, ms: 1e6, us: 1e3, ns: 1 }[unit];
  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].map(([name, n]) => [name, n / tick]).filter(([, n]) => n >= 1);
  const [name, size] = tick ? units.find(([, n]) => length >= 3 * n) || units[units.length - 1] : ["", 1];
  const places = length / size < 100 && size > 1 ? 2 : 0;
  return (t) => {
    const number = Math.abs(t / size).toLocaleString("en", { maximumFractionDigits: places });
    return `${t < 0 ? "−" : "+"}${number}${name ? ` ${name}` : ""}`;
  };
}

function natural(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a.localeCompare(b, "en", { numeric: true });
}
