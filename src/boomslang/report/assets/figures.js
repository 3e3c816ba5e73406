// The trace in figures, and the witness of a valid one.

function figuresView(data) {
  const f = data.figures;
  const tiles = f.tiles.map(([label, value, note]) =>
    el("div", { class: "tile" }, el("dt", null, label), el("dd", null, value, note ? el("small", null, note) : null)),
  );
  const parts = [
    el("h2", { id: "figures-title" }, "The trace in figures"),
    el("dl", { class: "tiles" }, tiles),
    el(
      "div",
      { class: "pair" },
      bars("Operations", f.operations, (n) => n.toLocaleString("en")),
      f.hottest.length ? bars("Keys that most operations are about", f.hottest, (n) => n.toLocaleString("en"), true) : null,
      f.reads.length ? bars("Reads: who can have written the value", f.reads, (n) => n.toLocaleString("en")) : null,
      ...f.phases.map((p) => bars(p.title, p.rows, seconds)),
    ),
  ];
  if (f.warnings.length) parts.push(el("h3", null, "Warnings"), el("ul", null, f.warnings.map((w) => el("li", null, w))));
  return parts;
}

// A table whose numbers are also drawn.
function bars(title, rows, format, code) {
  const most = Math.max(...rows.map((r) => r[1])) || 1;
  return el(
    "div",
    { class: "card bars" },
    el(
      "table",
      null,
      el("caption", null, title),
      el(
        "tbody",
        null,
        rows.map(([label, value, note]) => {
          const bar = el("span", { class: "amount", "aria-hidden": "true" });
          bar.style.width = `${Math.max(value ? 1 : 0, (100 * value) / most)}%`;
          return el(
            "tr",
            null,
            el("th", { scope: "row" }, code ? el("code", null, label) : label),
            el("td", { class: "track" }, bar),
            el("td", { class: "number" }, format(value), note ? el("small", null, ` ${note}`) : null),
          );
        }),
      ),
    ),
  );
}

function witnessView(witness) {
  const two = witness.points === 2;
  const rows = witness.order.map((row, n) =>
    el(
      "tr",
      null,
      el("td", { class: "number" }, n + 1),
      el("td", null, el("b", { class: "txn" }, row.id), two ? ` ${row.point}` : ""),
      el("td", null, row.session === null ? "" : row.session),
      el("td", { class: "does-what" }, el("code", null, row.text)),
      el("td", { class: "where" }, row.where),
    ),
  );
  const head = ["#", two ? "point" : "transaction", "session", "what it did", "where"].map((h) => el("th", { scope: "col" }, h));
  const left = witness.total - witness.order.length;
  return el(
    "div",
    { class: "card" },
    el("h2", null, `An order that explains it: ${witness.levels.join(", ")}`),
    el(
      "p",
      { class: "hint" },
      !witness.exact
        ? "An order that this level accepts. It does not fix which version was read; the certificate says who read from whom. "
        : two
        ? "Taken in this order, every transaction reads what had been committed when it began. "
        : "Taken one after the other in this order, every transaction reads what it read. ",
      witness.split ? "A module split transactions: T5.2 is the second part of T5. " : "",
      left > 0 ? `The first ${witness.order.length.toLocaleString("en")} of ${witness.total.toLocaleString("en")} are shown; a certificate holds them all.` : `All ${witness.total.toLocaleString("en")} are shown.`,
    ),
    el("div", { class: "scroll tall", tabindex: "0", role: "group", "aria-label": "The witness order" }, el("table", { class: "witness" }, el("thead", null, el("tr", null, head)), el("tbody", null, rows))),
  );
}
