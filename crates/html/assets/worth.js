"use strict";
// Bars for what each switch of an ablation is worth.

o9.sections.worth = {
  title: "Worth of switches",
  draw(section) {
    const host = o9.el("div");
    const show = (at) => host.replaceChildren(...worth(section.quantities[at]));
    show(0);
    const select = o9.el("select", { onchange: (event) => show(Number(event.target.value)) },
      ...section.quantities.map((quantity, at) => o9.el("option", { value: at }, quantity.name)));
    return [o9.el("p", { class: "dim" }, "Each bar is the mean change over seeds, in percent; the line over it reaches from the smallest to the largest."),
      o9.el("div", { class: "bar" }, o9.el("label", {}, "change of", select)), host];
  },
};

const worth = (quantity) => {
  const mean = (changes) => changes.reduce((sum, change) => sum + change, 0) / changes.length;
  const shown = quantity.switches.filter(({ changes }) => changes.flat().some((change) => change !== 0));
  const idle = quantity.switches.filter((one) => !shown.includes(one)).map(({ name }) => name);
  const all = shown.flatMap(({ changes }) => changes.flat());
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const [names, width, row] = [330, 1100, 30];
  const x = (change) => names + 20 + (change - low) / (high - low || 1) * (width - names - 90);
  const svg = (tag, set, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(set)) element.setAttribute(name, value);
    if (text != null) element.textContent = text;
    return element;
  };
  const height = shown.length * row + 10;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "worth", "aria-label": `Change of ${quantity.name} by each switch; the table below has the numbers` });
  picture.append(svg("line", { x1: x(0), x2: x(0), y1: 0, y2: height, class: "zero" }));
  const percent = (change) => change === 0 ? "0" : Math.abs(change) < 0.05 ? "~0 %" : (change > 0 ? "+" : "") + change.toFixed(Math.abs(change) < 9.95 ? 1 : 0) + " %";
  shown.forEach(({ name, changes }, at) => {
    picture.append(svg("text", { x: names, y: at * row + 19, "text-anchor": "end", class: "switch" }, name));
    changes.forEach((own, kind) => {
      if (!own.length) return;
      const [change, y] = [mean(own), at * row + 4 + kind * 11];
      const bar = svg("rect", { x: Math.min(x(0), x(change)), y, width: Math.max(Math.abs(x(change) - x(0)), 1), height: 9, class: `kind-${kind}` });
      bar.append(svg("title", {}, `${name}, ${quantity.kinds[kind]}: ${percent(change)} (${own.map(percent).join(", ")})`));
      picture.append(bar);
      if (own.length > 1) picture.append(svg("line", { x1: x(Math.min(...own)), x2: x(Math.max(...own)), y1: y + 4.5, y2: y + 4.5, class: "spread" }));
      picture.append(svg("text", { x: Math.max(x(0), x(Math.max(...own))) + 5, y: y + 8, class: "change" }, percent(change)));
    });
  });
  const words = (changes) => (changes.length ? percent(mean(changes)) : "–");
  return [
    o9.el("p", {}, quantity.subtitle), o9.el("div", { class: "legend" }, ...quantity.kinds.map((kind, at) => o9.el("span", {}, o9.swatch(at), kind))),
    shown.length ? picture : o9.el("p", {}, "No switch changes it."),
    idle.length ? o9.el("p", { class: "dim" }, `No change with or without: ${idle.join(", ")}.`) : null,
    o9.inWords("The changes as a table", ["switch", ...quantity.kinds], quantity.switches.map(({ name, changes }) => [name, ...changes.map(words)])),
  ].filter(Boolean);
};
