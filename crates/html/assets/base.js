"use strict";
// What all parts of the page share: elements, packed data, numbers, colours, and the copying of text.
const o9 = { sections: {} };

// An element with attributes and children; text is never read as HTML.
o9.el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
};

// The bytes that the page holds under this id.
o9.open = async (id) => {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

o9.grouped = (number) => {
  const [whole, rest] = String(number).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
};

const digits = (value, count) => {
  const text = value.toPrecision(count);
  return o9.grouped(text.includes("e") ? Number(text) : text.includes(".") ? text.replace(/\.?0+$/, "") : Number(text));
};

const scaled = (value, steps, count) => {
  const step = steps.find(([size]) => Math.abs(value) >= size * 0.99995) || steps[steps.length - 1];
  return digits(value / step[0], count) + step[1];
};

const TIMES = [[3600, " h"], [60, " min"], [1, " s"], [1e-3, " ms"], [1e-6, " µs"], [1e-9, " ns"]];
const BYTES = [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]];
const COUNTS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

// A value as people read it, with its unit.
o9.shown = (value, unit, count = 4) => {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0" + (unit === "%" ? " %" : "");
  const [noun, per] = unit.endsWith("/s") ? [unit.slice(0, -2), "/s"] : [unit, ""];
  if (noun === "s" && !per) return scaled(value, TIMES.slice(value < 120 ? 2 : 1), count);
  if (noun === "bytes") return scaled(value, BYTES, count) + per;
  if (noun === "%") return digits(value, Math.min(count, 3)) + " %";
  const text = Math.abs(value) >= 1e5 || count < 4 ? scaled(value, COUNTS, count) : digits(value, count);
  return text + (count < 4 ? "" : (noun && noun !== "ratio" ? " " + noun.replace("x2MiB", "× 2 MiB") : "") + per);
};

o9.time = (seconds) => {
  if (seconds >= 7200) return digits(seconds / 3600, 4) + " h";
  if (seconds >= 1) return seconds.toFixed(3) + " s";
  return o9.shown(seconds, "s");
};

// Colour of a name of the style sheet, as it is now.
o9.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// Lines of groups differ in colour and in dashes: the latter for eyes and printers that do not see the former.
o9.DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4], [4, 2]];
o9.stroke = (group) => o9.colour("group-" + (group % 6));

o9.swatch = (group) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const set = { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 3, "stroke-dasharray": o9.DASHES[group % 6].join(" ") };
  for (const [name, value] of Object.entries(set)) line.setAttribute(name, value);
  line.style.stroke = `var(--group-${group % 6})`;
  svg.append(line);
  return svg;
};

o9.legend = (groups) =>
  o9.el("div", { class: "legend" }, ...groups.map((name, group) => o9.el("span", {}, o9.swatch(group), name)));

// A button that copies what `text` gives.
o9.copier = (label, text) => {
  const button = o9.el("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    await o9.copy(text());
    button.textContent = "copied";
    setTimeout(() => (button.textContent = label), 1200);
  });
  return button;
};

o9.copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = o9.el("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
};

// A table of texts below a line that opens it: the words for a picture.
o9.inWords = (title, head, rows) =>
  o9.el("details", {}, o9.el("summary", {}, title),
    o9.el("div", { class: "scroll" }, o9.el("table", {},
      o9.el("thead", {}, o9.el("tr", {}, ...head.map((text) => o9.el("th", { scope: "col" }, text)))),
      o9.el("tbody", {}, ...rows.map((row) => o9.el("tr", {}, ...row.map((text) => o9.el("td", {}, String(text)))))))));

// Light or dark: as the reader's system is, unless chosen here. Paper is light.
o9.theme = {
  redraws: [],
  chosen: null,
  now() { return this.chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"); },
  apply(theme = this.now()) {
    document.documentElement.dataset.theme = theme;
    this.redraws.forEach((redraw) => redraw());
  },
  begin() {
    this.apply();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.apply());
    addEventListener("beforeprint", () => { o9.lazy.all(); this.apply("light"); });
    addEventListener("afterprint", () => this.apply());
  },
};

// Makes pictures when they come near the window.
o9.lazy = {
  waiting: new Map(),
  seer: new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) o9.lazy.make(entry.target);
  }, { rootMargin: "400px" }),
  add(element, make) { this.waiting.set(element, make); this.seer.observe(element); },
  make(element) {
    const make = this.waiting.get(element);
    this.waiting.delete(element);
    this.seer.unobserve(element);
    if (make) make();
  },
  all() { [...this.waiting.keys()].forEach((element) => this.make(element)); },
};
