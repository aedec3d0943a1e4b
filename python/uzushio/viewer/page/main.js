/** Live view: connects the gateway, the state of the page, the picture and the controls. */

import { followScheme, makeAnnotationPanel, schemeBackground } from "./annotation.js";
import { makeCameraPanel } from "./camera_panel.js";
import { makeClipPanel } from "./clip.js";
import { updateRanges } from "./colors.js";
import { Connection, logIn } from "./connection.js";
import { byId, make } from "./dom.js";
import { Errors } from "./errors.js";
import { connectFiles } from "./files.js";
import { connectFollow } from "./follow.js";
import { Frames } from "./frames.js";
import { CameraMotion, listenToPointers } from "./gestures.js";
import { showFreshness } from "./freshness.js";
import { History } from "./history.js";
import { listenToKeys } from "./keyboard.js";
import { Layers } from "./layers.js";
import { connectLayout } from "./layout.js";
import { Memory } from "./memory.js";
import { narrate } from "./narration.js";
import { makePlots } from "./plots.js";
import { Probe } from "./probe.js";
import { makeRecordingPanel } from "./recording.js";
import { pictureSize, reportSize } from "./size.js";
import { makeSourcesPanel } from "./sources.js";
import { StatusLine } from "./status.js";
import { makeSteeringPanel } from "./steering.js";
import { Store } from "./store.js";
import { Timeline } from "./timeline.js";
import { VideoPictures } from "./video.js";

const canvas = byId("picture");
const send = (message) => connection.send(message);
const store = new Store(send);
const memory = new Memory(store, send);
const video = new VideoPictures();
const frames = new Frames(canvas, video, {
  acknowledge: (sequence, seconds) => send({ type: "ack", sequence, seconds }),
  shown: () => pictureShown(),
  size: () => store.get(["size"]),
  videoFailed: () => send({ type: "video", decodes: false }),
});
const connection = new Connection({
  message: (message) => store.receive(message),
  frame: (buffer) => frames.push(buffer),
  state: () => status.update(),
  query: () => {
    const [width, height] = pictureSize(canvas.parentElement);
    const background = schemeBackground();
    return { width, height, ...(background && { background }), ...(memory.view && { view: memory.view }) };
  },
});

const status = new StatusLine(store, connection, frames);
const errors = new Errors(store);
const motion = new CameraMotion(store, canvas);
const timeline = new Timeline(store, frames, send);
const probe = new Probe(store, canvas, send);
const describe = narrate(store, frames);
const checkFreshness = showFreshness(store, frames);

new History(store);
new Layers(store);
connectLayout();
makeClipPanel(store);
makeCameraPanel(store, motion);
makeAnnotationPanel(store);
followScheme(store);
makeSourcesPanel(store);
makeSteeringPanel(store, send);
makePlots(store, errors, send);
makeRecordingPanel(store, send);
connectFiles(store, errors, send);
connectFollow(store, send);
listenToPointers(canvas, store, motion);
listenToKeys(canvas, motion, probe, timeline);
reportSize(canvas.parentElement, store, send);

byId("panel").addEventListener("submit", (event) => event.preventDefault());
store.on("hello", async () => {
  frames.restart();
  if (await video.works()) send({ type: "video", decodes: true });
});
store.on("limits", ({ notes }) => {
  updateRanges();
  byId("notes").hidden = !notes.length;
  byId("notes").replaceChildren(...notes.map((note) => make("p", {}, note)));
});

function pictureShown() {
  timeline.pictureShown();
  status.update();
  describe();
  checkFreshness();
}

canvas.focus({ preventScroll: true });
await connect();
addEventListener("hashchange", connect); // another address was entered in this tab

/** Log in with the token of the address, if it has one, and connect. */
async function connect() {
  connection.refusal = await logIn().catch(() => "");
  connection.connect(); // a refused token may belong to a page that was loaded again
}
