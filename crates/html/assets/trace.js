"use strict";
// Timelines: handed to a window of the Perfetto UI, or saved.

o9.PERFETTO = "https://ui.perfetto.dev";

// Opens the UI and posts the trace to it once it answers. The UI answers PONG to PING when it is ready.
o9.openInPerfetto = async (trace, say) => {
  const opened = window.open(o9.PERFETTO);
  if (!opened) return say("The browser did not open a window: allow it to, or save the trace.");
  say("Waiting for ui.perfetto.dev …");
  const bytes = await o9.open(`blob-${trace.blob}`);
  const asks = setInterval(() => opened.postMessage("PING", o9.PERFETTO), 50);
  const patience = setTimeout(() => end("ui.perfetto.dev does not answer: save the trace, and open the file there."), 30000);
  const end = (words) => {
    clearInterval(asks);
    clearTimeout(patience);
    removeEventListener("message", hear);
    say(words);
  };
  const hear = (event) => {
    if (event.origin !== o9.PERFETTO || event.data !== "PONG") return;
    opened.postMessage({ perfetto: { buffer: bytes.buffer, title: trace.name, fileName: trace.file } }, o9.PERFETTO);
    end("The trace is in the other window.");
  };
  addEventListener("message", hear);
};

o9.save = async (trace) => {
  const url = URL.createObjectURL(new Blob([await o9.open(`blob-${trace.blob}`)]));
  o9.el("a", { href: url, download: trace.file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};

o9.sections.traces = {
  title: "Timeline in Perfetto",
  draw: (section) => [
    o9.el("p", { class: "dim" }, "Phases, tasks on CPUs, compaction, operations and counters along the time. The button opens ui.perfetto.dev and hands the trace to that window; the trace stays in this browser."),
    ...section.traces.map((trace) => {
      const said = o9.el("span", { class: "dim", role: "status" });
      const say = (words) => { said.textContent = words; };
      return o9.el("div", { class: "bar" },
        o9.el("span", {}, `${trace.name} (${o9.shown(trace.bytes, "bytes", 3)})`),
        o9.el("button", { type: "button", class: "perfetto", onclick: () => o9.openInPerfetto(trace, say) }, "Open in Perfetto"),
        o9.el("button", { type: "button", onclick: () => o9.save(trace) }, "Save the trace"), said);
    }),
  ],
};
