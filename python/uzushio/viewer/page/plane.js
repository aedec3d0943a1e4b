/** Controls of a plane: its normal, and its position on an axis or a point. */

import { number, segments, vector } from "./controls.js";
import { defaultNormal } from "./mesh.js";
import { rounded, short } from "./numbers.js";

const AXES = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

/** Return a key that determines the controls of a plane. */
export const shapeOfPlane = ({ normal, origin }) => [typeof (normal ?? "z"), Boolean(origin)];

/**
 * Return the controls of the plane at a path.
 *
 * @param bounds function that returns the ends of the domain along x, y and z.
 */
export function planeControls(store, path, bounds) {
  const plane = () => store.get(path);
  const named = () => plane().normal ?? defaultNormal(bounds());
  const normal = segments(store, [...path, "normal"], {
    label: "Normal",
    choices: [["x", "x"], ["y", "y"], ["z", "z"], ["any", "oblique"]],
    read: () => (Array.isArray(plane().normal) ? "any" : named()),
    write: (value) => {
      const { at, origin, ...rest } = plane();
      const before = Array.isArray(rest.normal) ? rest.normal : AXES[named()];
      rest.normal = value === "any" ? before : value;
      store.set(path, rest);
    },
  });
  const axis = () => "xyz".indexOf(named());
  const middle = () => bounds().map(([low, high]) => rounded((low + high) / 2));
  const point = () => vector(store, [...path, "origin"], { label: "Point", placeholder: middle });
  if (Array.isArray(plane().normal)) {
    return [normal, vector(store, [...path, "normal"], { label: "Direction" }), point()];
  }
  if (plane().origin) return [normal, point()];
  return [normal, number(store, [...path, "at"], {
    label: "Position", unit: store.description?.length_unit,
    range: () => bounds()[axis()],
    placeholder: () => short(middle()[axis()]),
  })];
}
