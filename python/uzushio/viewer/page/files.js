/** Download of the picture and of the view, and load of a view. */

import { byId, download } from "./dom.js";

/** Maximum time to wait for the newest view, and for its picture in final quality, milliseconds. */
const LIMIT = 30000;

/** Connect the buttons. */
export function connectFiles(store, frames, errors, send) {
  byId("download").addEventListener("click", async () => {
    if (!(await until(() => store.settled && isNewest(frames.shown, store.view)))) {
      return errors.say(`The picture of the present view has not come within ${LIMIT / 1000} seconds.`);
    }
    try {
      const view = store.view?.view ?? "";
      const answer = await fetch(`picture.png?view=${encodeURIComponent(view)}`);
      if (!answer.ok) return errors.say(await answer.text());
      const step = frames.shown ? `-step-${frames.shown.step}` : "";
      download(`${fileName(store)}${step}.png`, await answer.blob());
    } catch {
      errors.say("The picture cannot be loaded: the viewer does not answer.");
    }
  });
  byId("save").addEventListener("click", async () => {
    if (await until(() => store.settled)) send({ type: "save" });
    else errors.say("The view cannot be saved: the viewer does not answer.");
  });
  store.on("saved", ({ text }) =>
    download(`${fileName(store)}.yaml`, new Blob([text], { type: "application/yaml" })));
  byId("load").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", async () => {
    const [file] = byId("file").files;
    byId("file").value = "";
    if (!file) return;
    const message = { type: "load", text: await file.text() };
    if (new Blob([JSON.stringify(message)]).size > store.hello.max_message) {
      errors.say(`${file.name} is larger than ${Math.floor(store.hello.max_message / 1024)} kB, the maximum of a view.`);
    } else if (send(message)) store.firstCamera = undefined;
  });
}

/** Return whether a picture is the final one of a view. */
const isNewest = (shown, view) =>
  shown?.final && shown.revision === view?.revision && (view.step ?? shown.step) === shown.step;

/** Wait until a condition holds or the time is up; return whether it holds. */
async function until(condition) {
  const start = performance.now();
  while (!condition()) {
    if (performance.now() - start > LIMIT) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/** Return the title of the run as the beginning of a file's name. */
export const fileName = (store) =>
  (store.description?.title || "view").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "view";
