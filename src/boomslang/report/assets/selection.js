// What is selected, and what lights up with it. A step lights the operations it rests on and the edge it proves, its
// contrary the cycle there would be; an edge lights its step; an operation the steps that rest on it. The views only ask `marks` and draw.

class Selection {
  constructor(story) {
    this.story = story;
    this.views = [];
    this.steps = new Map(story.steps.map((s) => [s.id, s]));
    this.edges = new Map(story.edges.map((e) => [e.id, e]));
    this.owner = new Map();
    for (const t of [...story.transactions, ...story.neighbours]) {
      for (const o of t.operations) this.owner.set(o.id, t);
    }
    this.transactions = new Map([...story.transactions, ...story.neighbours].map((t) => [t.id, t]));
    this.selected = null;
    this.leaf = story.leaves[0] || null;
  }

  select(kind, id, leaf) {
    this.selected = { kind, id };
    if (leaf) this.leaf = leaf;
    else this.leaf = this.leafWith(kind, id) || this.leaf;
    this.show();
    this.tell();
  }

  showLeaf(leaf) {
    this.leaf = leaf;
    this.selected = null;
    this.show();
    say(`Shown: the case ${leaf.title}`);
  }

  clear() {
    this.selected = null;
    this.show();
  }

  // The case to show for what was selected: the one that is shown, if it is in there.
  leafWith(kind, id) {
    const step = kind === "step" || kind === "contrary" ? id : kind === "edge" ? this.edges.get(id).step : null;
    if (step === null || (this.leaf && this.leaf.steps.includes(step))) return this.leaf;
    return this.story.leaves.find((leaf) => leaf.steps.includes(step));
  }

  marks() {
    const found = { operations: new Set(), edges: new Set(), steps: new Set(), transactions: new Set() };
    if (this.selected === null) return found;
    const { kind, id } = this.selected;
    if (kind === "step") this.addStep(found, this.steps.get(id));
    else if (kind === "cycle") {
      for (const edge of this.story.leaves.find((l) => l.id === id).cycle) this.addEdge(found, this.edges.get(edge));
      for (const row of this.story.leaves.find((l) => l.id === id).operations) found.operations.add(row);
    } else if (kind === "contrary") {
      for (const edge of this.steps.get(id).cycle) this.addEdge(found, this.edges.get(edge));
    } else if (kind === "edge") this.addEdge(found, this.edges.get(id));
    else if (kind === "operation") {
      found.operations.add(id);
      for (const step of this.story.steps) {
        if (!step.operations.includes(id)) continue;
        found.steps.add(step.id);
        if (step.edge) found.edges.add(step.edge);
      }
    } else if (kind === "transaction") {
      found.transactions.add(id);
      for (const e of this.story.edges) if (e.source === id || e.target === id) found.edges.add(e.id);
    }
    for (const row of found.operations) if (this.owner.has(row)) found.transactions.add(this.owner.get(row).id);
    return found;
  }

  addStep(found, step) {
    found.steps.add(step.id);
    for (const row of step.operations) found.operations.add(row);
    if (step.edge) found.edges.add(step.edge);
    for (const edge of step.edge ? [] : step.cycle) found.edges.add(edge);
  }

  addEdge(found, edge) {
    found.edges.add(edge.id);
    if (edge.step && this.steps.has(edge.step)) this.addStep(found, this.steps.get(edge.step));
  }

  show() {
    const marks = this.marks();
    for (const view of this.views) view(marks, this);
  }

  tell() {
    const marks = this.marks();
    const names = [...marks.transactions].join(", ");
    const parts = [count(marks.operations.size, "operation"), count(marks.edges.size, "edge")];
    say(`Marked: ${parts.join(" and ")}${names ? ` of ${names}` : ""}.`);
  }
}
