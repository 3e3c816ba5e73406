(() => {
'use strict';
const at = (id) => document.getElementById(id);
const made = (name, text) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  return element;
};
const count = (n) => Math.round(n).toLocaleString('en');
const seconds = (s) => (s === null || s === undefined ? '-' : s < 1 ? `${(s * 1e3).toFixed(1)} ms` : `${s.toFixed(1)} s`);
const bytes = (n) => (n >= 1e5 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e3).toFixed(1)} KB`);

// Of each point of the history: seconds, decided, commits and aborts a second, lag, median and 99 % latency, memory.
const CHARTS = [
  ['transactions a second', [[2, 'committed', count], [1, 'decided', count]]],
  ['aborts a second', [[3, 'aborted', count]]],
  ['latency', [[5, 'median', seconds], [6, '99 %', seconds]]],
  ['behind', [[4, 'lag', seconds]]],
];
const CLASSES = ['one', 'two', 'three'];
const SVG = 'http://www.w3.org/2000/svg';

const charts = CHARTS.map(([title, curves]) => {
  const figure = made('figure'), caption = made('figcaption'), svg = document.createElementNS(SVG, 'svg');
  figure.className = 'card';
  caption.append(made('b', title));
  svg.setAttribute('viewBox', '0 0 600 100');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', title);
  const base = document.createElementNS(SVG, 'line');
  for (const [name, value] of [['x1', 0], ['x2', 600], ['y1', 99], ['y2', 99]]) base.setAttribute(name, value);
  base.setAttribute('class', 'base');
  svg.append(base);
  const lines = curves.map(([column, name, shown], i) => {
    const label = made('span'), line = document.createElementNS(SVG, 'polyline');
    label.className = CLASSES[i];
    line.setAttribute('class', `curve ${CLASSES[i]}`);
    caption.append(label);
    svg.append(line);
    return {column, name, shown, label, line};
  });
  figure.append(caption, svg);
  at('charts').append(figure);
  return lines;
});

function draw(history) {
  if (!history.length) return;
  const first = history[0][0], last = history[history.length - 1][0], wide = Math.max(1, last - first);
  for (const lines of charts) {
    const most = Math.max(1e-9, ...lines.flatMap(({column}) => history.map((point) => point[column] ?? 0)));
    for (const {column, name, shown, label, line} of lines) {
      const points = history.filter((point) => point[column] !== null);
      line.setAttribute('points', points.map((point) =>
        `${(600 * (point[0] - first) / wide).toFixed(1)},${(98 - 94 * point[column] / most).toFixed(1)}`).join(' '));
      const now = points.length ? points[points.length - 1][column] : null;
      label.textContent = `${name} ${now === null ? '-' : shown(now)}`;
    }
  }
}

function numbers(status) {
  const rows = [
    ['watched for', seconds(status.seconds)],
    ['committed', count(status.committed)],
    ['aborted', count(status.aborted)],
    ['sessions', count(status.sessions)],
    ['keys', count(status.keys)],
    ['windows', `${count(status.windows)}, ${count(status.joins)} joined`],
    ['unread', bytes(status.unread)],
    ['memory', `${count(status.megabytes)} MB`],
  ];
  if (status.lost) rows.push(['of unknown outcome', `${count(status.lost)}, which nobody has read from`]);
  if (status.open) rows.push(['open', `${count(status.open)} keys, which several wrote at once and nobody has read`]);
  if (status.idle.length) rows.push(['idle, not waited for', status.idle.join(', ')]);
  if (status.restarts) rows.push(['read again from the beginning', count(status.restarts)]);
  if (status.deleted) rows.push(['deleted', bytes(status.deleted)]);
  at('numbers').replaceChildren(...rows.flatMap(([name, value]) => [made('dt', name), made('dd', value)]));
}

function frontier(status) {
  const share = status.committed ? Math.min(1, status.transactions / status.committed) : 0;
  at('decided').style.width = `${(100 * share).toFixed(1)}%`;
  const lag = status.lag === null ? '' : `, ${seconds(status.lag)} behind`;
  at('frontier').textContent =
    `${count(status.transactions)} of ${count(status.committed)} committed transactions are decided${lag}`;
}

function verdict(status, answer) {
  const line = at('verdict');
  if (!answer) {
    line.className = status.transactions ? 'valid' : '';
    line.textContent = status.transactions ? `${status.level}: holds so far` : status.phase;
    return;
  }
  line.className = answer.status;
  const reason = answer.reason ? `: ${answer.reason}` : '';
  line.textContent = `${status.level}: ${answer.status === 'invalid' ? 'INVALID' : answer.status}${reason}`;
  at('answer').hidden = !answer.story.length;
  at('story').replaceChildren(...answer.story.map((text) => {
    const item = made('li', text);
    if (text.trimStart().startsWith('=>')) item.className = 'end';
    return item;
  }));
  at('notes').textContent = answer.notes.join(' ');
}

let over = false;
async function look() {
  try {
    const reply = await fetch('/status', {cache: 'no-store'});
    const {status, history, answer} = await reply.json();
    if (status.level) {
      verdict(status, answer);
      frontier(status);
      numbers(status);
      draw(history);
    }
    over = answer !== null;
  } catch (problem) {
    if (!over) {
      at('verdict').className = 'gone';
      at('verdict').textContent = 'the watch has ended, and nobody told how';
    }
    over = true;
  }
  if (!over) setTimeout(look, 1000);
}
look();
})();
