/** State of the page: the messages of the gateway, with this page's unanswered changes applied. */

import { Changes } from "./changes.js";

/** Messages of which the newest is kept, by type; each is an event too. */
const KEPT = ["hello", "description", "status", "viewers", "limits", "steering", "plots", "recording"];

/** Sections of the document that are common to all pages. */
const COMMON = ["sources", "actions"];

/**
 * Events: the types above, `view` after each change of the view, `received` (with the message) before
 * one of the gateway's, `changing` (with the path) before one of this page, `probe`, `saved`, `steered`, `error`
 * (with the message as `detail`) and `dragging`.
 */
export class Store extends EventTarget {
  hello = null;
  description = null;
  status = null;
  viewers = null;
  limits = null;
  steering = null;
  plots = null;
  recording = null;
  /** Name of the view of another page that is shown; null: this page's own. */
  followed = null;
  /** Newest message on the view. */
  view = null;
  /** Sections `sources` and `actions` (the plots) and the view's settings, with unanswered changes. */
  sources = {};
  actions = [];
  settings = { layers: [] };
  /** Section `camera` of the view as it was at first, or as loaded. */
  firstCamera = undefined;
  #send;
  #changes;
  #dragging = new Set();

  /** @param send sends a message to the gateway; returns whether it was sent. */
  constructor(send) {
    super();
    this.#send = send;
    this.#changes = new Changes((changes, number) =>
      send({ type: "patch", base: this.view.revision, number, changes }),
    );
  }

  /** Call a function after events. */
  on(names, action) {
    for (const name of names.split(" ")) this.addEventListener(name, (/** @type {CustomEvent} */ event) => action(event.detail));
  }

  /** Take a message of the gateway. */
  receive(message) {
    if (message.type === "view") return this.#receiveView(message);
    if (KEPT.includes(message.type)) {
      this[message.type] = message.type === "description" ? message.stream
        : message.type === "status" ? message.status : message;
    }
    if (message.type === "hello") {
      this.#changes.answered();
      this.#dragging.clear();
    } else if (message.type === "error" && this.#changes.answered(message.patch ?? 0)) {
      // The control keeps the refused value: it gets the error before its value changes back.
      this.#merge();
      this.#emit("error", message);
      return this.#emit("view");
    }
    this.#emit(message.type, message);
  }

  /** Return the value of a setting; `fallback` if it is not in the document. */
  get(path, fallback = undefined) {
    let inside = COMMON.includes(path[0]) ? { sources: this.sources, actions: this.actions } : this.settings;
    for (const key of path) inside = inside?.[key];
    return inside ?? fallback;
  }

  /** Return the values that the document's schema allows for a key of a section; after `hello`. */
  allowed(section, key) {
    const schema = this.hello.document_schema.$defs[section].properties[key];
    return (schema.anyOf ?? [schema]).flatMap((one) => one.enum ?? []);
  }

  /** Change a setting of the view, of `sources` or of `actions`; null removes it. */
  set(path, value) {
    if (!this.view) return;
    if (!COMMON.includes(path[0])) this.#emit("changing", path);
    this.#changes.add(COMMON.includes(path[0]) ? path : ["views", this.view.view, ...path], value);
    this.#merge();
    this.#emit("view");
  }

  /** Replace the settings of the view; its size stays. */
  replace(settings) {
    const { size } = this.settings;
    this.#changes.add(["views", this.view.view], { ...structuredClone(settings), ...(size && { size }) });
    this.#merge();
    this.#emit("view");
  }

  /** State that a control begins or ends to change values continuously. */
  drag(control, active) {
    const before = this.dragging;
    if (active) this.#dragging.add(control);
    else this.#dragging.delete(control);
    if (before !== this.dragging) {
      this.#send({ type: "drag", active });
      this.#emit("dragging");
    }
  }

  /** Whether the gateway has answered all changes of this page. */
  get settled() {
    return this.#changes.settled;
  }

  /** Whether a control is changing values continuously. */
  get dragging() {
    return this.#dragging.size > 0;
  }

  #receiveView(message) {
    const before = this.view;
    if (before?.view !== message.view) {
      this.#changes.clear();
      this.firstCamera = undefined;
    }
    this.firstCamera ??= message.settings.camera;
    this.view = message;
    this.#changes.answered(message.patches[this.hello?.page] ?? 0);
    this.#merge();
    this.#emit("received", message);
    this.#emit("view");
  }

  /** Apply the unanswered changes to the document of the gateway. */
  #merge() {
    const { view, sources, actions, settings } = this.view;
    const document = structuredClone({ sources, actions, views: { [view]: settings } });
    this.#changes.applyTo(document);
    this.sources = document.sources;
    this.actions = document.actions;
    this.settings = document.views[view];
    this.settings.layers ??= [];
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
