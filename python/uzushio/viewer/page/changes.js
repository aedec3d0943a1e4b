/** Changes of the document that the gateway has not answered yet. */

/** Time after which an unanswered patch no longer holds back the next, milliseconds. */
const ANSWER_LIMIT = 2000;
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
  #limit;
  #waiting = [];
  #inFlight = [];
  #timer = 0;
  #scheduled = false;

  /**
   * @param send sends a list of changes; returns whether it was sent.
   * @param limit timeout of the answer, milliseconds.
   */
  constructor(send, limit = ANSWER_LIMIT) {
    this.#send = send;
    this.#limit = limit;
  }

  /** Whether a patch is in flight. */
  get inFlight() {
    return this.#inFlight.length > 0;
  }

  /** Whether the gateway has all changes. */
  get settled() {
    return !this.inFlight && !this.#waiting.length;
  }

  /** Add a change. */
  add(path, value) {
    this.#waiting = this.#waiting.filter((change) => !isPrefix(path, change.path));
    this.#waiting.push({ path, value });
    this.#schedule();
  }

  /** Forget all changes. */
  clear() {
    clearTimeout(this.#timer);
    this.#waiting = [];
    this.#inFlight = [];
  }

  /** The gateway has answered the patch in flight. */
  answered() {
    clearTimeout(this.#timer);
    this.#inFlight = [];
    if (this.#waiting.length) this.#schedule();
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
    if (this.inFlight || !this.#waiting.length) return;
    const changes = this.#waiting.slice(0, MAX_CHANGES);
    if (!this.#send(changes)) return; // after the next connection
    this.#waiting = this.#waiting.slice(MAX_CHANGES);
    this.#inFlight = changes;
    this.#timer = setTimeout(() => this.answered(), this.#limit);
  }
}
