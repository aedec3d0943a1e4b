/** WebSocket to the gateway, which connects again by itself. */

/** Pause before connecting again, milliseconds: the first, and the maximum. */
const FIRST_PAUSE = 500;
const MAX_PAUSE = 15000;

/** Exchange the one-time token of the address for a cookie; return the refusal, or "". */
export async function logIn() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return "";
  // At once, so that the token is neither in the address bar nor in the history.
  history.replaceState(null, "", location.pathname + location.search);
  const answer = await fetch("login", { method: "POST", body: JSON.stringify({ token }) });
  return answer.ok ? "" : await answer.text();
}

/**
 * Connection, with its state: `connecting`, `open`, `lost` (and connecting again), `refused`
 * (there is no valid cookie) or `ended`.
 */
export class Connection {
  state = "connecting";
  /** Sentence on the state. */
  text = "";
  /** Reason why the token of the address was refused, or "". */
  refusal = "";
  /** Time of the next attempt while the state is `lost`, as of `Date.now`. */
  next = 0;
  #socket = null;
  #pause = FIRST_PAUSE;
  #timer = 0;
  #handlers;

  /**
   * @param handlers functions `message` (an object), `frame` (an ArrayBuffer), `state`, and
   *   `query`, which returns the parameters of the address.
   */
  constructor(handlers) {
    this.#handlers = handlers;
    addEventListener("online", () => this.state === "lost" && this.connect());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.state === "lost") this.connect();
    });
  }

  /** Send a message; return whether the connection is open. */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** Connect now. */
  connect() {
    clearTimeout(this.#timer);
    this.#socket?.close();
    if (this.state !== "connecting") this.#become("connecting");
    const address = new URL("ws", document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    address.search = String(new URLSearchParams(this.#handlers.query()));
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let opened = false;
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) return this.#handlers.frame(data);
      const message = JSON.parse(data);
      if (message.type === "hello") {
        opened = true;
        this.#pause = FIRST_PAUSE;
        this.#become("open");
      }
      if (message.type === "ended") this.#become("ended", message.message);
      else this.#handlers.message(message);
    };
    socket.onclose = (event) => {
      if (socket !== this.#socket || this.state === "ended") return;
      this.#lost(event.reason, opened);
    };
  }

  async #lost(reason, opened) {
    this.#socket = null;
    if (!opened && !reason && (await isLoggedOut())) return this.#become("refused", this.refusal);
    if (this.#socket) return; // connected meanwhile
    const pause = this.#pause * (0.8 + 0.4 * Math.random());
    this.#pause = Math.min(MAX_PAUSE, 2 * this.#pause);
    this.next = Date.now() + pause;
    this.#timer = setTimeout(() => this.connect(), pause);
    this.#become("lost", reason);
  }

  #become(state, text = "") {
    this.state = state;
    this.text = text;
    this.#handlers.state(this);
  }
}

/** Return whether the gateway answers, and refuses the cookie. */
async function isLoggedOut() {
  try {
    return (await fetch("picture.png", { signal: AbortSignal.timeout(5000) })).status === 401;
  } catch {
    return false;
  }
}
