/** Controls of the planes that clip the view. */

import { checkbox, rebuild, updateAll } from "./controls.js";
import { button, byId, make } from "./dom.js";
import { boundsOf } from "./mesh.js";
import { planeControls, shapeOfPlane } from "./plane.js";

/** Maximum number of planes. */
const MAX_PLANES = 6;

/** Show the controls. */
export function makeClipPanel(store) {
  const list = make("div", { className: "layers" });
  const planes = () => store.get(["clip"], []);
  const setPlanes = (next) => store.set(["clip"], next.length ? next : null);
  const add = button("Add a plane", () => {
    setPlanes([...planes(), { normal: "x" }]);
    byId(`clip-${planes().length - 1}`)?.querySelector("input")?.focus();
  }, { id: "add-clip" });
  byId("clip").append(list, make("div", { className: "pair" }, add));

  const bounds = () => boundsOf(store.description, store.settings.layers[0]?.field);
  const plane = (place) => {
    const remove = button("Remove", () => {
      setPlanes(planes().filter((_, other) => other !== place));
      add.focus();
    }, { className: "quiet", "aria-label": `Remove clip plane ${place + 1}` });
    return make(
      "section", { className: "layer", id: `clip-${place}`, "aria-label": `Clip plane ${place + 1}` },
      make("header", {}, make("h3", {}, `Plane ${place + 1}`), remove),
      ...planeControls(store, ["clip", place], bounds),
      checkbox(store, ["clip", place, "invert"], { label: "Leave out the other side" }),
    );
  };

  let shape = "";
  store.on("view description", () => {
    const now = JSON.stringify([store.view?.view, planes().map(shapeOfPlane)]);
    add.disabled = planes().length >= MAX_PLANES;
    if (now === shape) return updateAll(list);
    shape = now;
    rebuild(list, ...planes().map((_, place) => plane(place)));
  });
}
