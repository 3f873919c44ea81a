"use strict";
// Small parts that all others use: elements, numbers and times in words.

const SIGNS = {running: "▶", failed: "✗", diverged: "∞", begun: "◐", waiting: "○", finished: "✓", "no data": "–"};
const STATES = Object.keys(SIGNS); // what one looks for first stands first

const byId = id => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Touch the page only where it changes: selections and readers stay where they are. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Make `nodes` the children of `parent`, moving as few as can be; the focus stays. */
function arrange(parent, nodes) {
  const focused = document.activeElement, wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const node of nodes) {
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  if (focused !== document.activeElement && focused.isConnected) focused.focus({preventScroll: true});
}

const percent = share => `${(100 * share).toFixed(2)} %`;

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Two units at most: 45 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const whole = Math.max(1, Math.round(seconds));
  const first = units.findIndex(([, size]) => whole >= size);
  const [name, size] = units[first];
  if (name === "s") return `${whole} s`;
  const [smaller, part] = units[first + 1];
  const rest = Math.floor(whole % size / part);
  return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${smaller}` : ""}`;
}

/** table2 -> Table 2, budgets -> Budgets */
const numbered = name => name.replace(/^(\D)(\D*)(\d*)$/, (_, head, tail, number) => `${head.toUpperCase()}${tail} ${number}`.trim());

const clock = date => date.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit"});
