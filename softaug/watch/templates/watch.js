// Asks the server every few seconds; says so when it does not answer, and goes on asking.

const EVERY = 1000, HIDDEN = 15000, PATIENCE = 20000; // milliseconds
let state = null, tag = "", ahead = 0, failed = null, answered = null, waiting = 0;

/** The server's clock in seconds: it may be another machine's, through a tunnel. */
const serverNow = () => Date.now() / 1000 + ahead;

/** The server did not answer, or not well. */
class Silence extends Error {}

/** The server's answer to a question; none if it is what `known` is the tag of. */
async function ask(path, known = "") {
  try {
    const headers = known ? {"If-None-Match": known} : {};
    const response = await fetch(path, {headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
    const date = response.headers.get("Date");
    if (response.status === 304) return {answer: null, tag: known, date};
    if (!response.ok) throw new Error(`it says ${response.status}`);
    return {answer: await response.json(), tag: response.headers.get("ETag"), date};
  } catch (problem) {
    throw new Silence(problem.message);
  }
}

/** Take note of a silence; all else is a mistake of this page and goes to the console. */
function missed(problem) {
  if (!(problem instanceof Silence)) throw problem;
  failed ??= new Date();
  showLink();
}

/** What has changed, for those who hear the page. */
function news(before, now) {
  const old = new Map(before.runs.map(run => [run.key, run.state]));
  const changed = now.runs.filter(run => old.has(run.key) && old.get(run.key) !== run.state);
  return changed.slice(0, 5).map(run => `${run.name}: ${run.state}.`).join(" ");
}

function show(found) {
  const words = state ? news(state, found) : "";
  state = found;
  if (words) setText(byId("news"), words);
  const done = state.runs.filter(run => run.state === "finished").length;
  const name = document.querySelector("h1").textContent;
  document.title = `${state.runs.length ? `${done}/${state.runs.length} ` : ""}${name} – softaug watch`;
  setText(byId("what"), state.scale ? `a grid at scale “${state.scale}”` : "");
  setText(byId("problem"), state.problem);
  byId("problem").hidden = !state.problem;
  deal();
  showCounts();
  showRuns();
  showSelection();
  showExhibits();
}

function showLink() {
  if (answered) setText(byId("link"), failed ? `Not live: as of ${clock(answered)}` : `Live: ${clock(answered)}`);
  byId("gone").hidden = !failed;
  if (failed) setText(byId("gone"), `The server has not answered since ${clock(failed)}: what is shown may be old. Is \`softaug watch\` still running? This page goes on asking.`);
}

/** The `Date` of an answer has whole seconds: less is no difference between clocks. */
function setClock(date) {
  const difference = (Date.parse(date) - Date.now()) / 1000;
  ahead = Math.abs(difference) > 2 ? difference : 0;
}

async function poll() {
  try {
    const got = await ask("state.json", tag);
    setClock(got.date);
    tag = got.tag;
    failed = null;
    answered = new Date();
    showLink();
    if (got.answer) show(got.answer);
    await askCurves();
    await askExhibits();
  } catch (problem) {
    missed(problem);
  } finally {
    clearTimeout(waiting);
    waiting = setTimeout(poll, document.hidden ? HIDDEN : EVERY);
  }
}

equipRuns();
equipCurves();
setInterval(showTimes, 1000);
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
poll();
