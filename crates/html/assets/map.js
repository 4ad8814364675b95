"use strict";
// The map of memory: a cell for each pageblock of 2 MiB on a canvas, over time, for one run, two side by side, or their
// difference. Zoomed out, a cell stands for several pageblocks and shows each look as often as it occurs.

o9.sections.maps = {
  title: "Memory map",
  draw(section, page) {
    const view = new MapView(section, page);
    view.begin();
    return view.parts;
  },
};

// Cells above which the map begins in tiles.
const CELLS_MAX = 100000;
// Side of a cell in pixels of the page from which on there is a gap between two.
const GAP_FROM = 5;

class MapView {
  constructor(section, page) {
    this.section = section;
    this.page = page;
    this.opened = new Map();
    const two = section.series.length > 1;
    this.left = 0;
    // The first run of another policy, or else the next one.
    const policy = (one) => one.name.split(", seed")[0];
    const other = section.series.findIndex((one) => policy(one) !== policy(section.series[0]));
    this.right = two ? Math.max(other, 1) : 0;
    this.mode = two ? "two" : "one";
    this.at = 0;
    this.cursor = null;
    this.times = [...new Set(section.series.flatMap((series) => series.times))].sort((a, b) => a - b);
    this.build();
  }

  build() {
    const { section, page } = this;
    const { el } = o9;
    const several = section.series.length > 1;
    const select = (label, now, change) => el("label", {}, label, el("select", { onchange: (event) => { change(Number(event.target.value)); this.update(); } },
      ...section.series.map((series, at) => el("option", { value: at, selected: at === now }, series.name))));
    this.slider = el("input", { type: "range", min: 0, max: this.times.length - 1, value: 0, step: 1, "aria-label": "time of the map", style: "flex: 1; min-width: 12rem" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.clock = el("output", { class: "clock" });
    this.player = el("button", { type: "button", title: "key: space", onclick: () => this.play() }, "Play");
    const step = (label, by, key) => el("button", { type: "button", title: `key: ${key}`, onclick: () => this.go(this.at + by) }, label);
    const modes = [["one", "One"], ["two", "Side by side"], ["difference", "Difference"]].map(([mode, label]) => {
      const button = el("button", { type: "button", "data-mode": mode, onclick: () => { this.mode = mode; this.update(); } }, label);
      return button;
    });
    this.modes = modes;
    this.canvases = [0, 1].map((side) => new MapCanvas(this, side));
    this.hover = el("div", { class: "hover readout", role: "status" }, "Point at a cell to see what it holds; drag to move, turn the wheel or press + and - to zoom.");
    this.legend = el("div", { class: "maplegend" });
    this.words = el("div");
    this.marks = el("button", { type: "button", "aria-pressed": "true", onclick: () => { this.showMarks = !this.showMarks; this.marks.setAttribute("aria-pressed", this.showMarks); this.update(); } }, "Events of fragmentation");
    this.showMarks = true;
    const hasMarks = section.series.some((series) => series.fallbacks.length);
    const keys = el("div", { class: "maps-keys", tabindex: 0, role: "group", "aria-label": "map of memory: left and right arrow step, space plays, plus and minus zoom, 0 shows all",
      onkeydown: (event) => this.key(event) },
      el("div", { class: "canvases" }, ...this.canvases.map((canvas) => canvas.figure)));
    const timed = this.times.length > 1;
    this.parts = [
      several ? el("div", { class: "bar" }, select("map of", this.left, (at) => (this.left = at)), ...modes,
        (this.second = select("and", this.right, (at) => (this.right = at)))) : null,
      timed ? el("div", { class: "bar" }, this.player, step("◀", -1, "left"), step("▶", 1, "right"), this.slider, this.clock, hasMarks ? this.marks : null) : null,
      el("div", { class: "bar" }, el("button", { type: "button", title: "key: +", onclick: () => this.zoom(1.6) }, "+"), el("button", { type: "button", title: "key: -", onclick: () => this.zoom(1 / 1.6) }, "−"),
        el("button", { type: "button", title: "key: 0", onclick: () => this.fit() }, "All of it"), this.hover),
      keys, this.legend, this.words,
    ].filter(Boolean);
  }

  begin() {
    o9.lazy.add(this.parts[0], async () => {
      await this.update();
      o9.theme.redraws.push(() => this.paint());
    });
  }

  open(at) {
    if (!this.opened.has(at)) this.opened.set(at, o9.series(this.section.series[at]));
    return this.opened.get(at);
  }

  // The last map of a series at the chosen time, or its first.
  nth(series) { return Math.max(0, o9.before(series.times, this.times[this.at])); }

  async update() {
    const { section } = this;
    const sides = this.mode === "one" || section.series.length < 2 ? [this.left] : [this.left, this.right];
    const opened = await Promise.all(sides.map((side) => this.open(side)));
    const nths = sides.map((side) => this.nth(section.series[side]));
    const looks = opened.map((series, side) => series.looks(nths[side]));
    this.shown = sides.map((side, at) => ({ one: section.series[side], series: opened[at], nth: nths[at], looks: looks[at] }));
    if (this.mode === "difference" && this.shown.length > 1) {
      const [before, after] = this.shown;
      const same = before.looks.length === after.looks.length;
      const changed = after.looks.map((look, at) => (same && look === before.looks[at] ? SAME : look));
      this.canvases[0].show({ ...after, looks: changed, title: `${after.one.name}, where it differs from ${before.one.name}`, before });
      this.canvases[1].hide();
    } else {
      this.shown.forEach((shown, at) => this.canvases[at].show({ ...shown, title: shown.one.name }));
      if (this.shown.length < 2) this.canvases[1].hide();
    }
    this.modes.forEach((button) => button.setAttribute("aria-pressed", button.dataset.mode === this.mode));
    if (this.second) this.second.hidden = this.mode === "one";
    this.clock.textContent = o9.time(this.times[this.at]);
    this.describe();
    this.paint();
  }

  paint() { this.canvases.forEach((canvas) => canvas.paint()); }

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.times.length - 1);
    this.slider.value = this.at;
    return this.update();
  }

  play() {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    } else {
      if (this.at === this.times.length - 1) this.at = -1;
      this.timer = setInterval(() => (this.at < this.times.length - 1 ? this.go(this.at + 1) : this.play()), 150);
    }
    this.player.textContent = this.timer ? "Pause" : "Play";
  }

  key(event) {
    const act = { ArrowLeft: () => this.go(this.at - 1), ArrowRight: () => this.go(this.at + 1), " ": () => this.play(), "+": () => this.zoom(1.6), "=": () => this.zoom(1.6), "-": () => this.zoom(1 / 1.6), 0: () => this.fit() }[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  // Both canvases show the same part.
  zoom(factor, x, y) { this.canvases.forEach((canvas) => canvas.zoom(factor, x, y)); }
  move(dx, dy) { this.canvases.forEach((canvas) => canvas.move(dx, dy)); }
  fit() { this.canvases.forEach((canvas) => { canvas.fit(); canvas.paint(); }); }

  // Legend with the number of pageblocks of each look, which is also the map in words.
  describe() {
    const { looks } = this.section;
    const all = this.shown.map(({ one, nth }) => one.counts[nth]);
    const present = looks.map((look, at) => ({ ...look, at })).filter(({ at }) => at !== HOLE && this.section.series.some((one) => one.counts.some((counts) => counts[at])));
    const fill = (colour) => o9.el("span", { class: "cell", style: `background:${colour}` });
    const head = ["", ...this.shown.map(({ one }) => one.name)];
    const rows = present.map((look) => o9.el("tr", {}, o9.el("td", { class: "name" }, fill(look.colour), look.label), ...all.map((counts) => o9.el("td", {}, o9.grouped(counts[look.at])))));
    if (this.mode === "difference") rows.unshift(o9.el("tr", {}, o9.el("td", { class: "name" }, fill(o9.colour("same")), "the same in both"), o9.el("td", { colspan: 2 }, o9.grouped(this.canvases[0].shown.looks.reduce((sum, look) => sum + (look === SAME), 0)))));
    this.legend.replaceChildren(o9.el("table", {}, o9.el("caption", {}, this.times.length > 1 ? `Pageblocks of 2 MiB at ${o9.time(this.times[this.at])}` : "Pageblocks of 2 MiB"),
      o9.el("thead", {}, o9.el("tr", {}, ...head.map((text) => o9.el("th", { scope: "col" }, text)))), o9.el("tbody", {}, ...rows)));
  }

  // What the pointer is over.
  say(canvas, block) {
    if (block == null) return;
    const { series, nth, one, before } = canvas.shown;
    const zone = series.zones.findLast((zone) => zone.from <= block);
    const number = zone.first + block - zone.from;
    const name = one.zones[series.zones.indexOf(zone)];
    const tile = canvas.perCell();
    const pfn = (number) => "0x" + (number * 512).toString(16);
    if (tile > 1) {
      const from = block - (block - zone.from) % tile;
      const looks = canvas.shown.looks.subarray(from, Math.min(from + tile, zone.from + zone.blocks));
      const counts = new Map();
      looks.forEach((look) => counts.set(look, (counts.get(look) || 0) + 1));
      const words = [...counts].sort((a, b) => b[1] - a[1]).map(([look, count]) => `${o9.grouped(count)} ${look === SAME ? "the same" : this.section.looks[look].label}`);
      this.hover.textContent = `${name}, ${looks.length} pageblocks from pfn ${pfn(zone.first + from - zone.from)}: ${words.join(", ")}`;
    } else {
      this.hover.textContent = `${name}, pageblock ${o9.grouped(number)} (pfn ${pfn(number)}): ${this.holds(series, nth, block)}` +
        (before ? `; in ${before.one.name}: ${this.holds(before.series, before.nth, block)}` : "") + this.fallbacks(canvas.shown, number);
    }
    this.canvases.forEach((other) => other.point(block));
  }

  holds(series, nth, block) {
    const place = series.map(nth)[block];
    const { migratetype, frames } = series.block(place);
    const held = [...frames].sort((a, b) => b[1] - a[1]).map(([kind, count]) => `${count} ${this.section.classes[kind]}`);
    return `${this.section.looks[series.looksOf[place]].label} (${held.join(", ")}; type ${this.section.migratetypes[migratetype]})`;
  }

  fallbacks({ one }, number) {
    const found = one.fallbacks.filter((event) => event.block === number && event.at <= this.times[this.at]);
    if (!found.length) return "";
    const { migratetypes } = this.section;
    const last = found[found.length - 1];
    return `; ${found.length} events of fragmentation, the last at ${o9.time(last.at)}: order ${last.order}, ${migratetypes[last.wanted]} took from ${migratetypes[last.taken]}`;
  }
}

const [SAME, HOLE] = [255, 14];

// One canvas of the view. The map is a texture with a pixel for each cell, which the browser scales: zooming costs one drawing
// of an image, however large the machine is.
class MapCanvas {
  constructor(view, side) {
    this.view = view;
    this.canvas = o9.el("canvas", { role: "img" });
    this.title = o9.el("figcaption");
    this.figure = o9.el("figure", {}, this.title, this.canvas);
    this.figure.hidden = side > 0;
    this.frames = 0;
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.pointer(event));
    canvas.addEventListener("pointerdown", (event) => { this.dragged = [event.offsetX, event.offsetY]; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => (this.dragged = null));
    canvas.addEventListener("pointerleave", () => view.canvases.forEach((other) => other.point(null)));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); view.zoom(1.25 ** -Math.sign(event.deltaY), event.offsetX, event.offsetY); }, { passive: false });
    canvas.addEventListener("dblclick", () => view.fit());
    new ResizeObserver(() => { if (this.shown && canvas.clientWidth !== this.width) { this.width = 0; this.paint(); } }).observe(this.figure);
  }

  hide() { this.figure.hidden = true; this.shown = null; }

  show(shown) {
    const fresh = !this.shown || this.shown.series.total !== shown.series.total || this.figure.hidden;
    this.shown = shown;
    this.figure.hidden = false;
    this.title.textContent = shown.title;
    this.textures = new Map();
    if (fresh) this.width = 0;
    const counts = shown.one.counts[shown.nth];
    const words = this.view.section.looks.map((look, at) => [counts[at], look.label]).filter(([count]) => count).map(([count, label]) => `${count} ${label}`);
    this.canvas.setAttribute("aria-label", `Memory map of ${shown.title}: ${words.join(", ")}. The table below has the numbers.`);
  }

  // Columns and rows of the layout: zones below each other, each from a row of its own.
  layout() {
    const { series } = this.shown;
    const columns = Math.max(16, Math.min(2048, 2 ** Math.round(Math.log2(Math.sqrt(series.total * 2.2)))));
    let row = 0;
    const zones = series.zones.filter((zone) => zone.blocks).map((zone) => {
      const lead = zone.first % columns;
      const rows = Math.ceil((lead + zone.blocks) / columns);
      const placed = { zone, row, lead, rows };
      row += rows + Math.max(1, Math.round(columns / 90));
      return placed;
    });
    this.columns = columns;
    this.rows = row - Math.max(1, Math.round(columns / 90));
    this.zones = zones;
  }

  fit() {
    this.scale = this.least();
    this.x = this.y = 0;
  }

  least() { return Math.min(this.width / this.columns, this.height / this.rows); }

  // Pageblocks in a cell: as many as keep the number of cells small, and one where single ones can be seen.
  perCell() {
    const cells = this.width * this.height / this.scale ** 2;
    let per = 1;
    while (Math.min(this.shown.series.total, cells) / per > CELLS_MAX) per *= 2;
    return per;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    if (!this.shown) return;
    const scale = Math.min(Math.max(this.scale * factor, this.least()), 40);
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.paint();
  }

  move(dx, dy) {
    if (!this.shown) return;
    this.x += dx;
    this.y += dy;
    this.paint();
  }

  // Draws at the next frame, once.
  paint() {
    if (!this.shown || this.asked) return;
    this.asked = requestAnimationFrame(() => { this.asked = null; if (this.shown) this.draw(); });
  }

  resize() {
    this.width = Math.max(240, this.figure.clientWidth);
    this.layout();
    const natural = this.width * this.rows / this.columns;
    this.height = Math.round(Math.min(Math.max(natural, 60), 620));
    const ratio = devicePixelRatio;
    [this.canvas.width, this.canvas.height] = [this.width * ratio, this.height * ratio];
    this.canvas.style.height = this.height + "px";
    this.fit();
  }

  draw() {
    if (!this.width) this.resize();
    this.frames++;
    const { scale, canvas } = this;
    const [width, height] = [this.columns * scale, this.rows * scale];
    this.x = width <= this.width ? 0 : Math.min(0, Math.max(this.x, this.width - width));
    this.y = height <= this.height ? 0 : Math.min(0, Math.max(this.y, this.height - height));
    const ctx = canvas.getContext("2d", { alpha: false });
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.fillStyle = o9.colour("map");
    ctx.fillRect(0, 0, this.width, this.height);
    ctx.imageSmoothingEnabled = false;
    const per = this.perCell();
    for (const { zone, row, rows } of this.zones) {
      const top = this.y + row * scale;
      if (top > this.height || top + rows * scale < 0) continue;
      // Only what is seen, in whole pixels of the texture.
      const [left, right] = [Math.max(0, Math.floor(-this.x / scale)), Math.min(this.columns, Math.ceil((this.width - this.x) / scale))];
      const [first, last] = [Math.max(0, Math.floor(-top / scale)), Math.min(rows, Math.ceil((this.height - top) / scale))];
      ctx.drawImage(this.texture(zone, per), left, first, right - left, last - first, this.x + left * scale, top + first * scale, (right - left) * scale, (last - first) * scale);
    }
    if (scale >= GAP_FROM && per === 1) this.grid(ctx);
    if (this.view.showMarks) this.drawMarks(ctx);
    if (this.cursor != null) this.drawCursor(ctx);
  }

  // Thin lines between cells.
  grid(ctx) {
    const { scale, x, y } = this;
    ctx.fillStyle = o9.colour("map");
    for (let column = Math.max(0, Math.floor(-x / scale)); column * scale + x < this.width && column <= this.columns; column++) ctx.fillRect(x + column * scale - 0.5, 0, 1, this.height);
    for (let row = Math.max(0, Math.floor(-y / scale)); row * scale + y < this.height && row <= this.rows; row++) ctx.fillRect(0, y + row * scale - 0.5, this.width, 1);
  }

  // A pixel for each cell of a zone. A cell of several pageblocks shows the look that is owed most: error diffusion, as in
  // `order9 inspect`, so that a rare look gets its share of the cells.
  texture(zone, per) {
    const key = `${zone.from}/${per}`;
    if (this.textures.has(key)) return this.textures.get(key);
    const { columns } = this;
    const { lead, rows } = this.zones.find((placed) => placed.zone === zone);
    const colours = this.colours();
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const looks = this.shown.looks;
    if (per === 1) {
      for (let at = 0; at < zone.blocks; at++) pixels[lead + at] = colours[looks[zone.from + at]];
    } else {
      const owed = new Int32Array(256);
      for (let at = 0; at < zone.blocks; at += per) {
        const end = Math.min(at + per, zone.blocks);
        for (let block = at; block < end; block++) owed[looks[zone.from + block]]++;
        let most = SAME;
        for (let look = 0; look <= HOLE; look++) if (owed[look] >= owed[most]) most = look;
        owed[most] -= end - at;
        pixels.fill(colours[most], lead + at, lead + end);
      }
    }
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.textures.set(key, canvas);
    return canvas;
  }

  colours() {
    const colours = new Uint32Array(256);
    const packed = (text) => {
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
      return (255 << 24) | (blue << 16) | (green << 8) | red;
    };
    this.view.section.looks.forEach((look, at) => (colours[at] = at === HOLE ? 0 : packed(look.colour)));
    colours[SAME] = packed(o9.colour("same"));
    return colours;
  }

  // Place of a pageblock: column and row.
  place(block) {
    const { zone, row, lead } = this.zones.findLast((placed) => placed.zone.from <= block);
    const at = lead + block - zone.from;
    return [at % this.columns, row + Math.floor(at / this.columns)];
  }

  // Events of fragmentation since the map before: rings around their pageblocks.
  drawMarks(ctx) {
    const { one, series, nth } = this.shown;
    const [from, to] = [nth ? one.times[nth - 1] : -1, one.times[nth]];
    ctx.strokeStyle = "#ffffff";
    ctx.lineWidth = 1.5;
    for (const event of one.fallbacks) {
      if (event.at <= from || event.at > to) continue;
      const zone = series.zones.find((zone) => zone.first <= event.block && event.block < zone.first + zone.blocks);
      if (!zone) continue;
      const [column, row] = this.place(zone.from + event.block - zone.first);
      ctx.beginPath();
      ctx.arc(this.x + (column + 0.5) * this.scale, this.y + (row + 0.5) * this.scale, Math.max(this.scale * 0.6, 4), 0, 7);
      ctx.stroke();
    }
  }

  drawCursor(ctx) {
    const [column, row] = this.place(this.cursor);
    ctx.strokeStyle = "#ffffff";
    ctx.lineWidth = 2;
    const size = Math.max(this.scale, 4);
    ctx.strokeRect(this.x + column * this.scale - 1, this.y + row * this.scale - 1, size + 2, size + 2);
  }

  point(block) {
    if (this.cursor === block) return;
    this.cursor = block;
    this.paint();
  }

  // The pageblock at a place of the canvas.
  blockAt(x, y) {
    const [column, row] = [Math.floor((x - this.x) / this.scale), Math.floor((y - this.y) / this.scale)];
    const placed = this.zones.findLast((placed) => placed.row <= row);
    if (!placed || column < 0 || column >= this.columns) return null;
    const at = (row - placed.row) * this.columns + column - placed.lead;
    return at >= 0 && at < placed.zone.blocks ? placed.zone.from + at : null;
  }

  pointer(event) {
    if (!this.shown) return;
    const { offsetX: x, offsetY: y } = event;
    if (this.dragged && event.buttons) {
      this.view.move(x - this.dragged[0], y - this.dragged[1]);
      this.dragged = [x, y];
    } else {
      this.view.say(this, this.blockAt(x, y));
    }
  }
}
