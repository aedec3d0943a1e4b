/** Camera by mouse, touch and wheel. */

import * as camera from "./camera.js";
import { allBounds } from "./mesh.js";

/** Degrees of a drag over the picture's whole height. */
const DEGREES = 180;
/** Pause after which a turn of the wheel, or a key, counts as ended, milliseconds. */
const REST = 250;

/** Motion of the camera of the view that is shown. */
export class CameraMotion {
  #store;
  #canvas;
  #timer = 0;

  constructor(store, canvas) {
    this.#store = store;
    this.#canvas = canvas;
  }

  /** Rotate by degrees, to the right and upwards. */
  orbit(right, up) {
    this.#change(camera.orbit(this.#section, right, up));
  }

  /** Move the picture by pixels of the screen, to the right and downwards. */
  pan(right, down) {
    const { width, height } = pictureBox(this.#canvas);
    const bounds = allBounds(this.#store.description);
    this.#change(
      camera.pan(this.#section, right / height, -down / height, bounds, width / height),
    );
  }

  /** Zoom by a factor. */
  zoom(factor) {
    this.#change(camera.zoom(this.#section, factor));
  }

  /** Show the preset of a name. */
  preset(name) {
    this.#store.set(["camera"], camera.preset(this.#section, name));
  }

  /** Show the view's first camera. */
  reset() {
    this.#store.set(["camera"], this.#store.firstCamera ?? null);
  }

  /** State that single changes come: the drag begins, and ends after a pause. */
  pulse() {
    this.#store.drag("pulse", true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#store.drag("pulse", false), REST);
  }

  get #section() {
    return camera.facing(this.#store.get(["camera"], {}), allBounds(this.#store.description));
  }

  #change(changes) {
    for (const [key, value] of Object.entries(changes)) this.#store.set(["camera", key], value);
  }
}

/** Return the rectangle of the picture on the screen; the canvas may have margins around it. */
export function pictureBox(canvas) {
  const box = canvas.getBoundingClientRect();
  const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
  const [width, height] = [canvas.width * scale, canvas.height * scale];
  return {
    left: box.left + (box.width - width) / 2,
    top: box.top + (box.height - height) / 2,
    width,
    height,
  };
}

/** Move the camera by pointers on the canvas. */
export function listenToPointers(canvas, store, motion) {
  const pointers = new Map();
  let panning = false;

  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    panning = event.shiftKey || event.button > 0;
    store.drag("pointer", true);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    if (pointers.size === 1) {
      const [right, down] = [event.clientX - before.clientX, event.clientY - before.clientY];
      const degrees = DEGREES / pictureBox(canvas).height;
      if (panning) motion.pan(right, down);
      else motion.orbit(-right * degrees, down * degrees);
    } else if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      motion.pan((event.clientX - before.clientX) / 2, (event.clientY - before.clientY) / 2);
      motion.zoom(distance(event, other) / Math.max(1, distance(before, other)));
    }
    pointers.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(name, (event) => {
      if (pointers.delete(event.pointerId) && !pointers.size) store.drag("pointer", false);
    });
  }
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      motion.pulse();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 40 : 1;
      motion.zoom(Math.exp(Math.min(1, Math.max(-1, -event.deltaY * lines * 0.0015))));
    },
    { passive: false },
  );
}

const distance = (one, other) =>
  Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
