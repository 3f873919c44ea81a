"use strict";
// Makes tables sortable and copyable. Without it they are plain tables.
const isGroup = row => row.classList.contains("group");
const rows = table => [table.tHead.rows[0], ...[...table.tBodies].flatMap(body => [...body.rows])];
const text = cell => cell.dataset.text ?? cell.textContent.trim();
const isBest = cell => cell.classList.contains("best");

const latexSigns = {
  "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
  "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "−": "$-$", "↓": "$\\downarrow$",
  "↑": "$\\uparrow$", "▲": "$\\blacktriangle$", "▼": "$\\blacktriangledown$", "–": "--", "★": "$\\star$", "…": "\\ldots{}", "\u00a0": "~",
};
const latexText = value => value.replace(/[\\&%$#_{}~^±−↓↑▲▼–★…\u00a0]/g, sign => latexSigns[sign]);

function asMarkdown(table) {
  const escaped = cell => text(cell).replace(/\s+/g, " ").replace(/[\\`*_[\]<>|]/g, "\\$&");
  const shown = cell => isBest(cell) ? `**${escaped(cell)}**` : escaped(cell);
  const heads = [...table.tHead.rows[0].cells];
  const line = row => isGroup(row) ? [`**${escaped(row.cells[0])}**`, ...heads.slice(1).map(() => "")] : [...row.cells].map(shown);
  const lines = rows(table).map(row => `| ${line(row).join(" | ")} |`);
  const rule = heads.map((_, place) => place ? "---:" : "---");
  lines.splice(1, 0, `| ${rule.join(" | ")} |`);
  return lines.join("\n") + "\n";
}

function asLatex(table) {
  const shown = cell => isBest(cell) ? `\\textbf{${latexText(text(cell))}}` : latexText(text(cell));
  const number = table.tHead.rows[0].cells.length;
  const line = row => isGroup(row)
    ? `\\midrule\n\\multicolumn{${number}}{l}{\\textbf{${latexText(text(row.cells[0]))}}} \\\\`
    : `${[...row.cells].map(shown).join(" & ")} \\\\`;
  const [head, ...lines] = rows(table).map(line);
  const columns = "l" + "r".repeat(number - 1);
  return [`% \\usepackage{booktabs}`, `\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...lines,
    "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

function asCsv(table) {
  const parts = cell => cell.dataset.csv ? JSON.parse(cell.dataset.csv) : [text(cell)];
  const quoted = part => {
    const safe = /^[=+@\-\t\r]/.test(part) && !isFinite(part) ? `'${part}` : part; // no formula for a spreadsheet
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows(table).filter(row => !isGroup(row)).map(row => [...row.cells].flatMap(parts).map(quoted).join(",")).join("\r\n") + "\r\n";
}

function sortKey(row, column) {
  const cell = row.cells[column];
  return "value" in cell.dataset ? Number(cell.dataset.value) : text(cell);
}

function compareKeys(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  if (typeof first === "number") return -1; // empty cells last
  if (typeof second === "number") return 1;
  return first.localeCompare(second, "en", {numeric: true});
}

function sortBy(table, heading, say) {
  const column = heading.cellIndex;
  const turn = {none: "ascending", ascending: "descending", descending: "none"};
  const order = turn[heading.getAttribute("aria-sort")] ?? "ascending";
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const compare = order === "none"
    ? (a, b) => a.dataset.place - b.dataset.place
    : (a, b) => sign * compareKeys(sortKey(a, column), sortKey(b, column));
  for (const body of table.tBodies) { // each group by itself, below its heading
    body.append(...[...body.rows].filter(row => !isGroup(row)).sort(compare));
  }
  say(order === "none" ? "Order of the file" : `Sorted by ${text(heading)}, ${order}`);
}

async function copy(content, name, tools, say) {
  try {
    await navigator.clipboard.writeText(content);
    say(`Copied as ${name}`);
  } catch { // no permission: leave it to the reader's hands
    let area = tools.querySelector("textarea");
    if (!area) {
      area = document.createElement("textarea");
      area.readOnly = true;
      area.setAttribute("aria-label", "The table as text");
      tools.append(area);
    }
    area.value = content;
    area.focus();
    area.select();
    say(`Selected as ${name}: copy it with your keyboard`);
  }
}

function button(label, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", action);
  return made;
}

function equip(table) {
  const tools = document.createElement("div");
  tools.className = "tools";
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  const say = message => { status.textContent = message; };
  for (const [name, format] of Object.entries({Markdown: asMarkdown, LaTeX: asLatex, CSV: asCsv})) {
    const made = button(`Copy ${name}`, () => copy(format(table), name, tools, say));
    made.setAttribute("aria-label", `Copy ${table.dataset.label} as ${name}`);
    tools.append(made);
  }
  tools.append(status);
  table.closest(".scroll").after(tools);
  rows(table).forEach((row, place) => { row.dataset.place = place; });
  for (const heading of table.tHead.rows[0].cells) {
    const label = heading.textContent.trim();
    heading.dataset.text = label;
    heading.setAttribute("aria-sort", "none");
    heading.replaceChildren(button(label, () => sortBy(table, heading, say)));
  }
}

window.softaugTables = {Markdown: asMarkdown, LaTeX: asLatex, CSV: asCsv};
document.querySelectorAll("table[data-label]").forEach(equip);

function openTarget() { // a link into a folded section opens it
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();
