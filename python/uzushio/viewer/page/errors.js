/** Errors at the controls that caused them, or above the picture. */

import { isPrefix } from "./changes.js";
import { controlsIn } from "./controls.js";
import { byId } from "./dom.js";

/** Show errors of the gateway. */
export class Errors {
  #store;
  #box = byId("problem");
  #revision = null;

  constructor(store) {
    this.#store = store;
    store.on("error", (message) => this.#show(message));
    store.on("view", () => this.#viewChanged());
    this.#box.querySelector("button").addEventListener("click", () => (this.#box.hidden = true));
  }

  /** Show a sentence above the picture. */
  say(text) {
    this.#box.querySelector("span").textContent = sentence(text);
    this.#box.hidden = false;
  }

  #show({ path, message, revision }) {
    this.#revision = revision;
    const control = this.#find(this.#relative(path));
    if (!control) return this.say(message);
    for (let outer = control; (outer = outer.parentElement?.closest("details")); ) outer.open = true;
    const place = `${path.join(".")}: `; // which the control itself is
    control.closest(".layer")?.fold?.(false);
    control.fail(sentence(message.startsWith(place) ? message.slice(place.length) : message));
    control.scrollIntoView({ block: "nearest" });
  }

  /** Return the path as the controls have it. */
  #relative(path) {
    const own = path[0] === "views" && path[1] === this.#store.view?.view;
    return own ? path.slice(2) : path;
  }

  /** Return the control whose path has most in common with a path. */
  #find(path) {
    let [best, length] = [null, 0];
    for (const element of controlsIn(document)) {
      const own = JSON.parse(element.dataset.path);
      if (!element.fail || !isPrefix(own, path) && !isPrefix(path, own)) continue;
      const common = Math.min(own.length, path.length);
      if (common > length) [best, length] = [element, common];
    }
    return length > 0 ? best : null;
  }

  #viewChanged() {
    if (this.#revision === null || this.#store.view.revision <= this.#revision) return;
    this.#revision = null;
    this.#box.hidden = true;
    for (const element of controlsIn(document)) element.clear?.();
  }
}

/** Return a text as a sentence. */
function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
