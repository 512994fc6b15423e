// Time, by sequence number: the page shows the debate as it was after the event under the handle.

import { useState } from "preact/hooks";
import type { DebatePage } from "./model";
import { count, moment } from "./wording";

interface SliderProps {
  at: number;
  head: number;
  isLatest: boolean;
  page: DebatePage;
  move: (at: number | null) => void;
}

export function Slider({ at, head, isLatest, page, move }: SliderProps) {
  const [copied, setCopied] = useState(false);
  const link = `${location.origin}${location.pathname}?at=${at}`;
  const go = (to: number) => {
    setCopied(false);
    move(Math.min(Math.max(to, 1), head));
  };
  const shown = page.seq === at ? `${moment(page.at)}` : "…";
  return (
    <section class="time" aria-label="Time">
      <label for="moment">{`Event ${count(at)} of ${count(head)}`}</label>
      <span class="quiet" id="moment-at">
        {shown}
      </span>
      <div class="row">
        <button type="button" onClick={() => go(at - 1)} disabled={at <= 1} aria-label="One event back">
          ‹
        </button>
        <input
          id="moment"
          type="range"
          min="1"
          max={Math.max(head, 1)}
          step="1"
          value={at}
          aria-valuetext={`event ${at} of ${head}`}
          aria-describedby="moment-at"
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
        <button type="button" onClick={() => go(at + 1)} disabled={at >= head} aria-label="One event on">
          ›
        </button>
      </div>
      <div class="row">
        {isLatest ? (
          <span class="quiet">{page.state === "concluded" ? "The debate as it stands." : "The debate as it goes on."}</span>
        ) : (
          <button type="button" onClick={() => move(null)}>
            Back to the latest
          </button>
        )}
        <a href={link}>Link to this moment</a>
        <button
          type="button"
          onClick={() => {
            void navigator.clipboard?.writeText(link).then(() => setCopied(true));
          }}
        >
          {copied ? "Copied" : "Copy the link"}
        </button>
      </div>
    </section>
  );
}
