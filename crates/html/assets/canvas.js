"use strict";
// A canvas with a map of memory: layout, zoom, drawing, and what is under the pointer.

// Cells above which a cell stands for several pageblocks.
const CELLS_MAX = 100000;
// Side of a cell in pixels of the page from which on there is a gap between two.
const GAP_FROM = 5;
// Places of looks: of a pageblock that does not differ, and of one without memory.
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
    // Between a map and its first drawing there are no places yet.
    if (!this.shown || !this.width) return;
    const { offsetX: x, offsetY: y } = event;
    if (this.dragged && event.buttons) {
      this.view.move(x - this.dragged[0], y - this.dragged[1]);
      this.dragged = [x, y];
    } else {
      this.view.say(this, this.blockAt(x, y));
    }
  }
}
