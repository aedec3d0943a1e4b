/** Steering of the run: parameters, interval of published steps, checkpoint, end. */

import { numberOf, onEnter, rebuild, row, show } from "./controls.js";
import { button, byId, make } from "./dom.js";
import { short } from "./numbers.js";

/** Show the panel; `send` sends a message, and returns whether the connection is open. */
export function makeSteeringPanel(store, send) {
  const root = byId("steering");
  const unanswered = new Map(); // control of each request by its number
  let numbers = 0;

  const request = (control, content) => {
    if (!send({ type: "steer", id: ++numbers, request: content })) {
      return control.say("The connection is lost; nothing was sent.", true);
    }
    unanswered.set(numbers, control);
    control.say(content.request === "hold" || content.request === "release" ? "" : "Sent; the run answers after its present step.");
  };

  const state = () => store.steering?.state;
  const mine = () => Boolean(store.steering?.confirmed && store.steering.holder === store.hello?.page);

  const sentence = make("p", { id: "steering-holder" });
  const take = button("Take the right to steer", () =>
    request(holding, { request: mine() ? "release" : "hold" }), { id: "steering-right" });
  const holding = withReply("steering-right-reply", sentence, make("div", { className: "pair" }, take));

  const list = make("div", { className: "steered" });
  let controls = [];
  const every = numberControl(request, {
    key: "publish-every", label: "Publish every", unit: "steps", integer: true, low: 1,
    value: () => state().publish_every,
    content: (steps) => ({ request: "publish_every", steps }),
  });
  const checkpoint = button("Checkpoint now", () => request(actions, { request: "checkpoint" }), { id: "steer-checkpoint" });
  const stop = button("Stop the run …", () => {
    dialog.returnValue = "";
    dialog.showModal();
  }, { id: "steer-stop", "aria-haspopup": "dialog" });
  const actions = withReply("steer-actions-reply", make("div", { className: "pair" }, checkpoint, stop));
  const dialog = byId("stop");
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "stop") request(actions, { request: "stop" });
  });
  const body = make("div", { className: "steered", hidden: true }, holding, list, every, actions);
  const reason = make("p", { className: "hint", id: "steering-reason" }, "The stream has not begun.");
  root.append(reason, body);

  let shape = "";
  const update = () => {
    const now = state();
    if (!now) return;
    reason.hidden = now.available;
    reason.textContent = now.text;
    body.hidden = !now.available;
    if (!now.available) return;
    const shown = JSON.stringify(Object.entries(now.parameters).map(([name, { value, ...rest }]) => [name, rest]));
    if (shown !== shape) {
      shape = shown;
      controls = Object.entries(now.parameters).map(([name, one]) => parameterControl(request, name, one, state));
      rebuild(list, ...controls);
    }
    const { holder } = store.steering;
    const other = holder !== null && holder !== store.hello?.page ? holder : holder === null ? now.holder : "";
    const asked = holder !== null && !other && !mine();
    sentence.textContent = mine() ? "This page holds the right to steer."
      : asked ? "The right to steer is requested …"
        : other ? `Read only: ${other} holds the right to steer.`
          : "Read only: take the right to steer to change the run.";
    take.textContent = mine() ? "Return the right to steer" : "Take the right to steer";
    take.disabled = asked || Boolean(other);
    if (store.hello?.read_only) {
      sentence.textContent = `Read only: this page was opened by a read-only address.${other ? ` ${other} holds the right to steer.` : ""}`;
    }
    take.hidden = Boolean(store.hello?.read_only);
    take.classList.toggle("main", !mine());
    for (const one of [...controls, every]) one.update(mine());
    for (const one of [checkpoint, stop]) one.disabled = !mine();
    if (!mine() && dialog.open) dialog.close("");
  };
  store.on("steering", update);
  let key = ""; // of the connection before
  store.on("hello", () => {
    if (key) send({ type: "resume", key });
    key = store.hello.key;
    for (const control of unanswered.values()) control.say("The connection was lost before the answer.", true);
    unanswered.clear();
    update();
  });
  store.on("steered", ({ id, ok, text }) => {
    const control = unanswered.get(id);
    control?.say(sentenceOf(text, control.name), !ok);
    if (ok) control?.applied?.();
    unanswered.delete(id);
  });
}

/** Return an element with a place for the reply to its request. */
function withReply(id, ...children) {
  const reply = make("p", { id, className: "hint", role: "status" });
  const element = make("div", { className: "control" }, ...children, reply);
  element.say = (text, failed = false) => {
    reply.textContent = text;
    reply.className = failed ? "error" : "hint";
    const input = element.querySelector("input");
    if (failed) {
      input?.setAttribute("aria-invalid", "true");
    } else input?.removeAttribute("aria-invalid");
  };
  return element;
}

/**
 * Return a control of a number of the run, which is sent by its button or by Enter.
 *
 * @param options `key`; `label`; `unit`; `integer`; `low`, `high`; `hint`; `value()`; `content(value)`:
 *   the request.
 */
function numberControl(request, { key, label, unit, value, content, ...more }) {
  const { integer = false, low = null, high = null, hint = "" } = more;
  const id = `steer-${key}`;
  const input = make("input", {
    type: "number", id, step: integer ? 1 : "any", min: low ?? undefined, max: high ?? undefined,
    inputMode: "decimal", readOnly: true, autocomplete: "off",
    "aria-describedby": `${hint ? `${id}-hint ` : ""}${id}-reply`,
  });
  const set = () => {
    const entered = numberOf(input.value);
    if (input.readOnly) return;
    if (entered === null || input.validity.badInput) return element.say("Enter a number.", true);
    request(element, content(entered));
  };
  const apply = button("Set", set, { "aria-label": `Set ${label}` });
  const line = row(label, id, input, unit ? make("span", { className: "unit" }, unit) : null, apply);
  line.classList.add("set");
  const element = withReply(`${id}-reply`, line, hint ? make("p", { className: "hint", id: `${id}-hint` }, hint) : null);
  element.name = label;
  let edited = false;
  input.addEventListener("input", () => (edited = true));
  onEnter(input, () => {});
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") set();
    if (event.key === "Escape" && edited) {
      edited = false;
      delete input.dataset.typing;
      show(input, value());
      element.say("");
      event.stopPropagation();
    }
  });
  element.applied = () => {
    edited = false; // the next state has the new value
    delete input.dataset.typing;
  };
  element.update = (allowed) => {
    input.readOnly = !allowed;
    apply.disabled = !allowed;
    if (!allowed) edited = false;
    if (!edited) show(input, value());
  };
  return element;
}

function parameterControl(request, name, { low, high, unit, description }, state) {
  const range = low !== null && high !== null ? `${short(low)} to ${short(high)}`
    : low !== null ? `at least ${short(low)}` : high !== null ? `at most ${short(high)}` : "";
  return numberControl(request, {
    key: `set-${name}`, label: name, unit: unit === "1" ? "" : unit, low, high,
    hint: [description && sentenceOf(description).replace(/\.$/, ""), range].filter(Boolean).join(": "),
    value: () => state().parameters[name].value,
    content: (value) => ({ request: "set", name, value }),
  });
}

/** Return a text as a sentence; it may begin with a name, which is kept. */
function sentenceOf(text, name = "") {
  const begun = name && text.startsWith(name) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  if (!begun) return "";
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
