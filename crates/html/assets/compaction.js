"use strict";
// Where both scanners of compaction were over time, and what each run of it moved, from recorded events.

o9.sections.compaction = {
  title: "Compaction",
  draw(section, page) {
    const host = o9.el("div");
    const state = { at: 0, timed: false };
    const show = (at = state.at) => { state.at = at; host.replaceChildren(...traced(section.runs[at], state.timed)); };
    const timed = o9.el("button", { type: "button", "aria-pressed": "false", onclick: () => {
      state.timed = !state.timed;
      timed.setAttribute("aria-pressed", state.timed);
      show();
    } }, "Along the time");
    const select = o9.el("select", { onchange: (event) => show(Number(event.target.value)) },
      ...section.runs.map((run, at) => o9.el("option", { value: at }, run.name)));
    show(0);
    return [
      o9.el("p", { class: "dim" }, "Each line is a run of compaction: the scanner for pages to move climbs, the one for free pages descends. The run is over where they meet, or where there is enough."),
      ...section.notes.map((note) => o9.el("p", { class: "note" }, note)),
      o9.inWords("Totals as a table", ["run", "runs of compaction", "pages moved", "failed", "scanned to move", "scanned for free", "ended"],
        section.runs.map((run) => [run.name, ...run.totals.map(o9.grouped), Object.entries(run.ended).map(([how, count]) => `${how} ${o9.grouped(count)}`).join(", ")])),
      o9.el("div", { class: "bar" }, o9.el("label", {}, "run", select), timed), host,
    ];
  },
};

const GIB = 2 ** 18;

const traced = (run, timed) => {
  const readout = o9.el("div", { class: "readout" }, "Point at a run of compaction to read it.");
  const [low, high] = run.span;
  // Two points a run and a gap behind it.
  const gapped = (values) => run.efforts.flatMap((effort) => [...values(effort), null]);
  // Runs of compaction come in bursts: one after the other each has the same room.
  const place = (effort, at) => (timed ? [effort.begin, Math.max(effort.end, effort.begin)] : [at + 1, at + 1.8]);
  const xs = run.efforts.flatMap((effort, at) => { const [from, to] = place(effort, at); return [from, to, to + 1e-9]; });
  const order = xs.map((_, at) => at).sort((a, b) => xs[a] - xs[b]);
  const sorted = (values) => order.map((at) => values[at]);
  const words = `Scanners of compaction of ${run.name}: ${o9.grouped(run.totals[0])} runs moved ${o9.grouped(run.totals[1])} pages`;
  const nearest = (x) => timed ? run.efforts.reduce((best, effort) => (Math.abs(effort.begin - x) < Math.abs(best.begin - x) ? effort : best))
    : run.efforts[Math.min(Math.max(Math.floor(x) - 1, 0), run.efforts.length - 1)];
  const read = (plot) => {
    if (plot.cursor.left < 0) return;
    const effort = nearest(plot.posToVal(plot.cursor.left, "x"));
    readout.textContent = `${o9.time(effort.begin)}, ${effort.task}, ${effort.is_sync ? "sync" : "async"}: moved ${o9.grouped(effort.moved)} pages, ${o9.grouped(effort.failed)} failed, ` +
      `took ${o9.shown(effort.end - effort.begin, "s", 3)}, ended ${effort.status.replaceAll("_", " ")}; scanner of pages to move ${(effort.migrate[0] / GIB).toFixed(2)} → ${(effort.migrate[1] / GIB).toFixed(2)} GiB, of free pages ${(effort.free[0] / GIB).toFixed(2)} → ${(effort.free[1] / GIB).toFixed(2)} GiB`;
  };
  const axis = { values: (plot, splits) => splits.map((value) => (value == null ? "" : timed ? timeLabel(value, xs[order[order.length - 1]]) : Number.isInteger(value) ? "no. " + value : "")), size: 30 };
  const lines = (title, unit, series, data, height, range) => {
    const host = o9.el("div", { class: "plot", role: "img", "aria-label": words });
    o9.lazy.add(host, () => o9.chart(host, { height, data, options: {
      cursor: { sync: { key: "compaction", scales: ["x", null] }, drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false }, y: { range } }, series: [{}, ...series],
      axes: [axis, { size: 64, values: (plot, splits) => splits.map((value) => o9.shown(value, "", 3)) }], hooks: { setCursor: [read] },
    } }));
    return o9.el("figure", {}, o9.el("h4", {}, title, o9.el("span", { class: "unit" }, unit)), host);
  };
  const scanner = (group) => ({ group, width: 2, points: { show: true, size: 3 } });
  const moved = run.efforts.map((effort, at) => [place(effort, at)[0], effort.moved]).sort((a, b) => a[0] - b[0]);
  return [
    readout,
    o9.el("div", { class: "legend" }, o9.el("span", {}, o9.swatch(0), "scanner for pages to move"), o9.el("span", {}, o9.swatch(1), "scanner for free pages")),
    lines("Scanners", "address in GiB", [scanner(0), scanner(1)],
      [sorted(xs), sorted(gapped((effort) => effort.migrate.map((pfn) => pfn / GIB))), sorted(gapped((effort) => effort.free.map((pfn) => pfn / GIB)))], 260, () => [low / GIB, high / GIB]),
    lines("Moved", "pages in a run of compaction", [{ group: 2, paths: uPlot.paths.bars({ size: [0.9, 4] }), points: { show: true, size: 4 } }],
      [moved.map(([x]) => x), moved.map(([, pages]) => pages)], 130, (plot, min, max) => [0, Math.max(1, max * 1.06)]),
  ];
};
