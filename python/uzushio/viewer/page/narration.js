/** Picture in words, for screen readers. */

import { facing, inWords } from "./camera.js";
import { limitsOf } from "./colors.js";
import { byId } from "./dom.js";
import { allBounds, boundsOf, defaultNormal } from "./mesh.js";
import { short } from "./numbers.js";

/** Pause after the last change before it is announced, milliseconds. */
const REST = 1500;

/**
 * Keep the description, and announce changes of the view but not each picture.
 *
 * @returns a function to call after each picture.
 */
export function narrate(store, frames) {
  let timer = 0;
  let announced = null;
  const update = () => {
    timer = 0;
    if (!store.view) return;
    const view = viewInWords(store);
    const { shown } = frames;
    const step = shown ? ` Step ${shown.step}, time ${short(shown.time)}.` : "";
    byId("description").textContent = view + step;
    if (announced === null) announced = view; // at first the page itself is read
    if (view === announced || store.dragging) return;
    announced = view;
    byId("announcement").textContent = view + (store.view.step === null ? "" : step);
  };
  const soon = () => (timer ||= setTimeout(update, REST));
  store.on("limits status", soon);
  store.on("view dragging", () => {
    clearTimeout(timer);
    timer = 0;
    soon();
  });
  return soon;
}

/** Return the view in words. */
export function viewInWords(store) {
  const layers = store.settings.layers.map((layer, place) => layerInWords(store, layer, place));
  const picture = layers.length ? layers.join("; ") : "No layers";
  const { status, view } = store;
  const field = store.settings.layers[0]?.field;
  const planes = store.get(["clip"], []).map((plane) => planeInWords(store, field, plane));
  const clipped = planes.length ? `Clipped ${planes.join(" and ")}` : "";
  const camera = inWords(facing(store.get(["camera"], {}), allBounds(store.description)));
  const state = view.step !== null ? `Paused at step ${view.step}` : status?.state === "live" ? "Live" : "";
  return `${[picture, clipped, camera, state].filter(Boolean).join(". ")}.`;
}

function layerInWords(store, layer, place) {
  const colors = typeof layer.color === "object" ? layer.color : {};
  const limits = colors.limits?.every((limit) => limit !== null) ? colors.limits : limitsOf(store, place);
  const map = typeof colors.map === "string" ? colors.map : colors.map ? "own colours" : "viridis";
  const scale = `colours ${map}${limits ? ` from ${short(limits[0])} to ${short(limits[1])}` : ""}`;
  if (layer.kind === "slice") {
    return `Slice of ${layer.field} ${planeInWords(store, layer.field, layer)}, ${scale}`;
  }
  if (layer.kind === "isosurface") {
    const by = colors.field ? `, coloured by ${colors.field}, ${scale}` : "";
    return `Isosurface of ${layer.field} at ${layer.values.map((value) => short(value)).join(", ")}${by}`;
  }
  if (layer.kind === "volume") return `Volume of ${layer.field}, ${scale}`;
  return `Mesh ${layer.mesh}`;
}

function planeInWords(store, field, { normal: given, at, origin }) {
  const bounds = boundsOf(store.description, field);
  const normal = given ?? defaultNormal(bounds);
  if (Array.isArray(normal)) return `with the normal ${normal.join(", ")}`;
  const axis = "xyz".indexOf(normal);
  const [low, high] = bounds[axis];
  return `at ${normal} = ${short(at ?? origin?.[axis] ?? (low + high) / 2)}`;
}
