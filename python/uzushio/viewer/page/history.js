/** Undo and redo of the changes of the view that is shown; derived fields and plots, which all pages share, are left out. */

import { byId } from "./dom.js";

/** Maximum number of changes that can be undone. */
const MAX_CHANGES = 100;
/** Changes of one setting within this time of each other are one, milliseconds. */
const PAUSE = 1000;

/** Settings of the view before each change. */
export class History {
  #store;
  #undone = [];
  #done = [];
  #last = { place: "", time: -PAUSE };
  #view = null;

  constructor(store) {
    this.#store = store;
    store.on("changing", (path) => this.#note(path));
    store.on("view", () => {
      if (store.view.view !== this.#view) this.#clear();
      this.#view = store.view.view;
    });
    byId("undo").addEventListener("click", () => this.undo());
    byId("redo").addEventListener("click", () => this.redo());
    document.addEventListener("keydown", (event) => this.#listen(event));
  }

  /** Undo the last change. */
  undo() {
    this.#restore(this.#done, this.#undone);
  }

  /** Make the change again that was undone last. */
  redo() {
    this.#restore(this.#undone, this.#done);
  }

  #note(path) {
    const place = path.slice(0, 3).join();
    const group = path[0] === "camera" ? "camera" : place;
    const now = performance.now();
    const same = group === this.#last.place && (this.#store.dragging || now - this.#last.time < PAUSE);
    this.#last = { place: group, time: now };
    if (same) return;
    this.#done.push(structuredClone(this.#store.settings));
    if (this.#done.length > MAX_CHANGES) this.#done.shift();
    this.#undone = [];
    this.#show();
  }

  #restore(from, to) {
    if (!from.length || !this.#store.view) return;
    to.push(structuredClone(this.#store.settings));
    this.#last.place = "";
    this.#store.replace(from.pop());
    this.#show();
  }

  #clear() {
    this.#done = [];
    this.#undone = [];
    this.#show();
  }

  #show() {
    byId("undo").disabled = !this.#done.length;
    byId("redo").disabled = !this.#undone.length;
  }

  #listen(event) {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !"zy".includes(key)) return;
    if (event.target.dataset?.typing || event.target.type === "text") return; // the field's own
    if (key === "y" || event.shiftKey) this.redo();
    else this.undo();
    event.preventDefault();
  }
}
