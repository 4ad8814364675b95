"use strict";
// Puts the page together: head, parts, and keys.

o9.sections.about = {
  title: "What was run",
  draw(section) {
    const parts = section.experiments.flatMap((experiment) => [
      o9.el("h3", {}, experiment.directory),
      o9.el("dl", { class: "facts" }, ...experiment.facts.flatMap(([name, value]) => [o9.el("dt", {}, name), o9.el("dd", {}, value)])),
      ...experiment.commands.map((command) => o9.el("pre", { class: "command" }, command)),
      o9.el("div", { class: "bar" }, o9.copier("Copy the command", () => experiment.commands[experiment.commands.length - 1])),
      o9.inWords("How every run ended", ["policy", "seed", "took", "end", "digest"],
        experiment.runs.map((run) => [run.policy, run.seed, run.elapsed, run.outcome, run.digest])),
      ...[...experiment.policies, experiment.machine].map((text) => o9.el("details", {},
        o9.el("summary", {}, text.about ? `${text.name} (${text.about})` : text.name), o9.el("pre", {}, text.text))),
    ]);
    if (section.notes.length) parts.push(o9.el("h3", {}, "Notes"), o9.el("ul", {}, ...section.notes.map((note) => o9.el("li", {}, note))));
    return parts;
  },
};

o9.sections.claims = {
  title: "Claims",
  draw(section) {
    const count = (verdict) => section.statements.filter((statement) => statement.verdict === verdict).length;
    return [
      o9.el("p", {}, section.headline), o9.el("p", { class: "dim" }, `${section.id}: ${section.source}. Baseline: ${section.kernels[0]}, patched kernel: ${section.kernels[1]}.`),
      o9.el("p", {}, `${count("holds")} hold, ${count("does not hold")} do not, ${count("not measured")} could not be measured.`),
      ...section.statements.map((statement) => o9.el("div", { class: "statement" },
        o9.el("span", { class: "tag " + ({ holds: "good", "does not hold": "bad" }[statement.verdict] || "dim") }, statement.verdict),
        statement.text, o9.el("span", { class: "dim" }, statement.note ? ` (${statement.note})` : ""),
        statement.evidence.length ? o9.el("details", {}, o9.el("summary", {}, "the numbers"), o9.el("pre", {}, statement.evidence.join("\n"))) : null)),
    ];
  },
};

o9.sections.text = {
  draw: (section) => [o9.el("div", { class: "bar" }, o9.copier("Copy as text", () => section.text)), o9.el("pre", {}, section.text)],
};

o9.begin = async () => {
  const main = document.getElementById("main");
  const page = JSON.parse(new TextDecoder().decode(await o9.open("data")));
  o9.page = page;
  const toggle = o9.el("button", { type: "button", title: "key: d", onclick: () => {
    o9.theme.chosen = o9.theme.now() === "dark" ? "light" : "dark";
    o9.theme.apply();
  } }, "Light / dark");
  document.getElementById("head").append(o9.el("div", {}, o9.el("h1", {}, page.title), o9.el("div", { class: "subtitle" }, page.subtitle)), toggle);
  o9.theme.begin();
  const parts = page.sections.map((section, at) => {
    const { title = section.title, draw } = o9.sections[section.kind];
    const heading = o9.el("h2", { id: `part-${at + 1}` }, title);
    const part = o9.el("section", { class: section.kind, "aria-labelledby": `part-${at + 1}` }, heading);
    return { title, part, draw: () => part.append(...draw(section, page).filter((child) => child != null)) };
  });
  document.getElementById("nav").append(o9.el("ul", {}, ...parts.map(({ title }, at) =>
    o9.el("li", {}, o9.el("a", { href: `#part-${at + 1}`, title: `key: ${at + 1}` }, title)))));
  main.replaceChildren(...parts.map(({ part }) => part));
  parts.forEach(({ draw }) => draw());
  // Keys: 1 to 9 go to the parts, d turns the lights on and off.
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "d") toggle.click();
    const part = parts[Number(event.key) - 1];
    if (part) part.part.scrollIntoView();
  });
  document.documentElement.dataset.ready = "yes";
};

o9.begin().catch((error) => {
  document.getElementById("main").replaceChildren(o9.el("p", { class: "bad" }, `This page cannot be opened: ${error.message}`));
  throw error;
});
