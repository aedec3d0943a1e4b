/** Download of the picture and of the view, and load of a view. */

import { byId, download } from "./dom.js";

/** Maximum time to wait for the answer to the last changes, milliseconds. */
const LIMIT = 30000;

/** Connect the buttons. */
export function connectFiles(store, errors, send) {
  byId("download").addEventListener("click", async () => {
    try {
      if (!(await isSettled(store))) throw new Error();
      const view = store.view?.view ?? "";
      const answer = await fetch(`picture.png?view=${encodeURIComponent(view)}`);
      if (!answer.ok) return errors.say(await answer.text());
      download(`${fileName(store)}-step-${answer.headers.get("Step")}.png`, await answer.blob());
    } catch {
      errors.say("The picture cannot be saved: the viewer does not answer. Try again.");
    }
  });
  byId("save").addEventListener("click", async () => {
    if (await isSettled(store)) send({ type: "save" });
    else errors.say("The view cannot be saved: the viewer does not answer. Try again.");
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

/** Wait until the gateway has answered all changes; return whether it has within the limit. */
async function isSettled(store) {
  const start = performance.now();
  while (!store.settled) {
    if (performance.now() - start > LIMIT) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/** Return the title of the run as the beginning of a file's name. */
export const fileName = (store) =>
  (store.description?.title || "view").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "view";
