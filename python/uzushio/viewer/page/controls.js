/**
 * Controls of single settings.
 *
 * Each returns an element with its path in `data-path`, a method `update`, which shows the value of
 * the document, and a place for an error. A value that the user has typed and that was refused
 * stays in the control with the error, until either is changed.
 */

import { byId, make } from "./dom.js";
import { clamp, rounded } from "./numbers.js";

/**
 * Return the controls inside an element.
 *
 * @returns {any[]}
 */
export const controlsIn = (root) => [...root.querySelectorAll("[data-path]")];

/** Update all controls inside an element. */
export function updateAll(root) {
  for (const element of controlsIn(root)) element.update?.();
}

/** Give a choice the values that the schema allows for a key of a section, once it is known, after `first`. */
export function fillChoice(store, choice, [section, key], ...first) {
  store.on("hello", () => {
    const chosen = choice.value;
    choice.replaceChildren(...first,
      ...store.allowed(section, key).map((value) => make("option", { value }, value.replace("_", " "))));
    if (chosen) choice.value = chosen; // before the connection was lost
  });
}

/** Replace the controls inside an element; the focus stays at the control with the same id. */
export function rebuild(root, ...children) {
  const focused = root.contains(document.activeElement) ? document.activeElement.id : "";
  root.replaceChildren(...children.filter(Boolean));
  updateAll(root);
  if (focused) byId(focused)?.focus();
}

/**
 * Return the id of a control.
 *
 * @param {string | number} part which of its inputs.
 */
export const idOf = (path, part = "") => ["set", ...path, part].filter((key) => key !== "").join("-");

/** Return the element of a control, with room for its error. */
export function frame(store, path, update, ...children) {
  const message = make("p", { className: "error", hidden: true, id: idOf(path, "error") });
  const element = make("div", { className: "control" }, ...children, message);
  element.dataset.path = JSON.stringify(path);
  let refused; // value of the document when the error came
  element.update = () => {
    const value = JSON.stringify(store.get(path) ?? null);
    if (!message.hidden && value === refused) return;
    if (!message.hidden) element.clear();
    update();
  };
  element.fail = (text) => {
    refused = JSON.stringify(store.get(path) ?? null);
    message.textContent = text;
    message.hidden = false;
    for (const input of element.querySelectorAll("input, select, [role=slider]")) {
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", message.id);
    }
  };
  element.clear = () => {
    message.hidden = true;
    for (const input of element.querySelectorAll("[aria-invalid]")) {
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-describedby");
    }
  };
  return element;
}

/** Return a row with a label before its controls. */
export const row = (text, id, ...children) =>
  make("div", { className: "row" }, make("label", { htmlFor: id }, text), ...children);

/** Set the value of an input unless the user is typing in it. */
export function show(input, value) {
  if (input === document.activeElement && input.dataset.typing) return;
  const text = value === null || value === undefined ? "" : String(value);
  if (input.value !== text) input.value = text;
}

/** Call an action when the user has entered a value. */
export function onEnter(input, action) {
  input.addEventListener("input", () => (input.dataset.typing = "1"));
  input.addEventListener("blur", () => delete input.dataset.typing);
  input.addEventListener("change", () => {
    delete input.dataset.typing;
    if (input.validity.badInput) return;
    action(input.value);
  });
}

/** Return the number of a text; null if it is empty. */
export const numberOf = (text) => (text.trim() === "" ? null : Number(text));

/** Connect a slider: it drags while it is moved. */
export function onSlide(store, slider, action) {
  const end = () => store.drag(slider, false);
  slider.addEventListener("input", () => {
    store.drag(slider, true);
    action(Number(slider.value));
  });
  for (const name of ["change", "blur", "pointerup"]) slider.addEventListener(name, end);
}

/**
 * Return a control of a number, with a slider if `range` is given.
 *
 * @param options `label`; `unit`; `fallback`: the default, shown while the document has no value;
 *   `range()`: ends of the slider; `step`; `placeholder()`: text while there is no value; `integer`.
 */
export function number(store, path, options) {
  const { label, unit = "", fallback, range, placeholder, integer, min, max } = options;
  const input = make("input", {
    type: "number", id: idOf(path), step: integer ? 1 : "any", min, max, inputMode: "decimal",
  });
  const slider = range ? make("input", { type: "range", step: "any", tabIndex: 0 }) : null;
  slider?.setAttribute("aria-label", `${label}, slider`);
  const read = options.read ?? (() => store.get(path) ?? fallback);
  const write = options.write ?? ((value) => store.set(path, value));
  onEnter(input, (text) => write(numberOf(text)));
  if (slider) {
    onSlide(store, slider, (value) => {
      const [low, high] = range();
      write(integer ? Math.round(value) : rounded(value, digitsFor(value, high - low)));
    });
  }
  const update = () => {
    const value = read();
    show(input, value);
    if (placeholder) input.placeholder = placeholder();
    if (!slider) return;
    const [low, high] = range();
    [slider.min, slider.max] = [low, high];
    slider.step = integer ? 1 : (high - low) / 400 || 1;
    slider.value = clamp(value ?? (low + high) / 2, low, high);
  };
  const suffix = unit ? make("span", { className: "unit" }, unit) : null;
  const text = row(label, input.id, slider, input, suffix);
  text.classList.toggle("sliding", Boolean(slider));
  return frame(store, path, update, text);
}

/** Return the significant digits of a value with a thousandth of a range as resolution. */
function digitsFor(value, range) {
  if (!value || !range) return 4;
  return clamp(Math.ceil(Math.log10(Math.abs(value) / range)) + 4, 2, 12);
}

/** Return a control of a truth value. */
export function checkbox(store, path, { label, fallback = false, write = (value) => store.set(path, value) }) {
  const input = make("input", { type: "checkbox", id: idOf(path) });
  input.addEventListener("change", () => write(input.checked));
  const update = () => (input.checked = store.get(path) ?? fallback);
  const text = make("label", { className: "check" }, input, ` ${label}`);
  return frame(store, path, update, text);
}

/**
 * Return a control with a choice.
 *
 * @param options `label`; `choices()`: pairs of value and text; `fallback`; `read`, `write`: instead
 *   of the value of the document.
 */
export function select(store, path, options) {
  const { label, choices, fallback = "" } = options;
  const input = make("select", { id: options.id ?? idOf(path) });
  const read = options.read ?? (() => store.get(path) ?? fallback);
  const write = options.write ?? ((value) => store.set(path, value === "" ? null : value));
  input.addEventListener("change", () => write(input.value));
  const update = () => {
    const value = read();
    const pairs = [...choices()];
    if (!pairs.some(([one]) => one === value)) pairs.push([value, String(value)]);
    const shown = JSON.stringify(pairs);
    if (input.dataset.choices !== shown) {
      input.dataset.choices = shown;
      input.replaceChildren(...pairs.map(([value, text]) => make("option", { value }, text)));
    }
    input.value = value;
  };
  return frame(store, path, update, row(label, input.id, input));
}

/** Return a control of a text. */
export function text(store, path, { label, fallback = "", placeholder = "" }) {
  const input = make("input", { type: "text", id: idOf(path), placeholder, autocomplete: "off" });
  onEnter(input, (value) => store.set(path, value === fallback ? null : value));
  return frame(store, path, () => show(input, store.get(path) ?? fallback), row(label, input.id, input));
}

/**
 * Return a control of a colour: a picker, and a field for a name.
 *
 * @param options `label`; `fallback`: the default; `empty`: text while there is no value.
 */
export function color(store, path, { label, fallback = "", empty = "" }) {
  const name = make("input", {
    type: "text", id: idOf(path), placeholder: empty, autocomplete: "off", spellcheck: false,
  });
  const picker = make("input", { type: "color", "aria-label": `${label}, picker` });
  const asText = (value) => (Array.isArray(value) ? value.join(", ") : value);
  onEnter(name, (value) => {
    const parts = value.split(",").map((part) => part.trim()).filter(Boolean);
    store.set(path, parts.length > 1 ? parts : (parts[0] ?? null));
  });
  picker.addEventListener("input", () => {
    store.drag(picker, true);
    store.set(path, picker.value);
  });
  for (const event of ["change", "blur"]) picker.addEventListener(event, () => store.drag(picker, false));
  const update = () => {
    const value = store.get(path) ?? fallback;
    show(name, asText(value));
    picker.value = hex(Array.isArray(value) ? value[0] : value);
  };
  return frame(store, path, update, row(label, name.id, picker, name));
}

/** Return a control of three numbers, which are set together. */
export function vector(store, path, { label, fallback = [0, 0, 0], placeholder = null }) {
  const inputs = ["x", "y", "z"].map((axis) =>
    make("input", { type: "number", step: "any", id: idOf(path, axis), "aria-label": `${label}, ${axis}` }),
  );
  for (const input of inputs) {
    onEnter(input, () => {
      const values = inputs.map((one) => numberOf(one.value));
      if (values.every((value) => value === null)) store.set(path, null);
      else store.set(path, values.map((value, axis) => value ?? placeholder?.()[axis] ?? 0));
    });
  }
  const update = () => {
    const value = store.get(path);
    inputs.forEach((input, axis) => {
      show(input, value ? value[axis] : placeholder ? "" : fallback[axis]);
      if (placeholder) input.placeholder = placeholder()[axis];
    });
  };
  return frame(store, path, update, row(label, inputs[0].id, make("div", { className: "three" }, ...inputs)));
}

/**
 * Return a control with a choice of which all are visible.
 *
 * @param options `label`; `choices`: pairs of value and text; `read()`; `write(value)`.
 */
export function segments(store, path, { label, choices, read, write, part = "choice" }) {
  const name = idOf(path, part);
  const inputs = choices.map(([value]) => {
    const input = make("input", { type: "radio", name, value, id: `${name}-${value}`, className: "unseen" });
    input.addEventListener("change", () => write(value));
    return input;
  });
  const group = make(
    "fieldset",
    { className: "row segments" },
    make("legend", {}, label),
    make(
      "div",
      {},
      ...choices.map(([, text], place) => make("label", {}, inputs[place], make("span", {}, text))),
    ),
  );
  const update = () => inputs.forEach((input) => (input.checked = input.value === read()));
  return frame(store, path, update, group);
}

const canvas = document.createElement("canvas").getContext("2d");

/** Return a colour of CSS as #rrggbb; black if it is not known. */
export function hex(name) {
  canvas.fillStyle = "#000000";
  canvas.fillStyle = String(name ?? "");
  return canvas.fillStyle.startsWith("#") ? canvas.fillStyle : "#000000";
}
