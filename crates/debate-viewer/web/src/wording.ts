// Numbers, moments and names in words for people.

import type { DebatePage } from "./model";

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

/** Says how many of something there are. */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Returns how a completeness is coloured. */
export function kindOf(whole: "full" | "partial" | "void"): "good" | "warn" | "bad" {
  return whole === "full" ? "good" : whole === "partial" ? "warn" : "bad";
}

export function moment(iso: string): string {
  return iso.replace("T", " ").replace(/\.\d+Z$/, " UTC").replace(/Z$/, " UTC");
}

export function plain(name: string): string {
  return name.replaceAll("_", " ");
}

/** Returns who is asked for what by a call such as `argue/1/optimist`; any other text is returned unchanged. */
export function asked(call: string, format: string): { role: string; what: string } {
  const [kind, number, ...role] = call.split("/");
  if (role.length === 0 || kind === undefined) return { role: call, what: "" };
  return { role: role.join("/"), what: `${format === "review" ? "pair" : "round"} ${number}, ${plain(kind)}` };
}

export function stopReason(page: DebatePage): string {
  return page.stop?.words ?? (page.state === "concluded" ? "It came to its end." : "It has not stopped.");
}

/** Removes the characters that would reverse the text around it, for places that take no markup. */
export function flat(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f\p{Cc}]/gu, " ");
}
