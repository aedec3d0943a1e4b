/** Controls of the camera. */

import * as camera from "./camera.js";
import { number, rebuild, select, updateAll, vector } from "./controls.js";
import { button, byId, make } from "./dom.js";
import { allBounds } from "./mesh.js";
import { fixed, rounded } from "./numbers.js";

/** Show the controls. */
export function makeCameraPanel(store, motion) {
  const root = byId("camera");
  const names = camera.NAMES.map((name, place) =>
    button(name, () => motion.preset(name), { className: "preset", title: `Key ${place + 1}` }));
  const reset = button("reset", () => motion.reset(), { title: "Key 0" });
  const degrees = (key, low, high) =>
    number(store, ["camera", key], {
      label: key[0].toUpperCase() + key.slice(1), unit: "°", fallback: 0, range: () => [low, high],
    });
  const projection = select(store, ["camera", "parallel"], {
    label: "Projection",
    choices: () => [["auto", "automatic"], ["parallel", "parallel"], ["perspective", "perspective"]],
    read: () => {
      const given = store.get(["camera", "parallel"]);
      return given === undefined || given === null ? "auto" : given ? "parallel" : "perspective";
    },
    write: (value) => store.set(["camera", "parallel"], value === "auto" ? null : value === "parallel"),
  });
  const middle = () => allBounds(store.description).map(([low, high]) => rounded((low + high) / 2, 4));
  rebuild(
    root,
    make("div", { className: "presets", role: "group", "aria-label": "Cameras" }, ...names, reset),
    degrees("azimuth", -180, 180),
    degrees("elevation", -90, 90),
    number(store, ["camera", "zoom"], {
      label: "Zoom", fallback: 1, min: 0,
      range: () => [0.25, 8],
    }),
    make("details", { className: "more" }, make("summary", {}, "More on the camera"),
      degrees("roll", -180, 180), projection,
      number(store, ["camera", "view_angle"], { label: "Angle", unit: "°", fallback: 30, min: 1, max: 169 }),
      vector(store, ["camera", "focal_point"], { label: "Focus", placeholder: middle })),
  );
  const showPreset = () => {
    const { name = null, azimuth = 0, elevation = 0, roll = 0 } =
      camera.facing(store.get(["camera"], {}), allBounds(store.description));
    const straight = !fixed(azimuth) && !fixed(elevation) && !fixed(roll);
    for (const one of names) one.setAttribute("aria-pressed", String(straight && one.textContent === name));
  };
  store.on("view description", () => {
    updateAll(root);
    showPreset();
  });
}
