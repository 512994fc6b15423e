// Numbers, moments and names in words for people.

import type { DebatePage, Spend } from "./model";

export function percent(share: number): string {
  if (share > 0 && share < 0.0005) return "<0.1\u00a0%";
  if (share >= 0.9995 && share < 1) return ">99.9\u00a0%";
  return `${(share * 100).toFixed(1)}\u00a0%`;
}

export function score(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : value.toFixed(2);
}

export function count(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function moment(iso: string): string {
  return iso.replace("T", " ").replace(/\.\d+Z$/, " UTC").replace(/Z$/, " UTC");
}

export function plain(name: string): string {
  return name.replaceAll("_", " ");
}

export function dollars(micros: number): string {
  return `$${(micros / 1e6).toFixed(Math.max(2, micros % 10_000 === 0 ? 2 : 4))}`;
}

/** What was spent; what has no price is never shown as free. */
export function cost(spend: Spend): string {
  const tokens = `${count(spend.known.input)} tokens in, ${count(spend.known.output)} out${spend.complete ? "" : " or more"}`;
  if (spend.cost === undefined) return `${tokens}, cost unknown`;
  return `${tokens}, ${dollars(spend.cost.cost_micros)}${spend.cost.complete ? "" : " or more"}`;
}

const RULES: { [rule: string]: string } = {
  concluded: "Its last phase was done.",
  consensus: "The participants agree.",
  convergence: "The participants no longer move.",
  confidence: "The participants are sure enough.",
  max_rounds: "All rounds were held.",
  deadline: "Time was up.",
  budget: "A budget was used up.",
  cancelled: "Somebody ended it.",
  failed: "Too little of it could be had.",
};

export function stopReason(page: DebatePage): string {
  const { stop } = page;
  if (stop === null) return page.state === "concluded" ? "It came to its end." : "It has not stopped.";
  const words = RULES[stop.rule] ?? `Rule ${plain(stop.name)}.`;
  const name = stop.name === stop.rule ? "" : ` (${plain(stop.name)})`;
  const isMeasured = stop.rule === "consensus" || stop.rule === "convergence" || stop.rule === "confidence" || stop.rule === "budget";
  return `${words}${name}${isMeasured ? ` ${+stop.statistic.toFixed(4)} against a limit of ${+stop.threshold.toFixed(4)}.` : ""}`;
}

/** Takes signs out of a text that would turn around what stands beside it, for places that take no markup. */
export function flat(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\p{Cc}]/gu, " ");
}
