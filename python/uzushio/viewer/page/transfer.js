/** Editor of a volume's opacity over the values: points on a diagram, and numbers beside it. */

import { gradient, limitsOf } from "./colors.js";
import { button, make, makeSvg } from "./dom.js";
import { frame, idOf, numberOf, onEnter, show } from "./controls.js";
import { clamp, fixed, rounded, short } from "./numbers.js";
import { rangeOf } from "./mesh.js";

const START = [[0, 0], [1, 0.4]];
const WIDTH = 300;
const HEIGHT = 120;
const MARGIN = 10;
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Return the editor of a layer's opacity. */
export function transferFunction(store, layer) {
  const path = ["layers", layer, "opacity"];
  const points = () => store.get(path) ?? START;
  const byValue = () => store.get(["layers", layer, "places"]) === "values";
  const ends = () => {
    if (!byValue()) return [0, 1];
    const all = points();
    const range = limitsOf(store, layer) ?? rangeOf(store.description, store.get(["layers", layer, "field"]))
      ?? [all[0][0], all.at(-1)[0]];
    return [Math.min(range[0], all[0][0]), Math.max(range[1], all.at(-1)[0])];
  };
  let chosen = 0;

  const strip = make("div", { className: "strip" });
  const line = makeSvg("polyline", { class: "curve" });
  const area = makeSvg("polygon", { class: "area" });
  const handles = makeSvg("g");
  const diagram = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "transfer" });
  diagram.append(area, line, handles);
  const place = make("input", { type: "number", step: "any", id: idOf(path, "place") });
  const opacity = make("input", { type: "number", step: "any", min: 0, max: 1, id: idOf(path, "opacity") });
  const remove = button("Remove", () => removePoint());
  const caption = make("legend", {});

  const toScreen = ([x, y]) => {
    const [low, high] = ends();
    const share = high > low ? (x - low) / (high - low) : 0;
    return [MARGIN + share * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN)];
  };
  /** @returns {[number, number]} */
  const fromScreen = (event) => {
    const box = diagram.getBoundingClientRect();
    const [low, high] = ends();
    const share = (((event.clientX - box.left) / box.width) * WIDTH - MARGIN) / (WIDTH - 2 * MARGIN);
    const up = HEIGHT - MARGIN - ((event.clientY - box.top) / box.height) * HEIGHT;
    return [low + clamp(share, 0, 1) * (high - low), clamp(up / (HEIGHT - 2 * MARGIN), 0, 1)];
  };

  /** Move the chosen point; it stays between its neighbours. */
  const move = ([x, y]) => {
    const all = points().map((point) => [...point]);
    const [low, high] = ends();
    const gap = (high - low) / 1000;
    const left = chosen ? all[chosen - 1][0] + gap : byValue() ? -Infinity : 0;
    const right = chosen < all.length - 1 ? all[chosen + 1][0] - gap : byValue() ? Infinity : 1;
    all[chosen] = [rounded(clamp(x, left, right), 5), fixed(clamp(y, 0, 1), 3)];
    store.set(path, all);
  };
  const addPoint = (point) => {
    const all = points().map((one) => [...one]);
    if (!point) {
      const widest = all.slice(1).map((one, left) => one[0] - all[left][0]);
      const left = widest.indexOf(Math.max(...widest));
      point = [0, 1].map((axis) => (all[left][axis] + all[left + 1][axis]) / 2);
    }
    if (all.some(([x]) => x === point[0])) return;
    point = [rounded(point[0], 5), fixed(point[1], 3)];
    all.push(point);
    all.sort((one, other) => one[0] - other[0]);
    chosen = all.indexOf(point);
    store.set(path, all);
  };
  const removePoint = () => {
    const all = points();
    if (all.length <= 2) return;
    const rest = all.filter((_, number) => number !== chosen);
    chosen = Math.max(0, chosen - 1);
    store.set(path, rest);
    handles.children[chosen]?.focus();
  };

  onEnter(place, (text) => numberOf(text) !== null && move([numberOf(text), points()[chosen][1]]));
  onEnter(opacity, (text) => numberOf(text) !== null && move([points()[chosen][0], numberOf(text)]));
  diagram.addEventListener("dblclick", (event) => {
    if (event.target.tagName !== "circle") addPoint(fromScreen(event));
  });

  const makeHandle = (number) => {
    const handle = makeSvg("circle", { r: 7, tabindex: 0, role: "slider", id: idOf(path, number) });
    handle.setAttribute("aria-valuemin", 0);
    handle.setAttribute("aria-valuemax", 1);
    const choose = () => {
      chosen = number;
      update();
    };
    handle.addEventListener("focus", choose);
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      store.drag(path.join(), true);
    });
    handle.addEventListener("pointermove", (event) => {
      if (handle.hasPointerCapture(event.pointerId)) move(fromScreen(event));
    });
    handle.addEventListener("lostpointercapture", () => store.drag(path.join(), false));
    handle.addEventListener("keydown", (event) => {
      const [low, high] = ends();
      const [x, y] = points()[number];
      const by = KEYS[event.key];
      if (by) move([x + (by[0] * (high - low)) / 50, y + by[1] / 50]);
      else if (event.key === "Delete") removePoint();
      else return;
      event.preventDefault();
    });
    return handle;
  };

  const update = () => {
    const all = points();
    chosen = clamp(chosen, 0, all.length - 1);
    strip.style.background = gradient(store, store.get(["layers", layer, "color", "map"]));
    while (handles.children.length > all.length) handles.lastChild.remove();
    while (handles.children.length < all.length) handles.append(makeHandle(handles.children.length));
    const places = all.map(toScreen);
    line.setAttribute("points", places.join(" "));
    const base = HEIGHT - MARGIN;
    area.setAttribute("points", `${places[0][0]},${base} ${places.join(" ")} ${places.at(-1)[0]},${base}`);
    [...handles.children].forEach((handle, number) => {
      const [x, y] = all[number];
      handle.setAttribute("cx", places[number][0]);
      handle.setAttribute("cy", places[number][1]);
      handle.setAttribute("class", number === chosen ? "chosen" : "");
      handle.setAttribute("aria-label", `Point ${number + 1} of ${all.length}`);
      handle.setAttribute("aria-valuenow", y);
      handle.setAttribute("aria-valuetext", `place ${short(x)}, opacity ${short(y)}`);
    });
    caption.textContent = `Point ${chosen + 1} of ${all.length}`;
    show(place, all[chosen][0]);
    show(opacity, all[chosen][1]);
    remove.disabled = all.length <= 2;
  };

  return frame(
    store, path, update,
    make("span", { className: "label" }, "Opacity over the values"),
    make("div", { className: "diagram" }, diagram, strip),
    make("fieldset", { className: "point" }, caption,
      make("label", {}, "Place ", place), make("label", {}, "Opacity ", opacity),
      make("div", { className: "pair" }, button("Add a point", () => addPoint()), remove)),
  );
}
