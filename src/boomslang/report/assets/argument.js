// The argument as a tree: steps in order, each to be opened to see what it was derived from; a question whose cases
// are branches; at the end of every branch the contradiction. The arrow keys walk it (the tree pattern of WAI-ARIA).

class ArgumentView {
  constructor(story, selection) {
    this.story = story;
    this.selection = selection;
    this.known = new Set(story.transactions.map((t) => t.id));
    this.box = el("div", { class: "tree", role: "tree", "aria-label": "The argument, step by step" });
    this.numbers = new Map();
    this.addBranch(this.box, story.argument, 1, "");
    roving(this.box, "[role=treeitem]", (key, at, all) => this.move(key, at, all));
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.choose(event.target.closest("[role=treeitem]"));
    });
    selection.views.push((marks) => this.mark(marks));
  }

  addBranch(box, branch, level, path) {
    for (const id of branch.steps) box.append(this.stepItem(id, level, path));
    if (branch.contradiction) box.append(this.endItem(branch, level));
    if (branch.cases.length) box.append(this.questionItem(branch, level, path));
  }

  item(level, data, row, more) {
    const item = el("div", { role: "treeitem", "aria-level": level, tabindex: "-1", ...data });
    item.append(el("div", { class: "row" }, el("span", { class: "twist", "aria-hidden": "true" }), row));
    if (more) {
      item.setAttribute("aria-expanded", "false");
      item.more = more;
    }
    return item;
  }

  stepItem(id, level, path) {
    const step = this.selection.steps.get(id);
    if (!this.numbers.has(id)) this.numbers.set(id, this.numbers.size + 1);
    const edge = step.edge ? this.selection.edges.get(step.edge) : null;
    const row = el(
      "div",
      { class: "step" },
      el("span", { class: "number" }, this.numbers.get(id)),
      el("span", { class: "text" }, withNames(step.text, this.known)),
      edge ? el("span", { class: `kind k-${edge.kind}`, title: KINDS[edge.kind].means }, edge.word) : null,
    );
    const reasons = step.because.filter((b) => this.selection.steps.has(b));
    const more =
      reasons.length || step.cycle_text
        ? (group) => {
            if (step.cycle_text) group.append(this.noteItem(step.cycle_text, id, level + 1));
            for (const b of reasons) group.append(this.stepItem(b, level + 1, path));
          }
        : null;
    return this.item(level, { "data-step": id, "data-leaf": path || null }, row, more);
  }

  // Why a derived step holds: the contrary would close this cycle.
  noteItem(text, step, level) {
    const row = el("span", { class: "text note" }, "otherwise there would be a cycle: ", withNames(text, this.known));
    return this.item(level, { "data-contrary": step }, row, null);
  }

  endItem(branch, level) {
    const row = el(
      "div",
      { class: "step end" },
      el("span", { class: "number", "aria-hidden": "true" }, "✗"),
      el("span", { class: "text" }, el("b", null, this.story.how ? "Probably " : "Impossible: "), withNames(branch.contradiction.text, this.known)),
    );
    return this.item(level, { "data-cycle": branch.leaf }, row, null);
  }

  questionItem(branch, level, path) {
    const box = el("div", { class: "cases", role: "none" });
    box.append(el("p", { class: "question" }, withNames(branch.question, this.known)));
    branch.cases.forEach((one, n) => {
      const row = el(
        "div",
        { class: "step case" },
        el("span", { class: "text" }, el("b", null, `Case ${n + 1}: `), withNames(one.title, this.known)),
      );
      const inside = `${path}${n + 1}.`;
      const item = this.item(level, { "data-case": inside }, row, (group) =>
        this.addBranch(group, one.argument, level + 1, inside),
      );
      box.append(item);
      this.toggle(item, true);
    });
    return box;
  }

  toggle(item, open) {
    if (!item || !item.more) return;
    if (open && !item.group) {
      item.group = el("div", { role: "group" });
      item.more(item.group);
      item.append(item.group);
    }
    if (item.group) item.group.hidden = !open;
    item.setAttribute("aria-expanded", String(open));
  }

  clicked(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    if (event.target.closest(".twist") && item.more) this.toggle(item, item.getAttribute("aria-expanded") !== "true");
    else this.choose(item);
    item.focus();
  }

  choose(item) {
    if (!item) return;
    if (item.dataset.step !== undefined) this.selection.select("step", item.dataset.step, this.leafOf(item));
    else if (item.dataset.contrary !== undefined) this.selection.select("contrary", item.dataset.contrary);
    else if (item.dataset.cycle !== undefined) {
      const leaf = this.story.leaves.find((l) => l.id === item.dataset.cycle);
      this.selection.select("cycle", item.dataset.cycle, leaf);
    } else this.toggle(item, item.getAttribute("aria-expanded") !== "true");
  }

  // The case a step stands in; where it holds in several, the one that is shown.
  leafOf(item) {
    const path = item.dataset.leaf || "";
    const fits = this.story.leaves.filter((l) => l.path.startsWith(path));
    return fits.includes(this.selection.leaf) ? this.selection.leaf : fits[0];
  }

  move(key, at, all) {
    const item = all[at];
    const open = item.getAttribute("aria-expanded");
    if (key === "ArrowDown") return all[at + 1] || null;
    if (key === "ArrowUp") return all[at - 1] || null;
    if (key === "Home") return all[0];
    if (key === "End") return all[all.length - 1];
    if (key === "ArrowRight") {
      if (open === "false") this.toggle(item, true);
      else if (open === "true") return all[at + 1] || null;
      return null;
    }
    if (key === "ArrowLeft") {
      if (open === "true") {
        this.toggle(item, false);
        return null;
      }
      return item.parentElement.closest("[role=treeitem]");
    }
    return undefined;
  }

  mark(marks) {
    const selected = this.selection.selected;
    for (const item of this.box.querySelectorAll("[role=treeitem]")) {
      const { step } = item.dataset;
      const chosen = selected !== null && item.dataset[selected.kind] === selected.id;
      item.classList.toggle("lit", step !== undefined && marks.steps.has(step));
      if (!item.dataset.case) item.setAttribute("aria-selected", String(chosen));
      item.classList.toggle("chosen", chosen);
    }
    if (selected !== null && selected.kind === "edge") this.reveal(marks);
  }

  // Opens the branches around the step of an edge, and brings it into view.
  reveal(marks) {
    const item = this.box.querySelector(".lit");
    if (!item) return;
    for (let up = item.parentElement.closest("[role=treeitem]"); up; up = up.parentElement.closest("[role=treeitem]")) {
      this.toggle(up, true);
    }
    item.scrollIntoView({ block: "nearest" });
  }

  openAll() {
    for (const item of this.box.querySelectorAll("[data-case]")) this.toggle(item, true);
  }
}
