"use strict";
// Panels over time whose cursors move together, with the phases of a run behind them.

o9.sections.timeline = {
  title: "Over time",
  draw(section, page) {
    const clocks = section.clocks.map((steps) => { let now = 0; return steps.map((step) => (now += step) / 1e6); });
    const groups = page.groups.map((_, group) => group).filter((group) => section.phases.some((phase) => phase.group === group));
    const state = { shaded: groups[0], sync: uPlot.sync("time"), span: section.span, charts: [], readers: [] };
    const bar = o9.el("div", { class: "bar" }, o9.legend(page.groups));
    if (groups.length) {
      const select = o9.el("select", { onchange: (event) => { state.shaded = Number(event.target.value); redraw(state); } },
        ...groups.map((group) => o9.el("option", { value: group }, page.groups[group])));
      bar.append(o9.el("label", {}, "phases of", select));
    }
    bar.append(o9.el("button", { type: "button", onclick: () => zoom(state, state.span) }, "Whole time"));
    const parts = [
      o9.el("p", { class: "dim" }, "Drag to zoom in, double-click to zoom out; all panels follow. A line for each seed; values at the pointer stand above each panel."),
      ...section.notes.map((note) => o9.el("p", { class: "note" }, note)), bar, phaseTable(section, page),
    ];
    const headings = [...new Set(section.panels.map((panel) => panel.heading).filter((heading) => heading != null))];
    for (const heading of headings) {
      const panels = section.panels.filter((panel) => panel.heading === heading);
      if (heading) parts.push(o9.el("h3", {}, heading));
      parts.push(o9.el("div", { class: "grid" }, ...panels.map((panel) => timePanel(panel, section, page, clocks, state))));
    }
    const others = section.panels.filter((panel) => panel.heading == null);
    if (others.length) parts.push(...picker(others, section, page, clocks, state));
    return parts;
  },
};

const redraw = (state) => state.charts.forEach((chart) => chart.plot.redraw(false));
const zoom = (state, [min, max]) => state.charts.forEach((chart) => chart.plot.setScale("x", { min, max }));

const phaseTable = (section, page) => o9.inWords("Phases as a table", ["policy", "phase", "begin", "end"],
  section.phases.map((phase) => [page.groups[phase.group], phase.name, o9.time(phase.begin), o9.time(phase.end)]));

// Bands of the phases, every other one shaded, with their names where there is room.
const shade = (plot, section, state) => {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  const phases = section.phases.filter((phase) => phase.group === state.shaded);
  phases.forEach((phase, at) => {
    const [left, right] = [plot.valToPos(phase.begin, "x", true), plot.valToPos(phase.end, "x", true)];
    if (at % 2 === 0) {
      ctx.fillStyle = o9.colour("shade");
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    const from = Math.max(left, bbox.left) + 3 * devicePixelRatio;
    if (ctx.measureText(phase.name).width < Math.min(right, bbox.left + bbox.width) - from) {
      ctx.fillStyle = o9.colour("dim");
      ctx.fillText(phase.name, from, bbox.top + 2 * devicePixelRatio);
    }
  });
  ctx.restore();
};

const timePanel = (panel, section, page, clocks, state) => {
  const readout = o9.el("div", { class: "readout" });
  const last = (values) => values.findLast((value) => value != null);
  const ends = panel.lines.map((line) => `${page.groups[line.group]}, seed ${line.seed}: ends at ${o9.shown(last(line.values), panel.unit)}`);
  const host = o9.el("div", { class: "plot", role: "img", "aria-label": `${panel.title} over time. ${ends.join("; ")}` });
  const figure = o9.el("figure", {}, o9.el("h4", {}, panel.title, o9.el("span", { class: "unit" }, panel.title === panel.metric ? panel.unit : `${panel.metric}${panel.unit ? ", " + panel.unit : ""}`)), readout, host);
  // Values at the pointer: the last reading of each line before it.
  const read = (seconds) => {
    readout.replaceChildren(...(seconds == null ? [] : [o9.time(seconds), ...page.groups.flatMap((name, group) => {
      const values = panel.lines.filter((line) => line.group === group).map((line) => {
        const at = o9.before(clocks[line.clock], seconds);
        return o9.shown(at < 0 ? null : line.values[at], panel.unit);
      });
      return values.length ? ["  ", o9.swatch(group), values.join(" / ")] : [];
    })].map((part) => (typeof part === "string" ? part.replace(/^ {2}$/, "\u2003") : part))));
  };
  const data = uPlot.join(panel.lines.map((line) => [clocks[line.clock], line.values]));
  const options = {
    cursor: { sync: { key: state.sync.key, scales: ["x", null] }, drag: { x: true, y: false }, points: { show: false } },
    scales: { x: { time: false, range: (plot, min, max) => (min == null ? state.span : [min, max]) }, y: { range: (plot, min, max) => extent(min, max) } },
    series: [{}, ...panel.lines.map((line) => panel.dots
      ? { group: line.group, paths: () => null, points: { show: true, size: 3 } }
      : { group: line.group, width: 1.4, spanGaps: true, points: { show: false } })],
    axes: [
      { values: (plot, splits) => splits.map((value) => (value == null ? "" : timeLabel(value, state.span[1]))), size: 30 },
      { size: 64, values: (plot, splits) => splits.map((value) => o9.shown(value, panel.unit, 3)), space: 34 },
    ],
    hooks: {
      drawClear: [(plot) => shade(plot, section, state)],
      setCursor: [(plot) => read(plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : null)],
      setSelect: [(plot) => {
        if (plot.select.width > 3) zoom(state, [plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x")]);
      }],
    },
  };
  o9.lazy.add(host, () => {
    const chart = o9.chart(host, { options, data, height: 150 });
    state.charts.push(chart);
    host.addEventListener("dblclick", () => zoom(state, state.span));
  });
  return figure;
};

// Axes of amounts begin at 0.
const extent = (min, max) => {
  if (min == null) return [0, 1];
  const low = Math.min(0, min);
  return [low, max > low ? max + (max - low) * 0.06 : low + 1];
};

const timeLabel = (seconds, whole) =>
  whole >= 10800 ? digits(seconds / 3600, 3) + " h" : whole < 2 ? o9.shown(seconds, "s", 3) : digits(seconds, 4) + " s";

// Counters without a panel, each shown on request.
const picker = (panels, section, page, clocks, state) => {
  const shown = o9.el("div", { class: "grid" });
  const list = o9.el("datalist", { id: "counters" }, ...panels.map((panel) => o9.el("option", { value: panel.title })));
  const input = o9.el("input", { type: "search", list: "counters", size: 40, placeholder: "a counter, such as " + panels[0].title, "aria-label": "another counter" });
  const add = () => {
    const panel = panels.find((panel) => panel.title === input.value.trim());
    if (!panel) return;
    shown.append(timePanel(panel, section, page, clocks, state));
    input.value = "";
  };
  input.addEventListener("change", add);
  return [o9.el("h3", {}, `Other counters (${panels.length} changed)`), list, o9.el("div", { class: "bar" }, input), shown];
};
