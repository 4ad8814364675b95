"use strict";
// Distributions of latencies: the share of samples that are at most so long, on a logarithmic axis.

const PERCENTILES = ["p5", "p25", "p50", "p90", "p99", "p99.9", "most"];

o9.sections.latency = {
  title: "Latency",
  draw(section, page) {
    const numbers = [...new Set(section.operations.map((operation) => operation.number).filter((number) => number != null))].sort((a, b) => a - b);
    const grid = o9.el("div", { class: "grid" });
    const state = { number: numbers[0], tail: false };
    const fill = () => {
      const shown = section.operations.filter((operation) => operation.number == null || operation.number === state.number);
      shown.sort((one, other) => one.family.startsWith("fault") === other.family.startsWith("fault") ? 0 : one.family.startsWith("fault") ? -1 : 1);
      grid.replaceChildren(...shown.map((operation) => distribution(operation, page, state.tail)));
    };
    const bar = o9.el("div", { class: "bar" }, o9.legend(page.groups));
    if (numbers.length > 1) {
      const select = o9.el("select", { onchange: (event) => { state.number = Number(event.target.value); fill(); } },
        ...numbers.map((number) => o9.el("option", { value: number }, number)));
      bar.append(o9.el("label", {}, "number in the name, such as threads", select));
    }
    const tail = o9.el("button", { type: "button", "aria-pressed": "false", onclick: () => {
      state.tail = !state.tail;
      tail.setAttribute("aria-pressed", state.tail);
      fill();
    } }, "Stretch the tail");
    bar.append(tail);
    fill();
    return [
      o9.el("p", { class: "dim" }, "Thick lines are all runs of a policy together, thin ones single seeds. The pointer reads both ways: the share of samples up to its time, and the time of its percentile."),
      ...section.notes.map((note) => o9.el("p", { class: "note" }, note)), bar, grid,
    ];
  },
};

// Share from 0 to 1 to its place on the axis: percent, or the number of nines.
const place = (share, tail) => (tail ? -Math.log10(Math.max(1 - share, 1e-5)) : share * 100);
const shareAt = (y, tail) => (tail ? 1 - 10 ** -y : y / 100);

const distribution = (operation, page, tail) => {
  const count = operation.curves[0].steps.length;
  const ratio = Math.log(operation.high / operation.low) / (count - 1);
  const xs = Array.from({ length: count }, (_, at) => operation.low * Math.exp(at * ratio));
  const curves = operation.curves.map((curve) => {
    let sum = 0;
    return { ...curve, shares: curve.steps.map((step) => (sum += step) / curve.samples) };
  });
  const readings = new Map();
  const host = o9.el("div", { class: "plot tall", role: "img", "aria-label": `${operation.name}: distribution of latencies; the table below has its percentiles` });
  const figure = o9.el("figure", {}, o9.el("h4", {}, operation.name, o9.el("span", { class: "unit" }, "% of samples at most so long")), host,
    percentiles(operation, curves, page, readings));
  const top = place(1, tail);
  const options = {
    cursor: { drag: { x: true, y: false }, points: { show: false } },
    scales: { x: { time: false, distr: 3, range: (plot, min, max) => (min == null ? [operation.low, operation.high] : [min, max]) }, y: { range: [0, tail ? 5 : 100] } },
    series: [{}, ...curves.map((curve) => ({ group: curve.group, pale: curve.seed != null, width: curve.seed == null ? 2 : 1, points: { show: false } }))],
    axes: [
      { splits: (plot, axis, min, max) => decades(min, max), filter: (plot, splits) => splits, values: (plot, splits) => splits.map((value) => o9.shown(value, "s", 3)) },
      tail ? { size: 52, splits: () => [0, 1, 2, 3, 4, 5], values: () => ["0", "90", "99", "99.9", "99.99", "all"] }
        : { size: 44, splits: () => [0, 25, 50, 75, 100] },
    ],
    hooks: { setCursor: [(plot) => read(plot)] },
  };
  const read = (plot) => {
    const { left, top: y } = plot.cursor;
    if (left == null || left < 0) return readings.forEach((cells) => cells.forEach((cell) => (cell.textContent = "")));
    const [x, share] = [plot.posToVal(left, "x"), Math.min(Math.max(shareAt(plot.posToVal(y, "y"), tail), 0), 1)];
    for (const [curve, [below, at]] of readings) {
      const step = o9.before(xs, x);
      below.textContent = `${digits(100 * (step < 0 ? 0 : curve.shares[step]), 4)} % ≤ ${o9.shown(x, "s", 3)}`;
      const reached = curve.shares.findIndex((reached) => reached >= share - 1e-9);
      at.textContent = `p${digits(100 * share, tail ? 5 : 3)} = ${o9.shown(xs[reached], "s", 3)}`;
    }
  };
  const data = [xs, ...curves.map((curve) => curve.shares.map((share) => Math.min(place(share, tail), top)))];
  o9.lazy.add(host, () => o9.chart(host, { options, data, height: 250 }));
  return figure;
};

// Ticks of a logarithmic axis: as many steps of each decade as have room.
const decades = (min, max) => {
  const span = Math.log10(max / min);
  if (span < 0.5) {
    const rough = (max - min) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
    const first = Math.ceil(min / step);
    return Array.from({ length: Math.floor(max / step) - first + 1 }, (_, at) => (first + at) * step);
  }
  const steps = span > 2.5 ? (span > 7 ? [1] : [1, 3]) : span > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const splits = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++)
    for (const step of steps) if (step * 10 ** power >= min && step * 10 ** power <= max) splits.push(step * 10 ** power);
  return splits.filter((_, at) => splits.length < 12 || at % Math.ceil(splits.length / 11) === 0);
};

// Percentiles of each policy, and what the pointer reads.
const percentiles = (operation, curves, page, readings) => {
  const rows = curves.filter((curve) => curve.seed == null).map((curve) => {
    const [below, at] = [o9.el("td", { class: "reading" }), o9.el("td", { class: "reading" })];
    readings.set(curve, [below, at]);
    return [
      o9.el("tr", {}, o9.el("td", {}, o9.swatch(curve.group), page.groups[curve.group]), o9.el("td", {}, o9.grouped(curve.samples)),
        ...curve.percentiles.map((value) => o9.el("td", {}, o9.shown(value, "s", 3)))),
      o9.el("tr", { class: "pointer" }, o9.el("td", { class: "dim" }, "at the pointer"), below, o9.el("td", {}, ""), Object.assign(at, { colSpan: 6 })),
    ];
  });
  rows.forEach(([, pointer]) => { pointer.children[1].colSpan = 2; pointer.children[2].remove(); });
  return o9.el("div", { class: "scroll" }, o9.el("table", { class: "percentiles" },
    o9.el("thead", {}, o9.el("tr", {}, ...["", "samples", ...PERCENTILES].map((text) => o9.el("th", { scope: "col" }, text)))),
    o9.el("tbody", {}, ...rows.flat())));
};
