// Texts of people and models. They are never markup, and none reverses or displaces the text around it.

import type { ComponentChildren } from "preact";
import type { Json } from "./model";
import { plain } from "./wording";

export const REDACTED = "[redacted]";

/** A text within a line. */
export function Words({ text }: { text: string | null | undefined }) {
  return <bdi class="words">{text ?? REDACTED}</bdi>;
}

/** A text of its own. */
export function Prose({ text }: { text: string }) {
  return (
    <p class="prose" dir="auto">
      {text}
    </p>
  );
}

/** Texts of a line each. */
export function Lines({ texts }: { texts: string[] }) {
  return (
    <ul>
      {texts.map((text) => (
        <li key={text}>
          <Words text={text} />
        </li>
      ))}
    </ul>
  );
}

/** Any JSON, laid out for reading. */
export function Tree({ value }: { value: Json }) {
  if (value === null || value === "") return <span class="quiet">none</span>;
  if (typeof value === "string") return value.length > 80 || value.includes("\n") ? <Prose text={value} /> : <Words text={value} />;
  if (typeof value !== "object") return <>{String(value)}</>;
  if (Array.isArray(value)) {
    if (value.length === 0) return <span class="quiet">none</span>;
    return (
      <ul>
        {value.map((item, place) => (
          <li key={place}>
            <Tree value={item} />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <dl class="tree">
      {Object.entries(value).map(([name, item]) => (
        <div key={name}>
          <dt>
            <Words text={plain(name)} />
          </dt>
          <dd>
            <Tree value={item} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Notice({ kind, children }: { kind: "good" | "warn" | "bad" | "note"; children: ComponentChildren }) {
  return <p class={`notice ${kind}`}>{children}</p>;
}

export function Badge({ kind, children }: { kind: string; children: ComponentChildren }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}
