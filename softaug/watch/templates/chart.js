// A line chart in SVG, as wide as its place; lines differ by colour, dash and mark.

const DASHES = ["", "7 4", "2 4", "9 3 2 3"], COLOURS = 6, FEW_MARKS = 10;
const MARKS = [
  "M-3.5-3.5h7v7h-7z", "M0-4.5 4.5 3.5h-9z", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
  "M0-5 5 0 0 5-5 0z", "M0 4.5 4.5-3.5h-9z", "M-1.3-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
];
const MARGIN = {left: 52, right: 14, top: 12, bottom: 26};

function draw(tag, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

/** 1, 2 or 5 times a power of ten: about `count` steps in `span`. */
function step(span, count) {
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find(part => part * power >= rough * 0.999);
}

/** Round numbers that enclose low..high, at least two. */
function ticks(low, high, count) {
  const span = high > low ? high - low : Math.abs(high) || 1, by = step(span, count);
  const first = Math.floor(low / by + 1e-9), last = Math.max(first + 1, Math.ceil(high / by - 1e-9));
  const digits = Math.max(0, -Math.floor(Math.log10(by) + 1e-9));
  const values = Array.from({length: last - first + 1}, (_, place) => (first + place) * by);
  return values.map(value => ({value, text: value.toFixed(Math.min(digits, 8))}));
}

const style = slot => ({stroke: `var(--series-${slot % COLOURS})`, "stroke-dasharray": DASHES[slot % DASHES.length]});

function mark(slot, x, y, title) {
  const made = draw("path", {d: MARKS[slot % MARKS.length], transform: `translate(${x} ${y})`, fill: `var(--series-${slot % COLOURS})`});
  if (title) made.append(draw("title", {}, title));
  return made;
}

function axes(xs, ys, place, width, height) {
  const parts = [];
  for (const {value, text} of ys) {
    const y = place.y(value);
    parts.push(draw("path", {class: "grid", d: `M${MARGIN.left} ${y}H${width - MARGIN.right}`}));
    parts.push(draw("text", {x: MARGIN.left - 8, y: y + 4, "text-anchor": "end"}, text));
  }
  for (const {value, text} of xs) {
    parts.push(draw("text", {x: place.x(value), y: height - 6, "text-anchor": "middle"}, text));
  }
  return parts;
}

/** Draw `lines` of {label, slot, points: [[x, y as text], ...]} into `box`; `unit` is said after values. */
function chart(box, lines, unit) {
  const width = Math.max(260, box.clientWidth), height = Math.round(Math.min(330, Math.max(210, 0.62 * width)));
  const svg = draw("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img"});
  const points = lines.flatMap(line => line.points);
  if (points.length) fill(svg, lines, points, unit, width, height);
  else svg.append(draw("text", {class: "empty", x: width / 2, y: height / 2, "text-anchor": "middle"}, "nothing yet"));
  svg.setAttribute("aria-label", points.length ? `${plural(lines.length, "line")}; the last numbers are in the table below` : "nothing yet");
  box.replaceChildren(svg);
}

function fill(svg, lines, points, unit, width, height) {
  const values = points.map(([, y]) => Number(y)), last = Math.max(...points.map(([x]) => x));
  const ys = ticks(Math.min(...values), Math.max(...values), 4);
  const by = Math.max(1, step(Math.max(1, last), width < 400 ? 4 : 7)), xs = [];
  for (let x = 0; x <= last; x += by) xs.push({value: x, text: String(x)});
  const low = ys[0].value, high = ys.at(-1).value;
  const place = {
    x: x => MARGIN.left + (width - MARGIN.left - MARGIN.right) * x / last,
    y: y => height - MARGIN.bottom - (height - MARGIN.top - MARGIN.bottom) * (y - low) / (high - low),
  };
  svg.append(...axes(xs, ys, place, width, height), ...lines.flatMap(line => curve(line, place, unit)));
}

function curve(line, place, unit) {
  const at = line.points.map(([x, y]) => [place.x(x).toFixed(1), place.y(y).toFixed(1)]);
  if (!at.length) return [];
  const path = draw("path", {class: "curve", d: `M${at.map(point => point.join(" ")).join("L")}`, ...style(line.slot)});
  const every = Math.ceil(at.length / FEW_MARKS), marked = at.map((_, index) => index).filter(index => index % every === 0 || index === at.length - 1);
  const title = index => `${line.label}: ${line.points[index][1]}${unit} after epoch ${line.points[index][0]}`;
  return [path, ...marked.map(index => mark(line.slot, ...at[index], title(index)))];
}

/** The line of a legend. */
function sample(slot) {
  const svg = draw("svg", {viewBox: "0 0 42 14", "aria-hidden": "true"});
  svg.append(draw("path", {d: "M0 7H42", fill: "none", "stroke-width": 2, ...style(slot)}), mark(slot, 21, 7));
  return svg;
}
