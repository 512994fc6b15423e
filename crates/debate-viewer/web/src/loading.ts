// Asking for the page of a debate until it is there: one request at a time, tried again where the server cannot be reached.

import type { DebatePage } from "./model";
import { ask, debatePath, isRefusal, pauses, query } from "./server";

export interface LoadListener {
  came(page: DebatePage): void;
  /** Whether the page stands still because the server could not be asked. */
  late(isLate: boolean): void;
  refused(error: unknown): void;
}

export class Loader {
  #at: number | null = null;
  #head = 0;
  #isAsking = false;
  #wake: () => void = () => undefined;
  readonly #stop = new AbortController();

  constructor(
    readonly id: string,
    readonly listener: LoadListener,
  ) {}

  /** Asks for the debate at an event, null for the latest, from a log that reaches at least to `head`. */
  want(at: number | null, head: number): void {
    this.#at = at;
    this.#head = Math.max(this.#head, head);
    this.#wake();
    void this.#run();
  }

  stop(): void {
    this.#stop.abort();
    this.#wake();
  }

  async #run(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    let pause = pauses();
    while (!this.#stop.signal.aborted) {
      const at = this.#at;
      try {
        const page = await ask<DebatePage>(debatePath(this.id) + query({ at }), this.#stop.signal);
        pause = pauses();
        this.listener.late(false);
        this.listener.came(page);
        if (this.#at === at && page.head_seq >= this.#head) break;
        if (this.#at !== at) continue;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        if (isRefusal(error)) {
          this.listener.refused(error);
          break;
        }
        this.listener.late(true);
      }
      await this.#rest(pause.next().value);
    }
    this.#isAsking = false;
  }

  /** Waits, unless something else is asked for meanwhile. */
  #rest(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.#wake = wake;
      window.setTimeout(wake, ms);
    });
  }
}
