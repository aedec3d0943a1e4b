/** Position and values under the pointer, or under the cross hair. */

import { byId, make } from "./dom.js";
import { pictureBox } from "./gestures.js";
import { clamp, short } from "./numbers.js";
import { unitOf } from "./mesh.js";
import { showSymbols } from "./symbols.js";

/** Minimum time between two positions, milliseconds. */
const INTERVAL = 50;
/** Motion of the cross hair by a key, as a share of the picture. */
const STRIDE = 0.02;

/** Probe of the picture. */
export class Probe {
  #store;
  #send;
  #canvas;
  #box = byId("probe");
  #crosshair = byId("crosshair");
  #place = null; // of the cross hair, 0 to 1
  #next = null;
  #timer = 0;

  constructor(store, canvas, send) {
    this.#store = store;
    this.#canvas = canvas;
    this.#send = send;
    canvas.addEventListener("pointermove", (event) => this.#follow(event));
    canvas.addEventListener("pointerleave", () => this.#ask(this.#place));
    store.on("probe", (message) => this.#show(message));
    store.on("hello", () => this.#show({ position: null, values: {} }));
    new ResizeObserver(() => this.#drawCrosshair()).observe(canvas);
  }

  /** Show or hide the cross hair. */
  toggleCrosshair() {
    this.#place = this.#place ? null : [0.5, 0.5];
    this.#drawCrosshair();
    this.#ask(this.#place);
  }

  /** Move the cross hair; return whether it is shown. */
  moveCrosshair(right, down) {
    if (!this.#place) return false;
    this.#place = [this.#place[0] + right * STRIDE, this.#place[1] + down * STRIDE];
    this.#place = this.#place.map((share) => clamp(share, 0, 1));
    this.#drawCrosshair();
    this.#ask(this.#place);
    return true;
  }

  #follow(event) {
    if (event.buttons || event.pointerType === "touch" || this.#place) return;
    const box = pictureBox(this.#canvas);
    const place = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    this.#ask(place.every((share) => share >= 0 && share <= 1) ? place : null);
  }

  /** Send a position, the newest of an interval. */
  #ask(place) {
    this.#next = place ?? [null, null];
    if (!place) this.#show({ position: null, values: {} });
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      if (this.#store.view) this.#send({ type: "pointer", x: this.#next[0], y: this.#next[1] });
    }, INTERVAL);
  }

  #show({ position, values }) {
    this.#box.hidden = !position;
    if (!position) return;
    const { description, sources } = this.#store;
    const unit = (text) => (text ? ` ${text}` : "");
    const length = unit(description?.length_unit);
    const names = this.#store.get(["axis_names"], ["x", "y", "z"]);
    const pairs = position.map((value, axis) => [names[axis], short(value) + length]);
    for (const [name, value] of Object.entries(values)) {
      pairs.push([name, short(value) + unit(unitOf(description, sources, name))]);
    }
    this.#box.replaceChildren(
      ...pairs.flatMap(([name, text]) => {
        const value = make("span");
        showSymbols(value, text);
        return [make("span", {}, make("i", {}, name), " ", value), " "];
      }),
    );
  }

  #drawCrosshair() {
    this.#crosshair.toggleAttribute("hidden", !this.#place);
    if (!this.#place) return;
    const box = pictureBox(this.#canvas);
    const outer = this.#canvas.parentElement.getBoundingClientRect();
    this.#crosshair.style.left = `${box.left - outer.left + this.#place[0] * box.width}px`;
    this.#crosshair.style.top = `${box.top - outer.top + this.#place[1] * box.height}px`;
  }
}
