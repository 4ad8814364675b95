"use strict";
// Distributions over hosts, and lists that can be sorted, searched and unfolded.

o9.sections.spread = {
  draw(section, page) {
    const grid = o9.el("div", { class: "grid" }, ...section.panels.map((panel) => spreadOf(panel, page.groups)));
    return [
      o9.el("p", { class: "dim" }, "Each curve says which percentage of hosts has at most so much."),
      o9.el("div", { class: "bar" }, o9.legend(page.groups)), grid,
    ];
  },
};

const spreadOf = (panel, groups) => {
  const unit = panel.is_percent ? "%" : "";
  const [plot, readout] = [o9.el("div", { class: "plot" }), o9.el("div", { class: "readout" })];
  const still = panel.none;
  readout.textContent = still;
  const read = (at) => {
    const shares = panel.lines.map((line, group) => `${groups[group]}: ${o9.shown(line[at], "%", 3)}`);
    readout.textContent = at == null ? still : `at most ${o9.shown(panel.at[at], unit, 3)} on ${shares.join(", ")}`;
  };
  const axis = (values, noun) => values.map((value) => o9.shown(value, noun, 3));
  const options = {
    scales: { x: { time: false }, y: { range: [0, 100] } },
    cursor: { points: { show: false } },
    hooks: { setCursor: [(chart) => read(chart.cursor.idx)] },
    series: [{}, ...panel.lines.map((_, group) => ({ group, width: group ? 1.25 : 2.5, points: { show: false } }))],
    axes: [{ values: (_, values) => axis(values, unit) }, { values: (_, values) => axis(values, "%"), size: 52 }],
  };
  o9.lazy.add(plot, () => o9.chart(plot, { options, data: [panel.at, ...panel.lines], height: 190 }));
  return o9.el("figure", {}, o9.el("h4", {}, panel.title), plot, readout);
};

// Rows that are shown before a reader asks for all.
const FIRST_ROWS = 50;

o9.sections.listing = {
  draw(section) {
    const state = { order: null, words: "", all: false };
    const most = section.columns.map((_, at) => Math.max(...section.rows.map((row) => Math.abs(row[at][1] || 0)), 0));
    const body = o9.el("tbody");
    const more = o9.el("button", { type: "button", onclick: () => { state.all = true; fill(); } });
    const fill = () => {
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      const found = section.rows.filter((row) => words.every((word) => row.some(([text]) => text.toLowerCase().includes(word))));
      const rows = state.order ? listed(found, state.order) : found;
      const shown = state.all ? rows : rows.slice(0, FIRST_ROWS);
      body.replaceChildren(...shown.map((row) => o9.el("tr", {}, ...row.map(([text, value], at) => cell(section.columns[at].kind, text, value / most[at])))));
      more.hidden = shown.length === rows.length;
      more.textContent = `Show all ${o9.grouped(rows.length)}`;
    };
    const heads = section.columns.map(({ title, kind }, at) => {
      const head = o9.el("th", { scope: "col", "aria-sort": "none", class: kind === "name" ? "name" : "" });
      head.append(o9.el("button", { type: "button", onclick: () => sort(head, at), "aria-label": `sort by ${title}` }, title));
      return head;
    });
    const sort = (head, at) => {
      const next = { none: "descending", descending: "ascending", ascending: "none" }[head.getAttribute("aria-sort")];
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      state.order = next === "none" ? null : { at, sign: next === "ascending" ? 1 : -1 };
      fill();
    };
    const search = section.search && section.rows.length > 10 ? o9.el("input", {
      type: "search", placeholder: "search", "aria-label": `search ${section.title}`,
      oninput: (event) => { state.words = event.target.value; fill(); },
    }) : null;
    fill();
    return [
      section.note ? o9.el("p", { class: "dim" }, section.note) : null,
      search ? o9.el("div", { class: "bar" }, search) : null,
      o9.el("div", { class: "scroll" }, o9.el("table", { class: "listing" }, o9.el("thead", {}, o9.el("tr", {}, ...heads)), body)),
      o9.el("div", { class: "bar" }, more),
    ];
  },
};

const cell = (kind, text, share) => {
  if (kind !== "bar") return o9.el("td", { class: kind === "name" ? "name" : "" }, text);
  const width = Math.round(100 * (share || 0));
  return o9.el("td", { class: "bars" }, o9.el("span", { class: "length", style: `width:${width}px`, "aria-hidden": "true" }), text);
};

// By value where there is one, else by text; what has neither comes last either way.
const listed = (rows, { at, sign }) => [...rows].sort((one, other) => {
  const [[a, x], [b, y]] = [one[at], other[at]];
  if (x != null && y != null) return sign * (x - y);
  if ((x == null) !== (y == null)) return (x == null) - (y == null);
  return sign * a.localeCompare(b, "en", { numeric: true });
});
