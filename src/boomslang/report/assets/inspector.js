// What is selected, in full: a transaction with its operations, or one operation with its value.

class InspectorView {
  constructor(story, selection) {
    this.selection = selection;
    this.box = el("div", { class: "inspector" });
    selection.views.push((marks) => this.show(marks));
    this.show(selection.marks());
  }

  show(marks) {
    const rows = [...marks.transactions].map((id) => this.selection.transactions.get(id)).filter(Boolean);
    if (!rows.length) {
      this.box.replaceChildren(
        el("p", { class: "hint" }, "Select a step, an edge, a transaction or an operation: what it rests on is shown here in full."),
      );
      return;
    }
    const only = this.selection.selected.kind !== "transaction" && marks.operations.size > 0;
    this.box.replaceChildren(...rows.map((t) => transactionCard(t, only ? marks.operations : null, (id) => this.selection.select("operation", id))));
  }
}

// A transaction and its operations; of a selection only those that are marked.
function transactionCard(t, marked, choose) {
  const facts = [t.session === null ? null : `session ${t.session}`, t.name === null ? null : `transaction ${t.name}`, t.outcome, ROLES[t.role]];
  const shown = marked === null ? t.operations : t.operations.filter((o) => marked.has(o.id));
  const left = t.operations.length + t.more - shown.length;
  return el(
    "article",
    { class: "card inner", "aria-label": t.id },
    el("h4", null, t.id, el("span", { class: "facts" }, ` ${facts.filter(Boolean).join(" · ")}`)),
    el("p", { class: "where" }, t.where),
    el(
      "ol",
      { class: "operations" },
      shown.map((o) => operationLine(o, choose)),
    ),
    left > 0 ? el("p", { class: "hint" }, marked === null ? `and ${count(left, "more operation")}` : `${count(left, "other operation")} not marked`) : null,
  );
}

function operationLine(o, choose) {
  const text = el("code", null, o.text);
  const line = el(
    "li",
    { class: o.matters ? "matters" : null },
    el("span", { class: `does ${o.does}`, "aria-hidden": "true" }, o.glyph),
    choose ? el("button", { type: "button", class: "plain", onclick: () => choose(o.id) }, text) : text,
    o.error === null ? null : el("em", null, ` failed: ${o.error}`),
    el("span", { class: "where" }, o.where),
  );
  if (o.full) {
    line.append(el("details", null, el("summary", null, `the whole value (${count(Array.from(o.full).length, "character")})`), el("pre", { tabindex: "0", role: "region", "aria-label": "the whole value" }, o.full)));
  }
  return line;
}
