// The dependency graph, drawn by hand in SVG: transactions on a ring, in an order that keeps the cycle together
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

// More transactions than fit beside the argument.
const LARGE = 10;
const SIZES = { small: { width: 104, height: 44, letters: 14 }, large: { width: 84, height: 40, letters: 11 } };

class GraphView {
  constructor(story, selection) {
    this.story = story;
    this.selection = selection;
    this.edges = story.edges.filter((e) => e.source !== e.target);
    const drawn = new Set(this.edges.flatMap((e) => [e.source, e.target]));
    this.nodes = [...drawn];
    this.box = el("div", { class: "graph" });
    if (this.nodes.length === 0) {
      const why = story.proof ? "The proof counts: it puts no two transactions in order." : story.argument ? "No two transactions need to be put in order: this is about single reads." : "Without an argument there is nothing to draw.";
      this.box.append(el("p", { class: "empty" }, why));
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
    this.large = n > LARGE;
    this.size = SIZES[this.large ? "large" : "small"];
    this.width = this.large ? 1200 : 720;
    this.height = n <= 2 ? 250 : n <= 4 ? 360 : n <= LARGE ? 460 : n <= 18 ? 560 : 760;
    const rx = this.width / 2 - this.size.width / 2 - 34;
    const ry = this.height / 2 - this.size.height / 2 - 34;
    this.at = new Map();
    this.centre = { x: this.width / 2, y: this.height / 2 };
    const spots = n === 2 ? [[-rx * 0.86, 0], [rx * 0.86, 0]] : ring(n, rx, ry, this.large ? 4 : 2);
    order.forEach((id, i) => this.at.set(id, { x: this.centre.x + spots[i][0], y: this.centre.y + spots[i][1] }));
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
    this.labelShapes = new Map();
    this.nodeShapes = new Map();
    const curves = this.curves();
    const labels = new Labels([...this.at.values()], this.size);
    for (const curve of curves) picture.append(this.edgeShape(curve, labels.place(curve)));
    picture.append(...this.labelShapes.values());
    for (const id of this.nodes) picture.append(this.nodeShape(id));
    picture.addEventListener("click", (event) => {
      if (event.target === picture) this.selection.clear();
    });
    const frame = el("div", { class: "scroll" }, picture);
    roving(frame, ".edge, .node", arrows);
    this.box.append(frame, this.legend(used), this.table());
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
        // The same edge may have been derived in several cases: they are drawn one at a time, in one place.
        const alike = [...new Set(side.map(signature))];
        for (const edge of side) {
          curves.push(this.curve(edge, alike.indexOf(signature(edge)), alike.length, there.length && back.length));
        }
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

  // What an edge aims at: the middle of a box or, with begin and commit points, of one half of it.
  anchor(id, point) {
    const { x, y } = this.at.get(id);
    const { width, height } = this.size;
    const aside = this.story.points !== 2 || !point ? 0 : point === "begin" ? -width / 4 : width / 4;
    return { x: x + aside, y, left: width / 2 + aside, right: width / 2 - aside, up: height / 2, down: height / 2 };
  }

  edgeShape({ edge, from, control, to }, label) {
    const d = `M${from.x} ${from.y} Q${control.x} ${control.y} ${to.x} ${to.y}`;
    const choose = () => this.selection.select("edge", edge.id);
    const shape = svg(
      "g",
      {
        class: `edge k-${edge.kind}`, "data-edge": edge.id, role: "button", tabindex: "-1",
        "aria-label": `${edge.source} to ${edge.target}, ${edge.word}${edge.key ? ` on ${edge.key}` : ""}: ${edge.text}`,
        onclick: choose, onkeydown: onEnter(choose),
      },
      svg("path", { d, class: "reach" }),
      svg("path", {
        d, class: "line", "stroke-dasharray": KINDS[edge.kind].dash || null,
        "marker-end": `url(#head-${this.story.id}-${edge.kind})`,
      }),
    );
    this.labelShapes.set(
      edge.id,
      svg(
        "g",
        { class: `label k-${edge.kind}`, "aria-hidden": "true", onclick: choose },
        svg("rect", { x: label.x - label.w / 2, y: label.y - 8, width: label.w, height: 16, rx: 4 }),
        svg("text", { x: label.x, y: label.y + 4, "text-anchor": "middle" }, label.text),
      ),
    );
    tipFor(shape, () => [`${edge.source} → ${edge.target}  ${edge.word}${edge.key ? ` (${edge.key})` : ""}`, edge.text]);
    this.edgeShapes.set(edge.id, shape);
    return shape;
  }

  nodeShape(id) {
    const { x, y } = this.at.get(id);
    const t = this.selection.transactions.get(id);
    const choose = () => t && this.selection.select("transaction", id);
    const [left, top] = [x - this.size.width / 2, y - this.size.height / 2];
    const shape = svg(
      "g",
      {
        class: `node ${t ? t.role : "initial"}`, "data-node": id, role: "button", tabindex: "-1",
        "aria-label": t ? `${id}${t.session === null ? "" : `, session ${t.session}`}, ${t.outcome}` : "the initial state",
        onclick: choose, onkeydown: onEnter(choose),
      },
      svg("rect", { x: left, y: top, width: this.size.width, height: this.size.height, rx: 10 }),
      svg("text", { x, y: y - 2, "text-anchor": "middle", class: "name" }, id),
      svg("text", { x, y: y + 13, "text-anchor": "middle", class: "sub" }, t ? clip(t.session === null ? t.outcome : t.session, this.size.letters) : ""),
    );
    if (this.story.points === 2) {
      shape.append(
        svg("text", { x: left + 6, y: top + this.size.height / 2 + 3, class: "point" }, "b"),
        svg("text", { x: left + this.size.width - 6, y: top + this.size.height / 2 + 3, class: "point", "text-anchor": "end" }, "c"),
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
        el("td", null, el("span", { class: `kind k-${e.kind}` }, e.word)),
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
      for (const part of [shape, this.labelShapes.get(id)]) {
        part.classList.toggle("round", cycle.has(id));
        part.classList.toggle("lit", marks.edges.has(id));
        part.classList.toggle("dim", some && !marks.edges.has(id));
        if (off) part.setAttribute("hidden", "");
        else part.removeAttribute("hidden");
      }
    }
    const visible = this.edges.filter((e) => !this.edgeShapes.get(e.id).hasAttribute("hidden"));
    const joined = new Set(visible.flatMap((e) => [e.source, e.target]));
    for (const [id, shape] of this.nodeShapes) {
      shape.classList.toggle("lit", marks.transactions.has(id));
      shape.classList.toggle("off", !joined.has(id));
    }
  }
}

const signature = (e) => [e.word, e.key, e.source_point, e.target_point].join(" ");

// Spots on a ring, the same way along it apart, from the left and clockwise. With `corner` 2 the ring is an ellipse, and
// the larger it is the more a rectangle, which has room for more boxes.
function ring(n, rx, ry, corner) {
  const fine = 2000;
  const bend = (c) => Math.sign(c) * Math.abs(c) ** (2 / corner);
  const spot = (i) => {
    const turn = Math.PI + (2 * Math.PI * i) / fine;
    return [rx * bend(Math.cos(turn)), ry * bend(Math.sin(turn))];
  };
  const along = [0];
  for (let i = 1; i <= fine; i++) {
    const [a, b] = [spot(i - 1), spot(i)];
    along.push(along[i - 1] + Math.hypot(b[0] - a[0], b[1] - a[1]));
  }
  const spots = [];
  let i = 0;
  for (let k = 0; k < n; k++) {
    const far = (along[fine] * k) / n;
    while (along[i + 1] <= far) i++;
    const [a, b] = [spot(i), spot(i + 1)];
    const part = (far - along[i]) / (along[i + 1] - along[i]);
    spots.push([a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])]);
  }
  return spots;
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

// Where the way from a spot inside a box towards a point crosses the box's border.
function leave(spot, towards) {
  const [dx, dy] = [towards.x - spot.x, towards.y - spot.y];
  const scale = Math.min(
    dx ? ((dx < 0 ? spot.left : spot.right) + 2) / Math.abs(dx) : Infinity,
    dy ? ((dy < 0 ? spot.up : spot.down) + 2) / Math.abs(dy) : Infinity,
  );
  return { x: spot.x + dx * scale, y: spot.y + dy * scale };
}

// Finds a place for each label on its edge where it covers neither a box nor another label. In a large graph the label
// is the kind alone.
class Labels {
  constructor(spots, size) {
    this.taken = spots.map((spot) => ({ x: spot.x, y: spot.y, w: size.width + 4, h: size.height + 4 }));
    this.brief = spots.length > 14;
    this.placed = new Map();
  }

  place({ edge, from, control, to, normal }) {
    const text = (edge.key && !this.brief ? `${edge.word} ${clipInside(edge.key, 16)}` : clip(edge.word, 20)) + (edge.supposed ? " ?" : "");
    const box = { w: text.length * 7.3 + 6, h: 17 };
    const same = [edge.source, edge.target, signature(edge)].join(" ");
    if (this.placed.has(same)) return { ...this.placed.get(same), text };
    let best = null;
    for (const t of [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8]) {
      const s = 1 - t;
      for (const beside of [0, 11, -11]) {
        const x = s * s * from.x + 2 * s * t * control.x + t * t * to.x + beside * normal.x;
        const y = s * s * from.y + 2 * s * t * control.y + t * t * to.y + beside * normal.y;
        const covered = this.taken.reduce((sum, other) => sum + overlap({ x, y, ...box }, other), Math.abs(beside) / 100);
        if (best === null || covered < best.covered) best = { x, y, covered };
      }
    }
    this.taken.push({ x: best.x, y: best.y, ...box });
    this.placed.set(same, { x: best.x, y: best.y, w: box.w });
    return { x: best.x, y: best.y, w: box.w, text };
  }
}

function overlap(a, b) {
  const x = Math.min(a.x + a.w / 2, b.x + b.w / 2) - Math.max(a.x - a.w / 2, b.x - b.w / 2);
  const y = Math.min(a.y + a.h / 2, b.y + b.h / 2) - Math.max(a.y - a.h / 2, b.y - b.h / 2);
  return x > 0 && y > 0 ? x * y : 0;
}
