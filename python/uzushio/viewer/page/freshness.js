/** Whether the picture on the screen is that of the present view: shown when it is drawn anew, and when it is out of date. */

import { byId } from "./dom.js";

/** Time until a picture that is being drawn is stated, milliseconds. */
const PATIENCE = 400;

/**
 * Show the state of the picture.
 *
 * @returns a function to call after each picture.
 */
export function showFreshness(store, frames) {
  const element = byId("freshness");
  let failed = false; // the newest answer on the view is the reason why it is not drawn
  let shownView = null; // view of the picture
  let since = null; // time since which the picture is not that of the view
  let timer = 0;

  const isNewest = () => {
    const { shown } = frames;
    const { view } = store;
    if (!shown || !view || store.dragging) return true; // a notice states what is awaited
    return shownView === view.view && shown.revision >= view.revision
      && (view.step === null || view.step === shown.step) && store.settled;
  };
  const update = () => {
    clearTimeout(timer);
    if (isNewest()) since = null;
    else since ??= performance.now();
    const late = since !== null && performance.now() - since >= PATIENCE;
    const state = since === null ? "" : failed ? "outdated" : late ? "drawing" : "";
    element.hidden = !state;
    element.dataset.state = state;
    element.textContent = state === "outdated" ? "Out of date" : state ? "Drawing …" : "";
    if (since !== null && !state) timer = setTimeout(update, PATIENCE);
  };
  store.on("dragging", update);
  store.on("error", ({ patch }) => {
    if (patch === null) failed = true;
    update();
  });
  let revision = null;
  store.on("view", () => {
    if (store.view.revision !== revision) failed = false;
    revision = store.view.revision;
    update();
  });
  return () => {
    if (store.limits?.view) shownView = store.limits.view;
    if (isNewest()) failed = false;
    update();
  };
}
