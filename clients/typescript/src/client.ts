/** A client of the debate engine over REST and server-sent events: for Node from 20 on, and for browsers. */

/** One event of a debate's log; `proto/debate/v1` says what there is. */
export interface DebateEvent {
  readonly seq: number;
  readonly kind: string;
  readonly at: string;
  readonly body: Record<string, unknown>;
  readonly prose: unknown;
  readonly redacted: boolean;
  readonly hash: string;
}

/** A debate as it stands. */
export interface Debate {
  readonly id: string;
  readonly format: string;
  readonly state: string;
  readonly title: string;
  readonly [field: string]: unknown;
}

/** A debate with what it came to, or what it would come to now. */
export interface Shown {
  readonly debate: Debate;
  readonly result: Record<string, unknown>;
}

export interface Options {
  /** Sent as a bearer token. */
  readonly token?: string;
  /** Tries in a row that bring nothing new, after which a server that is away is given up; 10 unless given. */
  readonly triesMax?: number;
}

/** The server refused a request (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly reason: string,
    readonly errors: ReadonlyArray<{ field: string; reason: string }>,
    detail: string,
  ) {
    super(detail);
  }
}

/** The way to the server broke, or it is away: the same may be asked again. */
class Away extends Error {}

/** Returns whether an address contains no secrets: when the runtime refuses an address, its error contains the whole address. */
function isPlain(server: string): boolean {
  if (!URL.canParse(server)) return false;
  const { protocol, username, password, search, hash } = new URL(server);
  return ["http:", "https:"].includes(protocol) && [username, password, search, hash].every((part) => part === "");
}

const PAUSE_MS = 100;
const PAUSE_MAX_MS = 5_000;

export class DebateClient {
  // Nothing that prints a client prints its token.
  readonly #options: Options;

  /** `server` is such as `http://localhost:50051`; one that is no such address is a `TypeError`, which does not tell it. */
  constructor(
    private readonly server: string,
    options: Options = {},
  ) {
    this.#options = options;
    if (!isPlain(server)) throw new TypeError("the server must be http:// or https://, without login, query and fragment");
  }

  /** Starts a debate once, however often it has to be sent (rule K11); `format` in the request names another than prediction. */
  async start(request: object, requestId: string = crypto.randomUUID()): Promise<Debate> {
    const headers = { "content-type": "application/json", "idempotency-key": requestId };
    const init = { method: "POST", headers, body: JSON.stringify(request) };
    for (let tries = 0; ; tries++) {
      try {
        const response = await this.fetch("/api/v1/debates", init);
        return ((await response.json()) as { debate: Debate }).debate;
      } catch (error) {
        await this.pause(error, tries);
      }
    }
  }

  /** Returns a debate as it stands, with its result. */
  async show(id: string): Promise<Shown> {
    return (await (await this.fetch(`/api/v1/debates/${id}`)).json()) as Shown;
  }

  /** Follows a debate until it has concluded, over as many connections as it takes: every event once, in order (rule K10). */
  async *events(id: string, after = 0): AsyncGenerator<DebateEvent, void, undefined> {
    for (let tries = 0; ; tries++) {
      try {
        const headers = { accept: "text/event-stream", "last-event-id": String(after) };
        const response = await this.fetch(`/api/v1/debates/${id}/events`, { headers });
        if (response.status === 204) return;
        for await (const [kind, data] of messages(response)) {
          if (kind === "problem") throw new Away(data);
          const event = JSON.parse(data) as DebateEvent;
          [after, tries] = [event.seq, 0];
          yield event;
        }
      } catch (error) {
        await this.pause(error, tries);
      }
    }
  }

  private async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#options.token !== undefined) headers.set("authorization", `Bearer ${this.#options.token}`);
    let response: Response;
    try {
      // Token and words are for this server alone.
      response = await fetch(this.server + path, { ...init, headers, redirect: "manual" });
    } catch (error) {
      throw new Away("the server cannot be reached", { cause: error });
    }
    if (response.ok) return response;
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      throw new Problem(response.status, "REDIRECTED", [], "the server leads elsewhere, where nothing is sent");
    }
    if (response.status === 503) throw new Away("the server is ending");
    const problem = (await response.json()) as Partial<Problem> & { detail?: string };
    throw new Problem(response.status, problem.reason ?? "", problem.errors ?? [], problem.detail ?? response.statusText);
  }

  /** Waits before the next try; throws what no further try can mend. */
  private async pause(error: unknown, tries: number): Promise<void> {
    if (!(error instanceof Away) || tries >= (this.#options.triesMax ?? 10)) throw error;
    const ms = Math.min(PAUSE_MS * 2 ** Math.min(tries, 16), PAUSE_MAX_MS);
    await new Promise((done) => setTimeout(done, ms));
  }
}

/** Reads server-sent events: kind and data of each that is whole. */
async function* messages(response: Response): AsyncGenerator<[string, string], void, undefined> {
  if (response.body === null) throw new Away("there is no stream");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const fields = block.split("\n").map((line) => line.split(/: ?(.*)/s, 2) as [string, string | undefined]);
        const of = (name: string) => fields.filter(([field]) => field === name).map(([, text]) => text ?? "");
        const data = of("data").join("\n");
        if (data !== "") yield [of("event").join(""), data];
      }
    }
  } catch (error) {
    throw new Away("the stream was cut", { cause: error });
  } finally {
    // Releases the connection when the caller stops reading; canceling a broken connection fails.
    await reader.cancel().catch(() => undefined);
  }
}
