// Asking the server: with the token where one is needed, and following a debate as it goes on.

const DATA = "/viewer/data";
const TOKEN = "debate-token";
const RETRY_FIRST_MS = 300;
const RETRY_MOST_MS = 5_000;

export class ServerError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** What the server refuses, it refuses again; what it cannot do just now, it may do later. */
export function isRefusal(error: unknown): error is ServerError {
  return error instanceof ServerError && error.status < 500 && error.status !== 429;
}

/** What the server says of a log that does not hold together, or that it does not know the format of: there is no page of it. */
export function isUnfolded(error: unknown): error is ServerError {
  return error instanceof ServerError && error.status === 422;
}

/** How long to wait before each next try. */
export function* pauses(): Generator<number, never> {
  for (let pause = RETRY_FIRST_MS; ; pause = Math.min(pause * 2, RETRY_MOST_MS)) yield pause;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

export function debatePath(id: string): string {
  return `${DATA}/debates/${encodeURIComponent(id)}`;
}

export function query(fields: { [name: string]: string | number | null | undefined }): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

async function request(path: string, headers: { [name: string]: string }, signal?: AbortSignal): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  const all = token === null ? headers : { ...headers, Authorization: `Bearer ${token}` };
  const response = await fetch(path, { headers: all, signal: signal ?? null, cache: "no-store" });
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => null);
  const detail = typeof body === "object" && body !== null && "detail" in body ? String(body.detail) : response.statusText;
  throw new ServerError(response.status, detail);
}

export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, { Accept: "application/json" }, signal);
  return (await response.json()) as T;
}

/** Takes what went wrong with one thing that was asked for; null once it went well. */
export type Fail = (of: string, error: unknown) => void;

/** Asks for something, and hands over what came or what went wrong with it. */
export function load<T>(of: string, path: string, came: (found: T) => void, fail: Fail, signal?: AbortSignal): void {
  ask<T>(path, signal).then(
    (found) => {
      if (signal?.aborted === true) return;
      fail(of, null);
      came(found);
    },
    (error: unknown) => {
      if (signal?.aborted !== true) fail(of, error);
    },
  );
}

export function listPath(search: string): string {
  return `${DATA}/debates${search}`;
}

export function formatsPath(): string {
  return `${DATA}/formats`;
}

export function calibrationPath(source: string | null): string {
  return `${DATA}/calibration${query({ source })}`;
}

export function differencePath(a: string, b: string): string {
  return `${DATA}/difference${query({ a, b })}`;
}

/** Saves a debate's bundle as a file. */
export async function download(id: string): Promise<void> {
  const response = await request(`${debatePath(id)}/bundle`, {});
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${id}.bundle`;
  link.click();
  URL.revokeObjectURL(link.href);
}

export interface Heard {
  name: string;
  data: { [key: string]: unknown };
}

export interface Following {
  heard(item: Heard): void;
  connected(isConnected: boolean): void;
  refused(error: ServerError): void;
}

/** Follows a debate from behind an event to its end; a cut connection is taken up again where it was cut. */
export function follow(id: string, after: number, following: Following): () => void {
  const stop = new AbortController();
  void keepFollowing(id, after, following, stop.signal);
  return () => stop.abort();
}

async function keepFollowing(id: string, after: number, following: Following, signal: AbortSignal): Promise<void> {
  let seen = after;
  let pause = pauses();
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", "Last-Event-ID": String(seen) };
      const response = await request(`${debatePath(id)}/follow`, headers, signal);
      following.connected(true);
      for await (const item of events(response)) {
        pause = pauses();
        if (item.id !== undefined) seen = Number(item.id);
        following.heard(item);
        if (item.name === "end") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error)) return following.refused(error);
    }
    following.connected(false);
    await new Promise((wake) => setTimeout(wake, pause.next().value));
  }
}

async function* events(response: Response): AsyncGenerator<Heard & { id?: string }> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const item = read(text.slice(0, end));
      text = text.slice(end + 2);
      if (item !== null) yield item;
    }
  }
}

function read(block: string): (Heard & { id?: string }) | null {
  let name = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("event")) name = value;
    else if (line.startsWith("id")) id = value;
    else if (line.startsWith("data")) data.push(value);
  }
  if (data.length === 0) return null;
  const item = { name, data: JSON.parse(data.join("\n")) as { [key: string]: unknown } };
  return id === undefined ? item : { ...item, id };
}
