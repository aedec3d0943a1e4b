/** Changes of the document that the gateway has not answered yet. */

/** Maximum number of changes of a patch. */
const MAX_CHANGES = 64;

/** Set the value at a path, or with null remove it; missing sections on the way are made. */
export function assign(document, path, value) {
  let inside = document;
  for (const key of path.slice(0, -1)) {
    if (inside[key] === null || typeof inside[key] !== "object") inside[key] = {};
    inside = inside[key];
  }
  const last = path.at(-1);
  if (value !== null) inside[last] = value;
  else if (Array.isArray(inside)) inside.splice(last, 1);
  else delete inside[last];
}

/** Return whether one path is the beginning of the other. */
export const isPrefix = (path, other) =>
  path.length <= other.length && path.every((key, place) => key === other[place]);

/**
 * Changes in the order in which they were made: one patch in flight, the next one waiting.
 *
 * A waiting change replaces an earlier one of the same path, and patches are sent at most once per
 * animation frame, so a fast pointer makes no queue.
 */
export class Changes {
  #send;
  #waiting = [];
  #inFlight = [];
  #number = 0; // of the newest patch
  #scheduled = false;

  /** @param send sends a list of changes as a patch of a number; returns whether it was sent. */
  constructor(send) {
    this.#send = send;
  }

  /** Whether the gateway has answered all changes. */
  get settled() {
    return !this.#inFlight.length && !this.#waiting.length;
  }

  /** Add a change. */
  add(path, value) {
    this.#waiting = this.#waiting.filter((change) => !isPrefix(path, change.path));
    this.#waiting.push({ path, value });
    this.#schedule();
  }

  /** Forget all changes. */
  clear() {
    this.#waiting = [];
    this.#inFlight = [];
  }

  /**
   * The gateway has answered the patches up to a number, or without one will answer none of them.
   *
   * @returns whether the patch in flight is among them.
   */
  answered(number = this.#number) {
    if (!this.#inFlight.length || number < this.#number) return false;
    this.#inFlight = [];
    if (this.#waiting.length) this.#schedule();
    return true;
  }

  /** Apply all changes to a document. */
  applyTo(document) {
    for (const { path, value } of [...this.#inFlight, ...this.#waiting]) {
      assign(document, path, structuredClone(value));
    }
    return document;
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush() {
    if (this.#inFlight.length || !this.#waiting.length) return;
    const changes = this.#waiting.slice(0, MAX_CHANGES);
    if (!this.#send(changes, this.#number + 1)) return; // after the next connection
    this.#waiting = this.#waiting.slice(MAX_CHANGES);
    this.#inFlight = changes;
    ++this.#number;
  }
}
