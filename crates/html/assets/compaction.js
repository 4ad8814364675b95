"use strict";
// Where both scanners of compaction were over time, and what each run of it moved, from recorded events.

o9.sections.compaction = {
  title: "Compaction",
  draw(section, page) {
    const host = o9.el("div");
    const show = (at) => host.replaceChildren(...traced(section.runs[at], page));
    const select = o9.el("select", { onchange: (event) => show(Number(event.target.value)) },
      ...section.runs.map((run, at) => o9.el("option", { value: at }, run.name)));
    show(0);
    return [
      o9.el("p", { class: "dim" }, "Each line is a run of compaction: the scanner for pages to move climbs, the one for free pages descends. The run is over where they meet, or where there is enough."),
      ...section.notes.map((note) => o9.el("p", { class: "note" }, note)),
      o9.inWords("Totals as a table", ["run", "runs of compaction", "pages moved", "failed", "scanned to move", "scanned for free", "ended"],
        section.runs.map((run) => [run.name, ...run.totals.map(o9.grouped), Object.entries(run.ended).map(([how, count]) => `${how} ${o9.grouped(count)}`).join(", ")])),
      o9.el("div", { class: "bar" }, o9.el("label", {}, "run", select)), host,
    ];
  },
};

const GIB = 2 ** 18;

const traced = (run, page) => {
  const readout = o9.el("div", { class: "readout" }, "Point at a run of compaction to read it.");
  const [low, high] = run.span;
  // Two points a run and a gap behind it.
  const gapped = (values) => run.efforts.flatMap((effort) => [...values(effort), null]);
  const xs = run.efforts.flatMap((effort) => [effort.begin, Math.max(effort.end, effort.begin), Math.max(effort.end, effort.begin) + 1e-9]);
  const order = xs.map((_, at) => at).sort((a, b) => xs[a] - xs[b]);
  const sorted = (values) => order.map((at) => values[at]);
  const words = `Scanners of compaction of ${run.name}: ${o9.grouped(run.totals[0])} runs moved ${o9.grouped(run.totals[1])} pages`;
  const nearest = (seconds) => run.efforts.reduce((best, effort) => (Math.abs(effort.begin - seconds) < Math.abs(best.begin - seconds) ? effort : best));
  const read = (plot) => {
    if (plot.cursor.left < 0) return;
    const effort = nearest(plot.posToVal(plot.cursor.left, "x"));
    readout.textContent = `${o9.time(effort.begin)}, ${effort.task}, ${effort.is_sync ? "sync" : "async"}: moved ${o9.grouped(effort.moved)} pages, ${o9.grouped(effort.failed)} failed, ` +
      `took ${o9.shown(effort.end - effort.begin, "s", 3)}, ended ${effort.status.replaceAll("_", " ")}; scanner of pages to move ${(effort.migrate[0] / GIB).toFixed(2)} → ${(effort.migrate[1] / GIB).toFixed(2)} GiB, of free pages ${(effort.free[0] / GIB).toFixed(2)} → ${(effort.free[1] / GIB).toFixed(2)} GiB`;
  };
  const axis = { values: (plot, splits) => splits.map((value) => (value == null ? "" : timeLabel(value, xs[order[order.length - 1]]))), size: 30 };
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
  const moved = [...run.efforts].sort((a, b) => a.begin - b.begin);
  return [
    readout,
    o9.el("div", { class: "legend" }, o9.el("span", {}, o9.swatch(0), "scanner for pages to move"), o9.el("span", {}, o9.swatch(1), "scanner for free pages")),
    lines("Scanners", "GiB of the address", [scanner(0), scanner(1)],
      [sorted(xs), sorted(gapped((effort) => effort.migrate.map((pfn) => pfn / GIB))), sorted(gapped((effort) => effort.free.map((pfn) => pfn / GIB)))], 260, () => [low / GIB, high / GIB]),
    lines("Moved", "pages in a run of compaction", [{ group: 2, paths: uPlot.paths.bars({ size: [0.9, 4] }), points: { show: true, size: 4 } }],
      [moved.map((effort) => effort.begin), moved.map((effort) => effort.moved)], 130, (plot, min, max) => [0, Math.max(1, max * 1.06)]),
  ];
};
