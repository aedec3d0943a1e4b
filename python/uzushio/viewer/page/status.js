/** State of the links: page to gateway, and gateway to the stream. */

import { byId, make } from "./dom.js";
import { CODECS } from "./frames.js";
import { duration, short } from "./numbers.js";
import { showSymbols } from "./symbols.js";

const WORDS = {
  connecting: "Connecting", lost: "Connection lost", refused: "Not admitted", ended: "Viewer ended",
  waiting: "Waiting", live: "Live", paused: "Paused", stream_lost: "Run not reachable",
  stream_ended: "Run ended", stored: "Stored steps",
};

/** Figures of the link, in their order; those that are not known are not shown. */
const FIGURES = [
  "Stream", "Newest step", "Age of the step", "Steps received", "Steps dropped", "Solver’s wait",
  "Solver’s step", "Time left", "Pictures", "Picture", "Reading, drawing", "Compositing, encoding",
];

/** Status of the page. */
export class StatusLine {
  #store;
  #connection;
  #frames;
  #received = 0;
  #figures = new Map(FIGURES.map((name) => [name, make("dd")]));

  constructor(store, connection, frames) {
    this.#store = store;
    this.#connection = connection;
    this.#frames = frames;
    byId("figures").append(...FIGURES.map((name) =>
      make("div", { hidden: true }, make("dt", {}, name), this.#figures.get(name))));
    store.on("status view hello", () => this.update());
    store.on("status", () => {
      this.#received = performance.now();
      this.update();
    });
    store.on("description", () => {
      byId("title").title = store.description.title || "Live view";
      showSymbols(byId("title"), byId("title").title);
      document.title = `${store.description.title || "Live view"} – Uzushio`;
    });
    byId("notice").querySelector("button").addEventListener("click", () => connection.connect());
    setInterval(() => this.update(), 500);
  }

  /** Show the present state. */
  update() {
    const state = this.#state();
    const element = byId("link-state");
    element.dataset.state = state;
    if (element.textContent !== WORDS[state]) element.textContent = WORDS[state];
    document.body.classList.toggle("detached", this.#connection.state !== "open");
    for (const one of ["download", "save", "load"]) byId(one).disabled = this.#connection.state !== "open";
    byId("panel").inert = !this.#store.view;
    this.#showNotice(state);
    this.#showFigures();
  }

  #state() {
    if (this.#connection.state !== "open") return this.#connection.state;
    const { status, view } = this.#store;
    if (!status) return "waiting";
    if (status.state === "lost" || status.state === "ended") return `stream_${status.state}`;
    if (status.state === "live" && view && view.step !== null) return "paused";
    return status.state;
  }

  #showNotice(state) {
    const { text, next } = this.#connection;
    const streamText = this.#store.status?.text ?? "";
    const seconds = Math.max(0, Math.ceil((next - Date.now()) / 1000));
    const reason = text ? `${text}. ` : "";
    const notices = {
      connecting: this.#frames.shown ? null : ["Connecting …", ""],
      lost: this.#frames.shown
        ? ["The connection is lost.", `${reason}The page connects again in ${seconds} s and keeps the view.`]
        : ["There is no connection yet.", `${reason}The page tries again in ${seconds} s.`],
      refused: ["This page is not admitted.",
        text || "Open the address that the viewer has printed. `uzushio view --list` prints a new one."],
      ended: ["The viewer has ended.", text || ""],
      waiting: ["Waiting for the first step …", streamText],
      stream_lost: this.#frames.shown ? null : ["The run is not reachable.", streamText],
    };
    const waiting = !this.#frames.shown && ["live", "stored", "paused"].includes(state);
    const notice = waiting ? ["Waiting for the first picture …", ""] : notices[state];
    const box = byId("notice");
    box.hidden = !notice;
    if (!notice) return;
    const [title, body, button] = [box.querySelector("h2"), box.querySelector("p"), box.querySelector("button")];
    title.textContent = notice[0];
    body.textContent = notice[1];
    button.hidden = state !== "lost";
    box.classList.toggle("over", Boolean(this.#frames.shown));
  }

  #showFigures() {
    const { status } = this.#store;
    const { shown, rate } = this.#frames;
    const since = (performance.now() - this.#received) / 1000;
    const age = status?.age ?? null;
    const live = status?.state === "live";
    const stream = status?.state;
    this.#figure("Stream", status?.text || WORDS[`stream_${stream}`] || WORDS[stream] || "–");
    const last = status?.end_step ?? null;
    this.#figure("Newest step", `${status?.step ?? "–"}${last === null ? "" : ` of ${last}`}`);
    if (live) {
      this.#figure("Age of the step", duration(age === null ? null : age + since));
      this.#figure("Steps received", status.rate === null ? "–" : `${short(status.rate, 3)} /s`);
      this.#figure("Steps dropped", status.dropped ?? "–");
      this.#figure("Solver’s wait", status.wait === null ? "–" : `${duration(status.wait)} a step`);
      this.#figure("Solver’s step", duration(status.seconds_per_step));
      this.#figure("Time left", duration(status.time_left === null ? null : Math.max(0, status.time_left - since)));
    }
    this.#figure("Pictures", `${short(rate, 2)} /s`);
    if (!shown) return;
    const [read, draw, composite, encode] = shown.seconds;
    const kind = [`${shown.width} × ${shown.height}`, CODECS[shown.codec], ...(shown.final ? [] : ["reduced"])];
    this.#figure("Picture", kind.join(", "));
    this.#figure("Reading, drawing", `${duration(read)}, ${duration(draw)}`);
    this.#figure("Compositing, encoding", `${duration(composite)}, ${duration(encode)}`);
  }

  #figure(name, value) {
    const cell = this.#figures.get(name);
    cell.parentElement.hidden = false;
    if (cell.textContent !== String(value)) cell.textContent = value;
  }
}
