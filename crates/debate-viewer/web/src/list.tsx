// The list of debates: found by words, format, state, completeness and time; what runs is shown as it moves.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry, ListPage } from "./model";
import { type Fail, formatsPath, listPath, load, query } from "./server";
import { Badge, REDACTED, Words } from "./text";
import { count, counted, kindOf, moment, plain } from "./wording";

/** How often a list with debates under way is asked for again, and how often one without: others may begin. */
const AGAIN_MS = 2_000;
const AGAIN_QUIET_MS = 15_000;
/** How long after a key the list is asked for. */
const TYPING_MS = 200;

interface Filter {
  search: string;
  format: string;
  state: string;
  completeness: string;
  since: string;
  until: string;
}

function filterOf(search: string): Filter {
  const params = new URLSearchParams(search);
  const field = (name: string) => params.get(name) ?? "";
  return { search: field("search"), format: field("format"), state: field("state"), completeness: field("completeness"), since: field("since"), until: field("until") };
}

/** A day of the calendar as the moment at which it begins, in UTC. */
function midnight(day: string): string {
  return day === "" ? "" : `${day}T00:00:00Z`;
}

function path(filter: Filter, before: number | null): string {
  return listPath(query({ ...filter, since: midnight(filter.since), until: midnight(filter.until), before }));
}

export function ListView({ fail }: { fail: Fail }) {
  const [filter, setFilter] = useState(() => filterOf(location.search));
  const [page, setPage] = useState<ListPage | null>(null);
  const [known, setKnown] = useState<string[]>([]);
  // Ends with the filter that it belongs to.
  const scope = useRef(new AbortController());

  useEffect(() => {
    document.title = "Debates";
    load("formats", formatsPath(), setKnown, fail);
  }, []);

  useEffect(() => {
    history.replaceState(null, "", location.pathname + query({ ...filter }));
    const stop = new AbortController();
    scope.current = stop;
    const wait = window.setTimeout(() => load("list", path(filter, null), setPage, fail, stop.signal), TYPING_MS);
    return () => {
      stop.abort();
      window.clearTimeout(wait);
    };
  }, [filter]);

  // Only the newest debates are asked for again; those behind them have mostly ended.
  const isMoving = page?.debates.some((entry) => entry.state !== "concluded") ?? false;
  useEffect(() => {
    const again = window.setInterval(
      () => {
        if (document.hidden) return;
        load<ListPage>("list", path(filter, null), (newest) => setPage((page) => (page === null ? newest : joined(newest, page))), fail, scope.current.signal);
      },
      isMoving ? AGAIN_MS : AGAIN_QUIET_MS,
    );
    return () => window.clearInterval(again);
  }, [isMoving, filter]);

  const more = () =>
    load<ListPage>(
      "older",
      path(filter, page?.before ?? null),
      (next) => setPage((page) => ({ debates: [...(page?.debates ?? []), ...next.debates], before: next.before })),
      fail,
      scope.current.signal,
    );

  const set = (name: keyof Filter) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) => setFilter({ ...filter, [name]: event.currentTarget.value });
  return (
    <>
      <h1>Debates</h1>
      <search class="filters">
        <label>
          Search
          <input type="search" value={filter.search} onInput={set("search")} placeholder="words of the question, or an id" />
        </label>
        <Choice label="Format" value={filter.format} options={known} set={set("format")} />
        <Choice label="State" value={filter.state} options={["running", "paused", "concluded"]} set={set("state")} />
        <Choice label="Completeness" value={filter.completeness} options={["full", "partial", "void"]} set={set("completeness")} />
        <label>
          Opened from
          <input type="date" value={filter.since} onInput={set("since")} />
        </label>
        <label>
          Opened before
          <input type="date" value={filter.until} onInput={set("until")} />
        </label>
      </search>
      {page === null ? (
        <p role="status">Reading the list…</p>
      ) : (
        <>
          <p role="status" class="quiet">{`${counted(page.debates.length, "debate")} shown${page.before === null ? "" : ", there are more"}`}</p>
          <ol class="list">
            {page.debates.map((entry) => (
              <Row key={entry.debate_id} entry={entry} />
            ))}
          </ol>
          {page.before !== null && (
            <button type="button" onClick={more}>
              Older debates
            </button>
          )}
        </>
      )}
    </>
  );
}

/** Puts the newest debates in front of those behind them. */
function joined(newest: ListPage, page: ListPage): ListPage {
  const fresh = new Set(newest.debates.map((entry) => entry.debate_id));
  const rest = page.debates.filter((entry) => !fresh.has(entry.debate_id));
  const isFirstPage = page.debates.length <= newest.debates.length;
  return { debates: [...newest.debates, ...(isFirstPage ? [] : rest)], before: isFirstPage ? newest.before : page.before };
}

function Choice({ label, value, options, set }: { label: string; value: string; options: string[]; set: (event: { currentTarget: HTMLSelectElement }) => void }) {
  return (
    <label>
      {label}
      <select value={value} onInput={set}>
        <option value="">any</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {plain(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Row({ entry }: { entry: Entry }) {
  const { progress, spend } = entry;
  const whole = entry.completeness;
  return (
    <li>
      <div class="row">
        {whole === null ? <Badge kind="note">{entry.state}</Badge> : <Badge kind={kindOf(whole)}>{whole}</Badge>}
        {entry.simulated && <Badge kind="bad">simulated</Badge>}
        <a href={`/viewer/debates/${entry.debate_id}`}>
          <Words text={entry.title ?? REDACTED} />
        </a>
      </div>
      <p class="quiet">
        {`${plain(entry.format)}, ${moment(entry.opened_at)}, ${counted(entry.head_seq, "event")}`}
        {progress !== null && progress.phase !== null && `, round ${progress.round} ${plain(progress.phase)}`}
        {entry.forked_from !== null && (
          <>
            {`, fork of ${entry.forked_from.debate_id.slice(0, 8)} at ${entry.forked_from.at} with `}
            <Words text={entry.forked_from.change} />
          </>
        )}
      </p>
      <p class="quiet">
        {spend !== null && `${counted(spend.calls, "call")}${progress === null ? "" : ` of ${count(progress.calls_expected)}`}${entry.spent === null ? "" : `, ${entry.spent}`}`}
        {progress !== null && spend !== null && <progress max={Math.max(progress.calls_expected, spend.calls)} value={spend.calls} aria-label="calls" />}
      </p>
    </li>
  );
}
