// Which curves are drawn, and what is known of them; only what is new is asked for.

const MOST_CURVES = 12, FOLLOWED = 6; // colour and dash together repeat after 12
const curves = new Map(); // by key: life, epochs, loss, error, measure
const slots = new Map(); // by key of what is drawn: its colour, dash and mark while it is
const chosen = {follow: true, keys: new Set()};
let drawnOnce = "";

const isDrawn = key => slots.has(key);

/** What runs, then what wrote last. */
function latest(runs) {
  const rank = run => (run.state === "running" ? 1e12 : 0) + run.wrote;
  return runs.filter(run => run.rows).sort((a, b) => rank(b) - rank(a)).slice(0, FOLLOWED);
}

function chooseCurve(key, tick) {
  if (chosen.follow) chosen.keys = new Set(slots.keys());
  chosen.follow = false;
  if (!tick.checked) chosen.keys.delete(key);
  else if (chosen.keys.size < MOST_CURVES) chosen.keys.add(key);
  const tooMany = tick.checked && !chosen.keys.has(key);
  showSelection();
  if (tooMany) setText(byId("which"), `${MOST_CURVES} runs at most: untick another first`);
  askCurves().catch(missed);
}

/** Give each drawn run a slot, which it keeps while it is drawn. */
function deal() {
  const runs = chosen.follow ? latest(state.runs) : state.runs.filter(run => chosen.keys.has(run.key));
  const keys = new Set(runs.map(run => run.key));
  for (const key of [...slots.keys()]) if (!keys.has(key)) slots.delete(key);
  const taken = new Set(slots.values()), free = [...Array(MOST_CURVES).keys()].filter(slot => !taken.has(slot));
  for (const run of runs) if (!slots.has(run.key)) slots.set(run.key, free.shift());
  return runs;
}

function showSelection() {
  const runs = deal();
  setAttribute(byId("follow"), "aria-pressed", String(chosen.follow));
  const words = chosen.follow ? "those that run, then those that ran last" : "those that you ticked";
  setText(byId("which"), runs.length ? `${plural(runs.length, "run")}: ${words}` : "tick runs above to draw them");
  for (const [id, parts] of rowNodes) parts.tick.checked = isDrawn(id.slice(id.indexOf("\n") + 1));
  showCurves(runs);
}

/** Ask for what is missing of the drawn curves. */
async function askCurves() {
  const runs = deal();
  const behind = runs.filter(run => curves.get(run.key)?.life !== run.life || curves.get(run.key).epochs.length < run.rows);
  if (behind.length) {
    const query = new URLSearchParams(behind.map(run => ["want", want(run)]));
    const {answer} = await ask(`curves.json?${query}`);
    answer.curves.forEach(keepCurve);
  }
  showCurves(runs);
}

function want(run) {
  const known = curves.get(run.key);
  return `${known ? known.epochs.length : 0},${known ? known.life : ""},${run.key}`;
}

function keepCurve(found) {
  const known = curves.get(found.key);
  const same = known?.life === found.life;
  const grown = name => [...(same ? known[name].slice(0, found.after) : []), ...found[name]];
  curves.set(found.key, {life: found.life, measure: found.measure, epochs: grown("epochs"), loss: grown("loss"), error: grown("error")});
}

function lineOf(run, name, shown) {
  const known = curves.get(run.key), points = [];
  known?.epochs.forEach((epoch, place) => {
    const value = known[name][place];
    if (value !== null) points.push([epoch, shown(value)]);
  });
  return {label: run.name, slot: slots.get(run.key), points};
}

/** Draw, unless all is as it was. */
function showCurves(runs) {
  const now = JSON.stringify([byId("loss").clientWidth, runs.map(run => [run.key, slots.get(run.key), curves.get(run.key)?.life, curves.get(run.key)?.epochs.length])]);
  if (now === drawnOnce) return;
  drawnOnce = now;
  const losses = runs.map(run => lineOf(run, "loss", value => value.toPrecision(4))), errors = runs.map(run => lineOf(run, "error", value => (100 * value).toFixed(2)));
  chart(byId("loss"), losses, "");
  chart(byId("error"), errors, " %");
  document.querySelector(".legend").hidden = !runs.length;
  byId("legend").replaceChildren(...runs.map((run, place) => legendRow(run, losses[place], errors[place])));
}

function legendRow(run, loss, error) {
  const known = curves.get(run.key), last = line => line.points.at(-1)?.[1];
  const measured = error.points.length ? `${last(error)} %` : "–";
  const small = make("span", {class: "muted small"}, error.points.length ? ` ${known.measure}, epoch ${error.points.at(-1)[0]}` : "");
  return make("tr", {}, make("th", {scope: "row"}, sample(slots.get(run.key)), run.name),
    make("td", {}, String(known?.epochs.at(-1) ?? "–")), make("td", {}, last(loss) ?? "–"), make("td", {}, measured, small));
}

function equipCurves() {
  byId("follow").addEventListener("click", () => {
    chosen.follow = true;
    showSelection();
    askCurves().catch(missed);
  });
  new ResizeObserver(() => { if (state) showCurves(deal()); }).observe(byId("loss"));
}
