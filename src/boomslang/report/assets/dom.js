// Making elements. Everything that comes from a trace goes through `textContent` or an attribute, never through a
// parser: a value "<script>" is eleven letters here and nothing else.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const byId = (id) => document.getElementById(id);

function count(n, one, many) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many || one + "s"}`;
}

function clip(text, longest) {
  const letters = Array.from(text);
  return letters.length <= longest ? text : letters.slice(0, longest - 1).join("") + "…";
}

// Of a long text both ends: keys and values often differ at their end only.
function clipInside(text, longest) {
  const letters = Array.from(text);
  if (letters.length <= longest) return text;
  const tail = Math.floor((longest - 1) / 2);
  return letters.slice(0, longest - 1 - tail).join("") + "…" + (tail ? letters.slice(-tail).join("") : "");
}

function seconds(s) {
  if (s >= 1) return `${s.toFixed(2)} s`;
  return s >= 0.001 ? `${(s * 1000).toFixed(s >= 0.01 ? 0 : 1)} ms` : `${Math.round(s * 1e6)} µs`;
}

// Tells a screen reader what a click has changed elsewhere on the page.
function say(text) {
  byId("said").textContent = text;
}

// Text in which the names of transactions stand out. What is quoted is a key or a value, and stays as it is.
function withNames(text, known) {
  const parts = [];
  const pattern = /(?<!\w)'(?:[^'\\]|\\.)*'|(?<!\w)"(?:[^"\\]|\\.)*"|\bT\d+\b/g;
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    const word = match[0];
    if (known.has(word)) parts.push(el("b", { class: "txn" }, word));
    else if (word[0] === "T") parts.push(word);
    else parts.push(el("code", null, word));
    from = match.index + word.length;
  }
  parts.push(text.slice(from));
  return parts;
}

// One tab stop for a group of things; the arrow keys move inside it. `box` is HTML: an SVG element with such listeners
// would be a tab stop itself. Returns what to call when the things are others.
function roving(box, selector, move) {
  const items = () => Array.from(box.querySelectorAll(selector)).filter((n) => !n.closest("[hidden]"));
  const settle = (target) => {
    for (const item of items()) item.setAttribute("tabindex", item === target ? "0" : "-1");
  };
  box.addEventListener("focusin", (event) => {
    const item = event.target.closest(selector);
    if (item && box.contains(item)) settle(item);
  });
  box.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(event.target.closest(selector));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = move(event.key, at, all);
    if (next === undefined) return;
    event.preventDefault();
    if (next) {
      settle(next);
      next.focus();
    }
  });
  const reset = () => settle(items()[0]);
  reset();
  return reset;
}

function arrows(key, at, all) {
  if (key === "ArrowRight" || key === "ArrowDown") return all[Math.min(at + 1, all.length - 1)];
  if (key === "ArrowLeft" || key === "ArrowUp") return all[Math.max(at - 1, 0)];
  if (key === "Home") return all[0];
  if (key === "End") return all[all.length - 1];
  return undefined;
}

function onEnter(action) {
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    action(event);
  };
}

// --- the tip: what something is, while the pointer is over it or the focus on it

function tipFor(node, lines) {
  const show = () => {
    const tip = byId("tip");
    tip.replaceChildren(...lines().map((line, n) => el(n ? "div" : "strong", null, line)));
    tip.hidden = false;
    const at = node.getBoundingClientRect();
    const box = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left + at.width / 2 - box.width / 2, innerWidth - box.width - 8));
    const above = at.top - box.height - 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : at.bottom + 8) + scrollY}px`;
  };
  const hide = () => {
    byId("tip").hidden = true;
  };
  node.addEventListener("pointerenter", show);
  node.addEventListener("pointerleave", hide);
  node.addEventListener("focus", show);
  node.addEventListener("blur", hide);
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape") byId("tip").hidden = true;
});
