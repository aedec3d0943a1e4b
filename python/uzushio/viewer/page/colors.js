/** Controls of colours by value: map, scale, range. */

import { byId, button, make } from "./dom.js";
import { checkbox, controlsIn, frame, idOf, number, numberOf, onEnter, select, show } from "./controls.js";
import { rounded, short } from "./numbers.js";

/** Return CSS of the gradient of a map; grey if its colours are not known. */
export function gradient(store, map) {
  const name = Array.isArray(map) ? null : (map ?? "viridis");
  let colors = Array.isArray(map) ? map : store.hello?.maps[name.replace(/_r$/, "")];
  if (!colors) return "linear-gradient(to right, #808080, #c0c0c0)";
  if (name?.endsWith("_r")) colors = [...colors].reverse();
  return `linear-gradient(to right, ${colors.join(", ")})`;
}

/** Return the limits of the newest picture for the colours of a layer; null if not known. */
export function limitsOf(store, layer) {
  const colors = store.get(["layers", layer, "color"], {});
  const fields = store.get(["layers", layer], {});
  const field = colors.field ?? fields.field;
  const label = colors.label ?? store.get(["sources", field, "label"]) ?? "";
  const own = store.limits?.view === store.view?.view ? store.limits.limits : {};
  return own[label || field] ?? null;
}

/** Return the controls of a section of colours of a layer. */
export function colorControls(store, layer) {
  const path = ["layers", layer, "color"];
  return [
    mapPicker(store, [...path, "map"]),
    rangeControl(store, layer, [...path, "limits"]),
    make(
      "details",
      { className: "more" },
      make("summary", {}, "More on colours"),
      select(store, [...path, "follow"], {
        label: "Automatic range", fallback: "widen",
        choices: () => [
          ["widen", "of all values so far"], ["step", "of this step"], ["smooth", "of this step, smoothed"],
        ],
      }),
      select(store, [...path, "scale"], {
        label: "Scale", fallback: "linear",
        choices: () => [["linear", "linear"], ["log", "logarithmic"]],
      }),
      number(store, [...path, "levels"], {
        label: "Bands", integer: true, min: 2, max: 256, placeholder: () => "none",
      }),
      checkbox(store, [...path, "legend"], { label: "Colour bar", fallback: true }),
    ),
  ];
}

/** Return the control of the map: perceptually uniform ones, each with its gradient. */
function mapPicker(store, path) {
  const id = idOf(path);
  const swatch = make("span", { className: "swatch" });
  const name = make("span", { className: "name" });
  const list = make("div", { className: "maps", role: "radiogroup", "aria-label": "Colour map" });
  const picker = make(
    "details", { className: "picker" },
    make("summary", { id }, make("span", { className: "unseen" }, "Colour map: "), name, swatch),
    list,
  );
  const reversed = make("input", { type: "checkbox", id: `${id}-reversed` });
  const parts = () => {
    const map = store.get(path) ?? "viridis";
    if (Array.isArray(map)) return { map, base: null, back: false };
    return { map, base: map.replace(/_r$/, ""), back: map.endsWith("_r") };
  };
  const choose = (base, back) => store.set(path, back ? `${base}_r` : base);
  reversed.addEventListener("change", () => {
    const { map, base } = parts();
    if (base) choose(base, reversed.checked);
    else store.set(path, [...map].reverse());
  });
  const options = Object.keys(store.hello?.maps ?? {}).map((one) => {
    const input = make("input", { type: "radio", name: id, value: one, id: `${id}-${one}` });
    input.addEventListener("change", () => choose(one, parts().back));
    const strip = make("span", { className: "swatch" });
    strip.style.background = gradient(store, one);
    return make("label", {}, input, make("span", { className: "name" }, one), strip);
  });
  list.append(...options, make("label", { className: "check" }, reversed, " Reversed"));
  const update = () => {
    const { map, base, back } = parts();
    name.textContent = base ? base + (back ? ", reversed" : "") : "own colours";
    swatch.style.background = gradient(store, map);
    reversed.checked = back;
    for (const input of list.querySelectorAll("input[type=radio]")) input.checked = input.value === base;
  };
  return frame(store, path, update, make("div", { className: "row" },
    make("span", { className: "label", "aria-hidden": "true" }, "Map"), picker));
}

/** Return the control of the range: automatic, locked at its present limits, or typed. */
function rangeControl(store, layer, path) {
  const ends = ["minimum", "maximum"].map((end, place) => {
    const input = make("input", {
      type: "number", step: "any", id: idOf(path, place), "aria-label": `Range, ${end}`,
    });
    onEnter(input, (text) => {
      const limits = [...(store.get(path) ?? [null, null])];
      limits[place] = numberOf(text);
      store.set(path, limits.every((limit) => limit === null) ? null : limits);
    });
    return input;
  });
  const automatic = button("Automatic", () => store.set(path, null));
  const lock = button("Lock", () => {
    const limits = limitsOf(store, layer);
    if (limits) store.set(path, limits.map((limit) => rounded(limit, 5)));
  });
  lock.title = "Keep the present range";
  const state = make("span", { className: "hint" });
  const update = () => {
    const limits = store.get(path) ?? [null, null];
    const found = limitsOf(store, layer);
    ends.forEach((input, place) => {
      show(input, limits[place]);
      input.placeholder = found ? short(found[place]) : "auto";
    });
    const given = limits.filter((limit) => limit !== null).length;
    automatic.setAttribute("aria-pressed", String(!given));
    lock.setAttribute("aria-pressed", String(given === 2));
    lock.disabled = given === 2 || !found;
    state.textContent = given === 1 ? "The other end follows the values." : "";
  };
  return frame(
    store, path, update,
    make("div", { className: "row" },
      make("label", { htmlFor: ends[0].id }, "Range"),
      make("div", { className: "ends" }, ends[0], make("span", { "aria-hidden": "true" }, "to"), ends[1])),
    make("div", { className: "row" }, make("span", { className: "label" }),
      make("div", { className: "pair", role: "group", "aria-label": "Kind of range" }, automatic, lock), state),
  );
}

/** Update the ranges, which show the limits of the newest picture. */
export function updateRanges() {
  for (const element of controlsIn(byId("layers"))) {
    if (/"limits"\]$|"opacity"\]$/.test(element.dataset.path)) element.update?.();
  }
}
