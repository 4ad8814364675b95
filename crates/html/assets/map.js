"use strict";
// The map of memory: a cell for each pageblock of 2 MiB, over time, for one run, two side by side, or their difference.

o9.sections.maps = {
  title: "Memory map",
  draw(section, page) {
    const view = new MapView(section, page);
    view.begin();
    return view.parts;
  },
};

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
    // Opening takes a moment, which printing does not wait for.
    requestIdleCallback(() => o9.lazy.make(this.parts[0]), { timeout: 2000 });
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
