// The table of runs: grouped, sorted, filtered; rows are kept and changed in place.

const FEW = 12; // larger groups begin closed, but for what runs or has failed
const view = {words: "", states: new Set(), group: "state", column: "", order: "none", open: new Map()};
const rowNodes = new Map(), groupNodes = new Map();

function matches(run) {
  if (view.states.size && !view.states.has(run.state)) return false;
  const text = [run.name, run.recipe, run.data, run.model, run.state, run.note, ...run.exhibits.map(numbered)];
  const all = text.join(" ").toLowerCase();
  return view.words.toLowerCase().split(/\s+/).every(word => all.includes(word));
}

function groupsOf(run) {
  if (view.group === "") return [""];
  if (view.group === "exhibits") return run.exhibits.length ? run.exhibits : ["in no table or figure"];
  return [run[view.group]];
}

/** Groups in the order of the grid; states in their own. */
function grouped(runs) {
  const groups = new Map(view.group === "state" ? STATES.map(state => [state, []]) : []);
  for (const run of runs) {
    for (const name of groupsOf(run)) {
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(run);
    }
  }
  return [...groups].filter(([, members]) => members.length);
}

/** Seconds until training ends; null where nothing tells. */
function secondsLeft(run, now) {
  if (run.state !== "running" || !run.epoch_seconds || run.epoch >= run.epochs) return null;
  const since = Math.min(Math.max(0, now - run.wrote), run.epoch_seconds);
  return (run.epochs - run.epoch) * run.epoch_seconds - since;
}

const SORT_KEYS = {
  name: run => run.name,
  state: run => STATES.indexOf(run.state),
  epochs: run => run.epoch / run.epochs,
  left: run => secondsLeft(run, serverNow()),
  error: run => run.headline?.[0] ?? run.so_far,
};

function compareKeys(first, second) {
  if (typeof first === "string") return first.localeCompare(second, "en", {numeric: true});
  return first - second;
}

function sorted(runs) {
  if (view.order === "none") return runs;
  const key = SORT_KEYS[view.column], sign = view.order === "ascending" ? 1 : -1;
  const known = runs.filter(run => key(run) !== null), others = runs.filter(run => key(run) === null);
  return [...known.sort((a, b) => sign * compareKeys(key(a), key(b))), ...others]; // the unknown last
}

function sortBy(heading) {
  const turn = {none: "ascending", ascending: "descending", descending: "none"};
  view.order = view.column === heading.dataset.column ? turn[view.order] : "ascending";
  view.column = heading.dataset.column;
  for (const other of heading.parentNode.cells) {
    other.setAttribute("aria-sort", other === heading ? view.order : "none");
  }
  showRuns();
}

function isOpen(name, members) {
  if (view.open.has(name)) return view.open.get(name);
  const urgent = view.group === "state" && ["running", "failed", "diverged"].includes(name);
  return urgent || members.length <= FEW || view.group === "" || Boolean(view.words || view.states.size);
}

function groupRow(name, members) {
  if (!groupNodes.has(name)) {
    const arrow = make("span", {class: "sign", "aria-hidden": "true"}), title = make("span"), many = make("span", {class: "many"});
    const button = make("button", {type: "button"}, arrow, " ", title, " ", many);
    button.addEventListener("click", () => {
      view.open.set(name, button.getAttribute("aria-expanded") !== "true");
      showRuns();
    });
    const node = make("tr", {class: "group"}, make("th", {scope: "rowgroup", colspan: "5"}, button));
    groupNodes.set(name, {node, arrow, title, many, button});
  }
  const parts = groupNodes.get(name), open = isOpen(name, members);
  setAttribute(parts.button, "aria-expanded", String(open));
  setText(parts.arrow, open ? "▾" : "▸");
  setText(parts.title, groupTitle(name));
  setText(parts.many, groupWords(members));
  return parts.node;
}

function groupTitle(name) {
  if (view.group === "exhibits") return numbered(name);
  return view.group === "state" ? name[0].toUpperCase() + name.slice(1) : name;
}

function groupWords(members) {
  if (view.group === "state") return plural(members.length, "run");
  const count = state => members.filter(run => run.state === state).length;
  const others = ["running", "failed", "diverged"].filter(count).map(state => `, ${count(state)} ${state}`);
  return `${count("finished")} of ${plural(members.length, "run")} finished${others.join("")}`;
}

function newRow(run) {
  const tick = make("input", {type: "checkbox"}), name = make("span");
  const note = make("p", {class: "note"});
  const sign = make("span", {class: "sign", "aria-hidden": "true"}), word = make("span");
  const epochs = make("span"), filled = make("span");
  const left = make("span"), pace = make("small"), error = make("span"), measure = make("small");
  const meter = make("span", {class: "meter", "aria-hidden": "true"}, filled);
  tick.addEventListener("change", () => chooseCurve(run.key, tick));
  const head = make("th", {scope: "row"}, make("label", {}, tick, name), note);
  const node = make("tr", {}, head, make("td", {}, sign, " ", word), make("td", {}, epochs, meter),
    make("td", {}, left, " ", pace), make("td", {}, error, " ", measure));
  return {node, tick, name, note, sign, word, epochs, meter, filled, left, pace, error, measure};
}

/** A run has one row, which moves with it, but for one in each table or figure. */
const rowId = (group, run) => `${view.group === "exhibits" ? group : ""}\n${run.key}`;

function runRow(group, run) {
  const id = rowId(group, run);
  if (!rowNodes.has(id)) rowNodes.set(id, newRow(run));
  const parts = rowNodes.get(id);
  setText(parts.name, run.name);
  setAttribute(parts.tick, "aria-label", `Draw the curves of ${run.name}`);
  parts.tick.checked = isDrawn(run.key);
  setText(parts.note, run.note);
  parts.note.hidden = !run.note;
  setAttribute(parts.node, "class", `state-${run.state.replace(" ", "-")}`);
  setText(parts.sign, SIGNS[run.state]);
  setText(parts.word, run.state);
  setText(parts.epochs, `${run.epoch} of ${run.epochs}`);
  parts.meter.hidden = !run.epoch || run.state === "finished";
  setAttribute(parts.filled, "style", `width: ${Math.min(100, 100 * run.epoch / run.epochs)}%`);
  setText(parts.error, run.headline ? percent(run.headline[0]) : run.so_far === null ? "" : percent(run.so_far));
  setText(parts.measure, run.headline ? run.headline[1] : run.so_far === null ? "" : "so far");
  showTime(parts, run);
  return parts.node;
}

function showTime(parts, run) {
  const now = serverNow(), left = secondsLeft(run, now), running = run.state === "running";
  const late = running && run.epoch_seconds && now - run.wrote > 60 + 3 * run.epoch_seconds;
  const seconds = run.epoch_seconds;
  setText(parts.left, left === null ? "" : duration(left));
  if (late) setText(parts.pace, `last epoch ${duration(now - run.wrote)} ago`);
  else setText(parts.pace, running && seconds ? `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s an epoch` : "");
}

/** Bring the table up to date with the last state and with what the reader chose. */
function showRuns() {
  const runs = state.runs, found = runs.filter(matches), nodes = [];
  for (const [name, members] of grouped(sorted(found))) {
    if (view.group !== "") nodes.push(groupRow(name, members));
    if (isOpen(name, members)) nodes.push(...members.map(run => runRow(name, run)));
  }
  arrange(byId("runs"), nodes);
  byId("runs-box").hidden = !found.length;
  byId("none").hidden = found.length > 0;
  setText(byId("none"), runs.length ? "No run is like that." : "No runs yet. They appear here as soon as there are any.");
  setText(byId("shown"), found.length === runs.length ? "" : `${found.length} of ${runs.length} runs`);
}

/** Time left goes on between two answers. */
function showTimes() {
  for (const run of state?.runs ?? []) {
    if (run.state !== "running") continue;
    for (const name of groupsOf(run)) {
      const parts = rowNodes.get(rowId(name, run));
      if (parts) showTime(parts, run);
    }
  }
}

function showCounts() {
  const runs = state.runs, count = word => runs.filter(run => run.state === word).length;
  const words = STATES.filter(word => count(word) || view.states.has(word));
  setText(byId("done"), runs.length ? `${count("finished")} of ${plural(runs.length, "run")} finished` : "Waiting for runs");
  const order = ["finished", "diverged", "running", "begun", "failed", "waiting", "no data"];
  const parts = order.map(word => make("span", {class: word.replace(" ", "-"), style: `flex: ${count(word)} 0 0`}));
  byId("bar").hidden = !runs.length;
  byId("bar").replaceChildren(...parts);
  arrange(byId("counts"), words.map(word => countButton(word, count(word))));
}

const countButtons = new Map();

function countButton(word, number) {
  if (!countButtons.has(word)) {
    const button = make("button", {type: "button", class: `state-${word.replace(" ", "-")}`},
      make("span", {class: "sign", "aria-hidden": "true"}, SIGNS[word]), " ", make("span"));
    button.addEventListener("click", () => {
      if (!view.states.delete(word)) view.states.add(word);
      showCounts();
      showRuns();
    });
    countButtons.set(word, button);
  }
  const button = countButtons.get(word);
  setText(button.lastChild, `${number} ${word}`);
  setAttribute(button, "aria-pressed", String(view.states.has(word)));
  return button;
}

function equipRuns() {
  byId("choose").addEventListener("submit", event => event.preventDefault());
  byId("find").addEventListener("input", event => { view.words = event.target.value; showRuns(); });
  byId("group").addEventListener("change", event => { view.group = event.target.value; view.open.clear(); showRuns(); });
  for (const heading of document.querySelectorAll("[data-column]")) {
    heading.setAttribute("aria-sort", "none");
    const button = make("button", {type: "button"}, heading.textContent);
    button.addEventListener("click", () => sortBy(heading));
    heading.replaceChildren(button);
  }
}
