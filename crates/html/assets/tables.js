"use strict";
// Verdicts, and comparison tables that can be sorted and copied.

o9.sections.tables = {
  title: "Comparison",
  draw(section) {
    const parts = [];
    for (const compared of section.verdicts) parts.push(...verdicts(compared));
    parts.push(o9.el("div", { class: "bar" }, o9.copier("Copy all tables as text", () => section.text)));
    parts.push(...section.tables.map(sortable));
    parts.push(o9.el("details", {}, o9.el("summary", {}, "All of it as text"), o9.el("pre", {}, section.text)));
    return parts;
  },
};

const CLASSES = { better: "good", worse: "bad" };

const verdicts = (compared) => {
  const heading = o9.el("h3", {}, `${compared.policy} against ${compared.against}`);
  if (compared.identical) return [heading, o9.el("p", {}, "Identical results: policies and settings do not differ here.")];
  if (!compared.rows.length) return [];
  const rows = compared.rows.map(([quantity, outcome, words]) =>
    o9.el("tr", {}, o9.el("td", {}, quantity), o9.el("td", { class: "name " + (CLASSES[outcome] || "") }, words)));
  return [heading, o9.el("div", { class: "scroll" }, o9.el("table", { class: "verdicts" }, o9.el("tbody", {}, ...rows)))];
};

const sortable = (grid) => {
  const body = o9.el("tbody");
  const fill = (rows) => body.replaceChildren(...rows.map((row) => o9.el("tr", {},
    o9.el("td", { class: "name" }, `${row.statistic} ${row.operation}`.trim()),
    ...row.cells.map((cell) => o9.el("td", { class: "value " + (cell.better == null ? "" : cell.better ? "good" : "bad") }, cell.text)),
    o9.el("td", { class: "name dim" }, row.unit))));
  const keys = [(row) => `${row.statistic} ${row.operation}`, ...grid.columns.map((_, at) => (row) => row.cells[at].value), (row) => row.unit];
  const heads = ["", ...grid.columns, "unit"].map((title, at) => {
    const head = o9.el("th", { scope: "col", "aria-sort": "none", class: at && at <= grid.columns.length ? "" : "name" });
    head.append(o9.el("button", { type: "button", onclick: () => sort(head, keys[at]), "aria-label": `sort by ${title || "name"}` }, title || "row"));
    return head;
  });
  // Ascending, descending, and as it was.
  const sort = (head, key) => {
    const next = { none: "descending", descending: "ascending", ascending: "none" }[head.getAttribute("aria-sort")];
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", next);
    fill(next === "none" ? grid.rows : sorted(grid.rows, key, next === "ascending" ? 1 : -1));
  };
  fill(grid.rows);
  const table = o9.el("table", {}, o9.el("caption", {}, grid.heading), o9.el("thead", {}, o9.el("tr", {}, ...heads)), body);
  return o9.el("div", {}, o9.el("div", { class: "scroll" }, table), o9.el("div", { class: "bar" }, o9.copier("Copy as text", () => grid.text)));
};

// Rows without a value come last either way.
const sorted = (rows, key, direction) => [...rows].sort((one, other) => {
  const [a, b] = [key(one), key(other)];
  if (a == null || b == null) return (a == null) - (b == null);
  return direction * (typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0);
});
