// The page: the answers on top, then why, then the figures.

const WORDS = { valid: "valid", invalid: "INVALID", unknown: "unknown" };
const SIGNS = { valid: "✓", invalid: "✗", unknown: "?" };

function verdictsView(data) {
  const worst = ["invalid", "unknown", "valid"].find((s) => data.levels.some((l) => l.status === s)) || "unknown";
  const head = el(
    "div",
    { class: `card verdict ${worst}` },
    el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[worst]),
    el("div", null, el("h1", { id: "verdicts-title" }, data.headline), el("p", { class: "path" }, data.size)),
  );
  const rows = data.levels.map((level) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, level.title),
      el("td", null, el("span", { class: `status ${level.status}` }, el("span", { "aria-hidden": "true" }, `${SIGNS[level.status]} `), WORDS[level.status])),
      el("td", null, level.says, ...level.notes.map((note) => el("div", { class: "hint" }, note))),
      el("td", null, level.story === null || data.stories.length < 2 ? "" : el("button", { type: "button", class: "plain link", "data-story": level.story }, "why")),
    ),
  );
  const parts = [head];
  if (data.levels.length > 1 || data.levels.some((l) => l.notes.length)) {
    const titles = ["level", "answer", "because", ""].map((h) => el("th", { scope: "col" }, h));
    const table = el("table", { class: "levels" }, el("thead", null, el("tr", null, titles)), el("tbody", null, rows));
    const box = el("div", { class: "scroll" }, table);
    parts.push(
      data.levels.length > 8
        ? el("details", { class: "card", open: data.stories.length > 1 || null }, el("summary", null, `All ${data.levels.length} levels`), box)
        : el("div", { class: "card" }, box),
    );
  }
  if (data.about.length) {
    const rows = data.about.map(([label, text]) => [el("dt", null, label), el("dd", null, text)]);
    parts.push(el("dl", { class: "card about" }, rows));
  }
  return parts;
}

function storyView(story) {
  const box = el("div", { class: "story", id: `story-${story.id}` });
  box.append(el("h2", null, story.title));
  if (story.anomaly) {
    const a = story.anomaly;
    box.append(
      el(
        "div",
        { class: "anomaly" },
        el("span", { class: "code" }, a.code),
        el("strong", null, a.name),
        el("span", null, `: ${a.meaning}.`),
      ),
    );
    if (a.rules_out.length) {
      box.append(
        el("p", { class: "rules" }, "Rules out ", a.rules_out.map((l, n) => [n ? ", " : "", el("span", { class: "level" }, l)]), a.and_above ? " and everything stronger." : "."),
      );
    }
  }
  const parts = story.likely ? [likelyView(story)] : [partView(story)];
  if (!story.likely) for (const note of story.notes) box.append(el("p", { class: "card note" }, note));
  else if (story.proof) parts.unshift(proofView(story)); // a sentence says most
  else parts.push(proofView(story));
  box.append(...parts);
  box.settle = () => parts.forEach((part) => part.settle());
  return box;
}

// What probably happened, with what was supposed for it: nothing is proved by that, so it says so.
function likelyView(story) {
  const { likely } = story;
  const view = partView(likely);
  const box = el(
    "section",
    { class: "likely", "aria-label": "What probably happened" },
    el("h3", null, "What probably happened ", el("span", { class: "mark" }, "likely")),
    el("p", { class: "hint" }, `A clash of ${count(likely.transactions.filter((t) => t.role === "likely").length, "transaction")}, ${likely.how}. It is likely and no more; the proof is ${story.proof ? "above" : "below"}.`),
    likely.when ? el("p", { class: "when" }, withNames(likely.when, known(likely)), ".") : null,
    view,
  );
  box.settle = () => view.settle();
  return box;
}

// The proof: a sentence, where it is one; else the argument, to be opened.
function proofView(story) {
  const text = story.proof ? el("p", { class: "sentence" }, withNames(sentence(story.proof.text), known(story))) : null;
  const box = el("section", { class: "card proof", "aria-label": "The proof" }, el("h3", null, "The proof"), text);
  for (const note of story.notes) box.append(el("p", { class: "hint" }, note));
  if (story.proof) {
    box.append(transactionList(story, `${count(story.transactions.length, "transaction")} of these`));
    box.settle = () => {};
    return box;
  }
  const view = partView(story);
  if (!story.argument) box.append(el("p", { class: "sentence" }, `Every order of ${count(story.core, "transaction")} was refuted, in too many cases to be told.`));
  const more = el("details", { class: "everything" }, el("summary", null, story.argument ? "The whole argument" : "All of them"), view);
  more.addEventListener("toggle", () => more.open && view.settle());
  box.append(more);
  box.settle = () => {};
  return box;
}

const known = (story) => new Set(story.transactions.map((t) => t.id));

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

// Argument, graph, timeline and what is selected in them.
function partView(story) {
  const selection = new Selection(story);
  const box = el("div", { class: "part" });
  const graph = new GraphView(story, selection);
  const timeline = el("section", { class: "card", "aria-label": "Timeline" }, el("h3", null, "Timeline"));
  const told = el("section", { class: "card argument", "aria-label": "Argument" }, el("h3", null, story.how ? "Step by step" : "Argument"));
  const drawn = el("section", { class: "card", "aria-label": "Dependencies" }, el("h3", null, "Dependencies"));
  if (story.argument) {
    const tree = new ArgumentView(story, selection);
    told.append(el("p", { class: "hint keys" }, `Select a step to see what it rests on: click, or arrow keys and Enter.${story.how ? "" : " ▸ opens what a step was derived from."}`), tree.box);
    addEventListener("beforeprint", () => tree.openAll());
  } else {
    told.append(el("p", null, "Every order of these transactions was refuted, but the argument has too many cases to be told."));
  }
  if (story.leaves.length > 1 && story.leaves.length <= 8) drawn.append(caseChoice(story, selection));
  drawn.append(graph.box);
  box.append(el("div", { class: graph.large ? "pair wide large" : "pair wide" }, told, drawn), timeline);
  const inspector = new InspectorView(story, selection);
  timeline.append(el("div", { class: "unseen" }, "Lanes of sessions. Tab to the timeline, then arrow keys between transactions and operations."));
  box.append(el("section", { class: "card selected", "aria-label": "Selected" }, el("h3", null, "Selected"), inspector.box));
  box.append(transactionList(story));
  // The timeline measures its frame, so it is drawn when that is on the page.
  box.settle = () => {
    timeline.append(new TimelineView(story, selection).box);
    selection.show();
    box.settle = () => {};
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") selection.clear();
  });
  return box;
}

function caseChoice(story, selection) {
  const buttons = story.leaves.map((leaf) => {
    const button = el("button", { type: "button", "aria-pressed": "false" }, clip(leaf.title, 60));
    button.addEventListener("click", () => selection.showLeaf(leaf));
    return [leaf, button];
  });
  selection.views.push(() => {
    for (const [leaf, button] of buttons) button.setAttribute("aria-pressed", String(selection.leaf === leaf));
  });
  return el("div", { class: "tools", role: "group", "aria-label": "Case that is drawn" }, el("span", { class: "hint" }, "Case drawn:"), buttons.map((b) => b[1]));
}

function transactionList(story, what) {
  const cards = story.transactions.map((t) => transactionCard(t, null, null));
  return el("details", { class: "card everything" }, el("summary", null, `${what || `All ${count(story.transactions.length, "transaction")} of this explanation`}, with ${count(story.transactions.reduce((n, t) => n + t.operations.length, 0), "operation")}`), cards);
}

function storiesView(data) {
  const why = byId("why");
  if (!data.stories.length) return;
  const panels = data.stories.map(storyView);
  const tabs = data.stories.map((story, n) =>
    el("button", { type: "button", role: "tab", id: `tab-${n}`, "aria-controls": `story-${story.id}` }, story.tab),
  );
  const open = (n) => {
    panels.forEach((panel, i) => {
      panel.hidden = i !== n;
      tabs[i].setAttribute("aria-selected", String(i === n));
      tabs[i].setAttribute("tabindex", i === n ? "0" : "-1");
    });
    panels[n].settle();
  };
  if (panels.length > 1) {
    const list = el("div", { class: "tabs", role: "tablist", "aria-label": "Violations" }, tabs);
    tabs.forEach((tab, n) => tab.addEventListener("click", () => open(n)));
    list.addEventListener("keydown", (event) => {
      const next = arrows(event.key, tabs.indexOf(event.target), tabs);
      if (!next) return;
      event.preventDefault();
      open(tabs.indexOf(next));
      next.focus();
    });
    panels.forEach((panel, n) => fill(panel, { role: "tabpanel", "aria-labelledby": `tab-${n}` }, []));
    why.append(list);
  }
  why.append(...panels);
  open(0);
  for (const button of document.querySelectorAll("[data-story]")) {
    button.addEventListener("click", () => {
      open(Number(button.dataset.story));
      why.focus();
    });
  }
  addEventListener("beforeprint", () => panels.forEach((panel) => panel.settle()));
}

// --- light, dark, or as the system has it

function themeButton() {
  const button = byId("theme");
  const names = ["Auto", "Light", "Dark"];
  const said = ["as the system has them", "light", "dark"];
  let at = 0;
  button.addEventListener("click", () => {
    at = (at + 1) % names.length;
    button.textContent = names[at];
    button.setAttribute("aria-label", `Colours: ${said[at]}`);
    if (at) document.documentElement.dataset.theme = names[at].toLowerCase();
    else delete document.documentElement.dataset.theme;
  });
}

function main() {
  const data = JSON.parse(byId("data").textContent);
  byId("subject").textContent = data.path;
  themeButton();
  byId("verdicts").append(...verdictsView(data));
  storiesView(data);
  byId("witness").append(...data.witnesses.map(witnessView));
  byId("figures").append(...figuresView(data));
  byId("bottom").append(
    el("p", null, `Made by Boomslang ${data.boomslang}. T7 is the trace's transaction number 7, counted from 0 in the order of their begins.`),
  );
  addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details")) d.open = true;
  });
}

main();
