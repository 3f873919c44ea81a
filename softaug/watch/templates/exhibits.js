// The tables so far: the ones that are open are asked for when they have changed.

const exhibitNodes = new Map();

function exhibitNode(exhibit) {
  if (!exhibitNodes.has(exhibit.name)) {
    const title = make("h3"), words = make("span", {class: "muted"}), body = make("div", {class: "body"});
    const node = make("details", {}, make("summary", {}, title, " ", words), body);
    node.addEventListener("toggle", () => askExhibits().catch(missed));
    exhibitNodes.set(exhibit.name, {node, title, words, body, shown: ""});
  }
  const parts = exhibitNodes.get(exhibit.name);
  setText(parts.title, exhibit.title ? `${numbered(exhibit.name)}. ${exhibit.title}` : numbered(exhibit.name));
  setText(parts.words, exhibit.state);
  return parts.node;
}

function showExhibits() {
  byId("exhibits-part").hidden = !state.exhibits.length;
  const first = exhibitNodes.size === 0;
  arrange(byId("exhibits"), state.exhibits.map(exhibitNode));
  if (first && state.exhibits.length === 1) byId("exhibits").firstElementChild.open = true;
}

/** Fetch the open ones that have changed since they were shown. */
async function askExhibits() {
  for (const exhibit of state?.exhibits ?? []) {
    const parts = exhibitNodes.get(exhibit.name);
    const now = `${exhibit.version} ${exhibit.page}`;
    if (!parts?.node.open || parts.shown === now) continue;
    const found = exhibit.version ? await ask(`exhibit.json?name=${exhibit.name}`).catch(() => null) : null;
    parts.body.replaceChildren(...exhibitBody(exhibit, found?.answer));
    parts.shown = now;
  }
}

function exhibitBody(exhibit, found) {
  if (!found) return [make("p", {class: "muted"}, exhibit.state)];
  const sections = found.sections.flatMap(section => [make("h4", {}, section.heading), exhibitTable(found, section)]);
  const notes = found.notes.map(([mark, why]) => make("li", {}, make("sup", {}, mark), ` ${why}`));
  const remarks = found.remarks.map(remark => make("p", {class: "muted small"}, remark));
  const cautions = found.cautions.map(told => make("p", {}, told));
  const page = make("a", {href: `exhibit.html?name=${exhibit.name}`, target: "_blank", rel: "noopener"}, "Open it on its own page");
  return [...cautions, ...sections, make("ul", {class: "small"}, ...notes), ...remarks, ...(exhibit.page ? [make("p", {}, page)] : [])];
}

function exhibitTable(found, section) {
  const head = make("tr", {}, ...found.heads.map(name => make("th", {scope: "col"}, name)));
  const rows = section.lines.map(line => {
    const label = make("th", {scope: "row"}, line.label, ...(line.quoted ? [make("span", {class: "muted small"}, ` (${line.quoted})`)] : []));
    const cells = found.columns.map(({field}) => {
      const mark = field === "ours" && line.mark ? [make("sup", {}, line.mark)] : [];
      return make("td", {}, line[field], ...mark);
    });
    return make("tr", {}, label, ...cells);
  });
  return make("div", {class: "scroll"}, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
