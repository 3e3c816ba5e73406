// The dependency graph, drawn by hand in SVG: transactions on an ellipse, in an order that keeps the cycle together
// and edges short; curved edges, each kind with a colour and a dash of its own; labels where nothing else is.

const KINDS = {
  wr: { name: "wr", means: "read from: the second read what the first wrote", dash: "" },
  ww: { name: "ww", means: "overwrote: the second overwrote what the first wrote", dash: "11 4" },
  rw: { name: "rw", means: "anti-dependency: the second overwrote what the first read", dash: "6 4" },
  pwr: { name: "pwr", means: "range read: the second saw a key as the first left it", dash: "1.5 4" },
  prw: { name: "prw", means: "range anti-dependency: the second changed a key that the first saw absent", dash: "9 3 2 3" },
  so: { name: "so", means: "session order: the same client ran the first before the second", dash: "2 6" },
  rt: { name: "rt", means: "real time: the first had ended before the second began", dash: "14 4 2 4" },
  other: { name: "other", means: "said by a module, or inside a transaction", dash: "4 2 1 2" },
};

const NODE = { width: 104, height: 44 };

class GraphView {
  constructor(story, selection) {
    this.story = story;
    this.selection = selection;
    this.edges = story.edges.filter((e) => e.source !== e.target);
    const drawn = new Set(this.edges.flatMap((e) => [e.source, e.target]));
    this.nodes = [...drawn];
    this.box = el("div", { class: "graph" });
    if (this.nodes.length === 0) {
      this.box.append(el("p", { class: "empty" }, "No two transactions need to be put in order: one read is enough."));
      return;
    }
    this.place();
    this.draw();
    selection.views.push((marks) => this.mark(marks));
  }

  // --- where the transactions go

  place() {
    const order = ringOrder(this.nodes, this.edges, this.story.leaves);
    const n = order.length;
    this.width = n > 16 ? 960 : 720;
    this.height = n <= 2 ? 250 : n <= 4 ? 360 : n <= 10 ? 460 : n <= 16 ? 560 : 760;
    const rx = this.width / 2 - NODE.width / 2 - 34;
    const ry = this.height / 2 - NODE.height / 2 - 34;
    this.at = new Map();
    this.centre = { x: this.width / 2, y: this.height / 2 };
    const turns = evenTurns(n, rx, ry);
    order.forEach((id, i) => {
      const turn = n === 2 ? Math.PI * (1 - i) : turns[i];
      const x = n === 1 ? this.centre.x : this.centre.x + (n === 2 ? rx * 0.86 : rx) * Math.cos(turn);
      const y = n === 1 ? this.centre.y : this.centre.y + ry * Math.sin(turn);
      this.at.set(id, { x, y, id });
    });
  }

  // --- drawing

  draw() {
    const picture = svg("svg", {
      viewBox: `0 0 ${this.width} ${this.height}`,
      role: "group",
      "aria-label": `Dependency graph: ${count(this.nodes.length, "transaction")}, ${count(this.edges.length, "edge")}. The table below says the same.`,
    });
    const used = new Set(this.edges.map((e) => e.kind));
    picture.append(
      svg(
        "defs",
        null,
        [...used].map((kind) =>
          svg(
            "marker",
            {
              id: `head-${this.story.id}-${kind}`, viewBox: "0 0 10 10", refX: 8.5, refY: 5,
              markerWidth: 11, markerHeight: 11, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse",
            },
            svg("path", { d: "M0 1 L10 5 L0 9 L2.5 5 z", class: `head k-${kind}` }),
          ),
        ),
      ),
    );
    this.edgeShapes = new Map();
    this.nodeShapes = new Map();
    const curves = this.curves();
    const labels = new Labels([...this.at.values()], curves);
    for (const curve of curves) picture.append(this.edgeShape(curve, labels.place(curve)));
    for (const id of this.nodes) picture.append(this.nodeShape(id));
    roving(picture, ".edge, .node", arrows);
    picture.addEventListener("click", (event) => {
      if (event.target === picture) this.selection.clear();
    });
    this.box.append(picture, this.legend(used), this.table());
  }

  curves() {
    const between = new Map();
    for (const edge of this.edges) {
      const pair = [edge.source, edge.target].sort().join(" ");
      if (!between.has(pair)) between.set(pair, []);
      between.get(pair).push(edge);
    }
    const curves = [];
    for (const edges of between.values()) {
      const there = edges.filter((e) => e.source === edges[0].source);
      const back = edges.filter((e) => e.source !== edges[0].source);
      for (const side of [there, back]) {
        side.forEach((edge, i) => curves.push(this.curve(edge, i, side.length, there.length && back.length)));
      }
    }
    return curves;
  }

  // A bow to the left of its direction: an edge and its contrary make a lens, and parallel ones do not meet.
  curve(edge, i, beside, both) {
    const a = this.anchor(edge.source, edge.source_point);
    const b = this.anchor(edge.target, edge.target_point);
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const length = Math.hypot(dx, dy) || 1;
    const normal = { x: dy / length, y: -dx / length };
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    let bow;
    if (both || beside > 1) bow = both ? 34 + 40 * i : (i - (beside - 1) / 2) * 48;
    else {
      // A lone edge leans outwards if it runs along the ring, and a little aside if it crosses it.
      const away = (middle.x - this.centre.x) * normal.x + (middle.y - this.centre.y) * normal.y;
      bow = (away >= 0 ? 1 : -1) * Math.min(26, length * 0.1);
    }
    const control = { x: middle.x + 2 * bow * normal.x, y: middle.y + 2 * bow * normal.y };
    const from = leave(a, control);
    const to = leave(b, control);
    return { edge, from, control, to, normal, side: bow >= 0 ? 1 : -1 };
  }

  // With begin and commit points an edge leaves and enters at one half of the box.
  anchor(id, point) {
    const { x, y } = this.at.get(id);
    if (this.story.points !== 2 || !point) return { x, y, w: NODE.width, h: NODE.height };
    const half = NODE.width / 2;
    return { x: x + (point === "begin" ? -half / 2 : half / 2), y, w: half, h: NODE.height };
  }

  edgeShape({ edge, from, control, to }, label) {
    const d = `M${from.x} ${from.y} Q${control.x} ${control.y} ${to.x} ${to.y}`;
    const choose = () => this.selection.select("edge", edge.id);
    const shape = svg(
      "g",
      {
        class: `edge k-${edge.kind}`, "data-edge": edge.id, role: "button", tabindex: "-1",
        "aria-label": `${edge.source} to ${edge.target}, ${edge.kind}${edge.key ? ` on ${edge.key}` : ""}: ${edge.text}`,
        onclick: choose, onkeydown: onEnter(choose),
      },
      svg("path", { d, class: "reach" }),
      svg("path", {
        d, class: "line", "stroke-dasharray": KINDS[edge.kind].dash || null,
        "marker-end": `url(#head-${this.story.id}-${edge.kind})`,
      }),
      svg("text", { x: label.x, y: label.y + 4, "text-anchor": "middle" }, label.text),
    );
    tipFor(shape, () => [`${edge.source} → ${edge.target}  ${edge.kind}${edge.key ? ` (${edge.key})` : ""}`, edge.text]);
    this.edgeShapes.set(edge.id, shape);
    return shape;
  }

  nodeShape(id) {
    const { x, y } = this.at.get(id);
    const t = this.selection.transactions.get(id);
    const choose = () => t && this.selection.select("transaction", id);
    const [left, top] = [x - NODE.width / 2, y - NODE.height / 2];
    const shape = svg(
      "g",
      {
        class: `node ${t ? t.role : "initial"}`, "data-node": id, role: "button", tabindex: "-1",
        "aria-label": t ? `${id}${t.session === null ? "" : `, session ${t.session}`}, ${t.outcome}` : "the initial state",
        onclick: choose, onkeydown: onEnter(choose),
      },
      svg("rect", { x: left, y: top, width: NODE.width, height: NODE.height, rx: 10 }),
      svg("text", { x, y: y - 2, "text-anchor": "middle", class: "name" }, id),
      svg("text", { x, y: y + 13, "text-anchor": "middle", class: "sub" }, t ? clip(t.session === null ? t.outcome : t.session, 14) : ""),
    );
    if (this.story.points === 2) {
      shape.append(
        svg("line", { x1: x, x2: x, y1: top + 3, y2: top + 8, class: "half" }),
        svg("line", { x1: x, x2: x, y1: top + NODE.height - 8, y2: top + NODE.height - 3, class: "half" }),
        svg("text", { x: left + 6, y: top + NODE.height / 2 + 3, class: "point" }, "b"),
        svg("text", { x: left + NODE.width - 6, y: top + NODE.height / 2 + 3, class: "point", "text-anchor": "end" }, "c"),
      );
    }
    if (t) tipFor(shape, () => [id + (t.session === null ? "" : `, session ${t.session}`), t.where]);
    this.nodeShapes.set(id, shape);
    return shape;
  }

  legend(used) {
    const rows = Object.keys(KINDS)
      .filter((kind) => used.has(kind))
      .map((kind) =>
        el(
          "li",
          null,
          svg(
            "svg",
            { width: 44, height: 12, viewBox: "0 0 44 12", "aria-hidden": "true", class: `k-${kind}` },
            svg("path", { d: "M2 6 H34", class: "line", "stroke-dasharray": KINDS[kind].dash || null }),
            svg("path", { d: "M33 2 L43 6 L33 10 L35.5 6 z", class: "head" }),
          ),
          el("b", null, kind),
          ` ${KINDS[kind].means}`,
        ),
      );
    if (this.story.points === 2) rows.push(el("li", null, el("b", null, "b, c"), " begin and commit: this level orders both"));
    return el("ul", { class: "legend", "aria-label": "Kinds of edges" }, rows);
  }

  table() {
    const rows = this.edges.map((e) =>
      el(
        "tr",
        null,
        el("td", null, this.end(e.source, e.source_point)),
        el("td", null, el("span", { class: `kind k-${e.kind}` }, e.kind)),
        el("td", null, this.end(e.target, e.target_point)),
        el("td", null, e.key ? el("code", null, e.key) : ""),
        el("td", null, e.text),
      ),
    );
    const head = ["from", "kind", "to", "key", "why"].map((h) => el("th", { scope: "col" }, h));
    return el(
      "details",
      { class: "as-table" },
      el("summary", null, "The graph as a table"),
      el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, head)), el("tbody", null, rows))),
    );
  }

  end(id, point) {
    return point && this.story.points === 2 ? `${id} ${point}` : id;
  }

  mark(marks) {
    const leaf = this.selection.leaf;
    const shown = leaf ? new Set(leaf.edges) : null;
    const cycle = new Set(leaf ? leaf.cycle : []);
    const some = marks.edges.size > 0;
    for (const [id, shape] of this.edgeShapes) {
      const off = shown !== null && !shown.has(id) && !marks.edges.has(id);
      shape.classList.toggle("off", off);
      shape.classList.toggle("round", cycle.has(id));
      shape.classList.toggle("lit", marks.edges.has(id));
      shape.classList.toggle("dim", some && !marks.edges.has(id));
      if (off) shape.setAttribute("hidden", "");
      else shape.removeAttribute("hidden");
    }
    for (const [id, shape] of this.nodeShapes) shape.classList.toggle("lit", marks.transactions.has(id));
  }
}

// Turns at which boxes on an ellipse are the same way along it apart.
function evenTurns(n, rx, ry) {
  const fine = 720;
  const along = [0];
  const at = (i) => Math.PI + (2 * Math.PI * i) / fine;
  for (let i = 1; i <= fine; i++) {
    const [a, b] = [at(i - 1), at(i)];
    along.push(along[i - 1] + Math.hypot(rx * (Math.cos(b) - Math.cos(a)), ry * (Math.sin(b) - Math.sin(a))));
  }
  const turns = [];
  let i = 0;
  for (let k = 0; k < n; k++) {
    while (along[i] < (along[fine] * k) / n) i++;
    turns.push(at(i));
  }
  return turns;
}

// An order around the ring: the cycles' edges between neighbours if that is possible, the others short. Begins with
// the first cycle, then exchanges two as long as that helps.
function ringOrder(nodes, edges, leaves) {
  const weight = new Map();
  const pair = (a, b) => (a < b ? `${a} ${b}` : `${b} ${a}`);
  const round = new Set(leaves.flatMap((leaf) => leaf.cycle));
  const order = [];
  const add = (id) => {
    if (!order.includes(id)) order.push(id);
  };
  const known = new Map(edges.map((e) => [e.id, e]));
  for (const leaf of leaves) {
    for (const id of leaf.cycle) {
      const edge = known.get(id);
      if (edge) [edge.source, edge.target].forEach(add);
    }
  }
  nodes.forEach(add);
  for (const e of edges) {
    const key = pair(e.source, e.target);
    weight.set(key, (weight.get(key) || 0) + (round.has(e.id) ? 3 : 1));
  }
  const links = [...weight].map(([key, w]) => [...key.split(" "), w]);
  const cost = () => {
    const place = new Map(order.map((id, i) => [id, i]));
    let sum = 0;
    for (const [a, b, w] of links) {
      const far = Math.abs(place.get(a) - place.get(b));
      sum += w * (Math.min(far, order.length - far) - 1);
    }
    return sum;
  };
  let best = cost();
  for (let again = true, rounds = 0; again && best > 0 && rounds < 20; rounds++) {
    again = false;
    for (let i = 0; i < order.length; i++) {
      for (let j = i + 1; j < order.length; j++) {
        [order[i], order[j]] = [order[j], order[i]];
        const now = cost();
        if (now < best) {
          best = now;
          again = true;
        } else [order[i], order[j]] = [order[j], order[i]];
      }
    }
  }
  return order;
}

// Where the way from a box's middle towards a point crosses its border.
function leave(box, towards) {
  const [dx, dy] = [towards.x - box.x, towards.y - box.y];
  const scale = Math.min(
    dx ? (box.w / 2 + 2) / Math.abs(dx) : Infinity,
    dy ? (box.h / 2 + 2) / Math.abs(dy) : Infinity,
  );
  return { x: box.x + dx * scale, y: box.y + dy * scale };
}

// Finds a place for each label on its edge where it covers neither a box nor another label.
class Labels {
  constructor(boxes, curves) {
    this.taken = boxes.map((b) => ({ x: b.x, y: b.y, w: NODE.width + 4, h: NODE.height + 4 }));
    this.curves = curves;
  }

  place({ edge, from, control, to }) {
    const text = edge.key ? `${edge.kind} ${clip(edge.key, 16)}` : edge.kind;
    const box = { w: text.length * 7 + 8, h: 17 };
    let best = null;
    for (const t of [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8]) {
      const s = 1 - t;
      const x = s * s * from.x + 2 * s * t * control.x + t * t * to.x;
      const y = s * s * from.y + 2 * s * t * control.y + t * t * to.y;
      const covered = this.taken.reduce((sum, other) => sum + overlap({ x, y, ...box }, other), 0);
      if (best === null || covered < best.covered) best = { x, y, covered };
      if (covered === 0) break;
    }
    this.taken.push({ x: best.x, y: best.y, ...box });
    return { x: best.x, y: best.y, text };
  }
}

function overlap(a, b) {
  const x = Math.min(a.x + a.w / 2, b.x + b.w / 2) - Math.max(a.x - a.w / 2, b.x - b.w / 2);
  const y = Math.min(a.y + a.h / 2, b.y + b.h / 2) - Math.max(a.y - a.h / 2, b.y - b.h / 2);
  return x > 0 && y > 0 ? x * y : 0;
}
