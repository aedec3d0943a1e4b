/** Movie of the pictures from now on: begin, state, download. */

import { row } from "./controls.js";
import { button, byId, make } from "./dom.js";
import { fileName } from "./files.js";
import { clamp, short } from "./numbers.js";

const DEFAULT_FPS = 25;

/** Show the controls; the length and the size are shown while the section is closed, too. */
export function makeRecordingPanel(store, send) {
  const every = make("select", { id: "record-every" },
    make("option", { value: "step" }, "each step"),
    make("option", { value: "time" }, "the screen, at a constant rate"));
  const fps = make("input", { type: "number", id: "record-fps", step: "any", min: 1, max: 60, value: DEFAULT_FPS });
  fps.addEventListener("change", () => (fps.value = clamp(Number(fps.value) || DEFAULT_FPS, 1, 60)));
  const state = make("p", { className: "hint", id: "record-state", role: "status" });
  const start = button("Record", () => {
    if (active()) send({ type: "stop_recording" });
    else if (send({ type: "record", every: every.value, fps: Number(fps.value) })) say("");
  }, { id: "record" });
  byId("recording").append(
    row("Pictures of", every.id, every),
    row("Pictures a second", fps.id, fps),
    make("div", { className: "row" }, make("span", { className: "label" }), start),
    state,
  );

  const active = () => ["recording", "finishing"].includes(store.recording?.state);
  const say = (text, failed = false) => {
    state.textContent = text;
    state.className = failed ? "error" : "hint";
  };
  const update = () => {
    const { recording } = store;
    start.textContent = active() ? "Stop and download" : "Record";
    start.classList.toggle("main", active());
    start.disabled = recording?.state === "finishing";
    every.disabled = fps.disabled = active();
    byId("recording-size").textContent = active() ? sizeOf(recording) : "";
    if (recording?.state === "failed") say(recording.text, true);
    else if (recording?.state === "ready") say([recording.text, `${sizeOf(recording)}.`].join(" ").trim());
  };
  store.on("recording", () => {
    update();
    const { state, file } = store.recording;
    if (state === "ready") make("a", { href: file, download: `${fileName(store)}.mp4` }).click();
  });
  store.on("hello", () => {
    if (!active()) return;
    store.recording = null; // the viewer has removed it
    update();
    say("The connection was lost, and the movie with it.", true);
  });
}

const sizeInWords = (bytes) => (bytes < 1e6 ? `${short(bytes / 1e3, 3)} kB` : `${short(bytes / 1e6, 3)} MB`);

/** Return pictures, length and size of a movie as text. */
function sizeOf({ pictures, seconds, bytes }) {
  return `${pictures} picture${pictures === 1 ? "" : "s"}, ${short(seconds, 3)} s, ${sizeInWords(bytes)}`;
}
