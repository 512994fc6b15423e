// The page of one debate: what came of it first, then the way there, at any event of its log.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { AuditView } from "./audit";
import { ConversationView } from "./conversation";
import type { DebatePage, Decision, Verification } from "./model";
import { PredictionView, dissenters, likeliest, namer, resultOf, rulesOf } from "./prediction";
import { type Heard, ServerError, ask, debatePath, follow, query } from "./server";
import { Slider } from "./slider";
import { Badge, Notice, Prose, REDACTED, Words } from "./text";
import { cost, count, flat, moment, percent, plain, score, stopReason } from "./wording";

/** The page is asked for at most so often while a debate goes on. */
const REFRESH_MS = 250;

/** A longer text has a row of its own. */
const TILE_CHARS = 120;

interface Piece {
  call: string;
  text: string;
  isWhole: boolean;
}

/** Kinds of events after which what was heard of an attempt says nothing any more. */
const ENDS_SPEECH = new Set(["call_answered", "turn_answered", "attempt_failed", "attempt_abandoned", "call_voided"]);

function attemptName(data: Heard["data"]): string {
  return `${data.call} ${data.revision} ${data.attempt}`;
}

export function DebateView({ id, fail }: { id: string; fail: (error: unknown) => void }) {
  const params = new URLSearchParams(location.search);
  const asked = Number(params.get("at"));
  const [page, setPage] = useState<DebatePage | null>(null);
  const [pinned, setPinned] = useState<number | null>(asked > 0 ? asked : null);
  const [tab, setTab] = useState(params.get("tab") === "audit" ? "audit" : "debate");
  const [head, setHead] = useState(0);
  const [isConnected, setConnected] = useState<boolean | null>(null);
  const [pieces, setPieces] = useState<ReadonlyMap<string, Piece>>(new Map());
  // A piece may come in behind the event that ends its attempt.
  const ended = useRef(new Set<string>());
  const wanted = useRef<number | null>(pinned);
  const loading = useRef(false);

  // One request at a time; where more was asked for meanwhile, the latest is asked for next.
  const load = useCallback(async () => {
    if (loading.current) return;
    loading.current = true;
    try {
      for (;;) {
        const at = wanted.current;
        const next = await ask<DebatePage>(debatePath(id) + query({ at }));
        setPage(next);
        setHead((head) => Math.max(head, next.head_seq));
        if (wanted.current === at) return;
      }
    } catch (error) {
      if (error instanceof ServerError) fail(error);
    } finally {
      loading.current = false;
    }
  }, [id]);

  const move = useCallback(
    (at: number | null) => {
      wanted.current = at;
      setPinned(at);
      const search = new URLSearchParams(location.search);
      if (at === null) search.delete("at");
      else search.set("at", String(at));
      history.replaceState(null, "", `${location.pathname}${query(Object.fromEntries(search))}${location.hash}`);
      void load();
    },
    [load],
  );

  const turn = (next: string) => {
    setTab(next);
    const search = { ...Object.fromEntries(new URLSearchParams(location.search)), tab: next === "audit" ? next : null };
    history.replaceState(null, "", location.pathname + query(search));
  };

  useEffect(() => void load(), [load]);

  const isLoaded = page !== null;
  const isOver = useRef(false);
  isOver.current ||= page !== null && page.state === "concluded" && page.seq === page.head_seq;
  useEffect(() => {
    if (!isLoaded || isOver.current) return;
    let refresh: number | undefined;
    const heard = (item: Heard) => {
      if (item.name === "text" && ended.current.has(attemptName(item.data))) return;
      if (item.name === "text") return setPieces((pieces) => grown(pieces, item.data));
      if (item.name !== "event") return;
      const seq = Number(item.data.seq);
      setHead((head) => Math.max(head, seq));
      if (ENDS_SPEECH.has(String(item.data.kind))) {
        ended.current.add(attemptName(item.data));
        setPieces((pieces) => new Map([...pieces].filter(([name]) => name !== attemptName(item.data))));
      }
      refresh ??= window.setTimeout(() => {
        refresh = undefined;
        if (wanted.current === null) void load();
      }, REFRESH_MS);
    };
    const stop = follow(id, page?.head_seq ?? 0, { heard, connected: setConnected, refused: fail });
    return () => {
      stop();
      window.clearTimeout(refresh);
    };
  }, [id, isLoaded, load]);

  useEffect(() => {
    document.title = flat(page?.title ?? REDACTED);
  }, [page?.title]);

  if (page === null) return <p role="status">Reading the debate…</p>;
  const isLive = pinned === null && page.state !== "concluded";
  return (
    <>
      <DebateHead page={page} isReport={false} />
      {isLive && isConnected === false && <Notice kind="warn">The connection was cut. The debate goes on; this page catches up as soon as it can.</Notice>}
      <Glance page={page} verification={<VerificationLine id={id} head={page.seq} isFinal={page.state === "concluded"} />} />
      <Slider at={pinned ?? head} head={head} isLatest={pinned === null} page={page} move={move} />
      <nav class="tabs" aria-label="Views of this debate">
        {["debate", "audit"].map((name) => (
          <button type="button" key={name} aria-pressed={tab === name} onClick={() => turn(name)}>
            {name === "debate" ? "Debate" : "Audit"}
          </button>
        ))}
        <a href={`/viewer/compare${query({ a: page.forked_from?.debate_id ?? id, b: page.forked_from === null ? null : id })}`}>
          {page.forked_from === null ? "Compare with another debate" : "Compare with its parent"}
        </a>
      </nav>
      {tab === "audit" ? <AuditView page={page} head={head} fail={fail} move={move} /> : <Course page={page} live={isLive ? <Live page={page} pieces={pieces} /> : null} />}
    </>
  );
}

/** What was said and what came of it. */
export function Course({ page, live }: { page: DebatePage; live: preact.ComponentChildren }) {
  return page.format === "prediction" ? <PredictionView page={page} live={live} /> : <ConversationView page={page} live={live} />;
}

function grown(pieces: ReadonlyMap<string, Piece>, data: Heard["data"]): ReadonlyMap<string, Piece> {
  const name = attemptName(data);
  const known = pieces.get(name);
  const isWhole = known?.isWhole ?? data.number === 1;
  return new Map(pieces).set(name, { call: String(data.call), text: (known?.text ?? "") + String(data.text), isWhole });
}

function Live({ page, pieces }: { page: DebatePage; pieces: ReadonlyMap<string, Piece> }) {
  const heard = [...pieces.values()];
  const silent = page.speaking.filter((attempt) => !heard.some((piece) => piece.call === attempt.call));
  return (
    <section class="round" aria-label="Under way">
      <h3>Under way</h3>
      {heard.map((piece) => (
        <article class="said live" key={piece.call}>
          <header>
            <h4>
              <Words text={piece.call} />
            </h4>
            <span>is speaking</span>
          </header>
          <p class="prose" dir="auto">
            {(piece.isWhole ? "" : "… ") + piece.text}
            <span class="cursor" aria-hidden="true" />
          </p>
        </article>
      ))}
      {silent.length > 0 && (
        <p class="quiet">
          {"Waited for: "}
          {silent.map((attempt, place) => (
            <>
              {place > 0 && ", "}
              <Words text={attempt.call} />
            </>
          ))}
        </p>
      )}
      {heard.length === 0 && silent.length === 0 && <p class="quiet">{page.state === "paused" ? "The debate is paused." : "Nobody is speaking just now."}</p>}
    </section>
  );
}

export function DebateHead({ page, isReport }: { page: DebatePage; isReport: boolean }) {
  return (
    <header class="head">
      {page.simulated && <Notice kind="bad">Simulated: a program made up the replies. This says nothing about the world.</Notice>}
      {page.redacted && <Notice kind="warn">Words of this debate were deleted. What was decided still stands in the log and can be checked.</Notice>}
      <h1 dir="auto">{page.title ?? REDACTED}</h1>
      <p class="quiet">
        {`${plain(page.format)}, opened ${moment(page.opened_at)}, `}
        <code>{page.debate_id}</code>
        {page.models.length > 0 && (
          <>
            {", asked "}
            <Words text={page.models.join(", ")} />
          </>
        )}
      </p>
      {page.forked_from !== null && (
        <p>
          {`A fork of event ${page.forked_from.at} of `}
          {isReport ? <code>{page.forked_from.debate_id}</code> : <a href={`/viewer/debates/${page.forked_from.debate_id}?at=${page.forked_from.at}`}>{page.forked_from.debate_id}</a>}
          {", with "}
          <Words text={page.forked_from.change} />
        </p>
      )}
    </header>
  );
}

/** What a newcomer wants to know within a minute. */
export function Glance({ page, verification }: { page: DebatePage; verification: preact.ComponentChildren }) {
  return (
    <section class="glance" aria-label="At a glance">
      <dl>
        <Completeness page={page} />
        {page.format === "prediction" && <Forecast page={page} />}
        {page.decision !== null && <Decided page={page} decision={page.decision} />}
        {page.resolved !== null && (
          <div>
            <dt>What happened</dt>
            <dd>
              <Words text={page.format === "prediction" ? namer(page)(page.resolved.outcome) : page.resolved.outcome} />
              {page.resolved.happened_at !== null && <p class="quiet">{`happened ${moment(page.resolved.happened_at)}`}</p>}
              <p class="quiet">{`recorded ${moment(page.resolved.recorded_at)}`}</p>
              {page.resolved.market !== null && (
                <p class="quiet">{`a market had given it ${percent(page.resolved.market[rulesOf(page).outcomes.indexOf(page.resolved.outcome)] ?? 0)}`}</p>
              )}
            </dd>
          </div>
        )}
        <div>
          <dt>Why it stopped</dt>
          <dd>
            {stopReason(page)}
            {page.cancelled_because !== null && (
              <p>
                <Words text={page.cancelled_because} />
              </p>
            )}
            {page.concluded_at !== null && <p class="quiet">{moment(page.concluded_at)}</p>}
          </dd>
        </div>
        <div>
          <dt>Is the log intact?</dt>
          <dd>{verification}</dd>
        </div>
        <div>
          <dt>Spent</dt>
          <dd>
            {`${count(page.spend.calls)} calls of ${count(page.calls_expected)} planned`}
            {page.state !== "concluded" && <progress max={Math.max(page.calls_expected, page.spend.calls)} value={page.spend.calls} aria-label="calls" />}
            <p class="quiet">{cost(page.spend)}</p>
            {page.unpriced_models.length > 0 && (
              <p class="quiet">
                {"without a price: "}
                <Words text={page.unpriced_models.join(", ")} />
              </p>
            )}
          </dd>
        </div>
      </dl>
    </section>
  );
}

function Completeness({ page }: { page: DebatePage }) {
  const { state, missing = [], why = [] } = page.completeness;
  const kind = state === "full" ? "good" : state === "partial" ? "warn" : "bad";
  const told = { full: "Full: nothing is missing", partial: "Partial: something is missing", void: "Void: there is too little for an outcome" };
  return (
    <div class={`whole ${page.state === "concluded" ? kind : "note"}`}>
      <dt>Completeness</dt>
      <dd>
        {page.state === "concluded" ? (
          <Badge kind={kind}>{told[state]}</Badge>
        ) : (
          <>
            <Badge kind="note">{page.state}</Badge>
            <p>
              {page.phase === null ? "" : `Round ${page.phase.round}, ${plain(page.phase.name)}. `}
              {`Time is up ${moment(page.deadline_at)}. Were it to end now it would be ${state}.`}
            </p>
          </>
        )}
        {missing.length > 0 && (
          <p>
            Missing: <Words text={missing.join(", ")} />
          </p>
        )}
        {why.length > 0 && (
          <ul>
            {why.map((line) => (
              <li key={line}>
                <Words text={line} />
              </li>
            ))}
          </ul>
        )}
      </dd>
    </div>
  );
}

function Forecast({ page }: { page: DebatePage }) {
  const best = likeliest(page);
  const against = dissenters(page);
  const open = resultOf(page).disagreement_map.filter((entry) => !entry.resolved).length;
  return (
    <>
      <div>
        <dt>{page.state === "concluded" ? "What was decided" : "Where it stands"}</dt>
        <dd>
          {best === null ? (
            "Nothing yet"
          ) : (
            <>
              <strong>
                <Words text={namer(page)(best.outcome)} />
              </strong>
              {` at ${percent(best.probability)}`}
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>How sure</dt>
        <dd>
          {best === null ? (
            "Too little was said"
          ) : (
            <>
              {`confidence ${score(page.confidence)}, agreement ${score(resultOf(page).consensus_score)}`}
              <p class="quiet">both from 0 to 1</p>
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Who disagreed</dt>
        <dd>
          {best === null ? "Too little was said" : against.length === 0 ? "No role holds another outcome likeliest" : <Words text={against.join(", ")} />}
          {open > 0 && <p class="quiet">{`${open} disagreement${open === 1 ? "" : "s"} open`}</p>}
        </dd>
      </div>
    </>
  );
}

function Decided({ page, decision }: { page: DebatePage; decision: Decision }) {
  const { decided, sure, dissenters, open } = decision;
  return (
    <>
      <div class={decided.join().length > TILE_CHARS ? "wide" : ""}>
        <dt>{page.state === "concluded" ? "What was decided" : "Where it stands"}</dt>
        <dd>
          {decided.length === 0 && "Nothing yet"}
          {decided.map((line) => (
            <Prose key={line} text={line} />
          ))}
        </dd>
      </div>
      <div>
        <dt>How sure</dt>
        <dd>{sure !== null ? <Words text={sure} /> : decided.length === 0 ? "Too little was said" : "This format gives no number"}</dd>
      </div>
      {dissenters !== null && (
        <div>
          <dt>Who disagreed</dt>
          <dd>{dissenters.length === 0 ? "Nobody in the end" : <Words text={dissenters.join(", ")} />}</dd>
        </div>
      )}
      {open.length > 0 && (
        <div class={open.join().length > TILE_CHARS ? "wide" : ""}>
          <dt>Left open</dt>
          <dd>
            <ul>
              {open.map((line) => (
                <li key={line}>
                  <Words text={line} />
                </li>
              ))}
            </ul>
          </dd>
        </div>
      )}
    </>
  );
}

/** Says whether a log that has come to its end holds together; one that grows is checked in the audit tab. */
function VerificationLine({ id, head, isFinal }: { id: string; head: number; isFinal: boolean }) {
  const [found, setFound] = useState<Verification | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  useEffect(() => {
    if (!isFinal) return;
    const stop = new AbortController();
    ask<Verification>(`${debatePath(id)}/verification`, stop.signal).then(setFound, (error: unknown) => {
      if (!stop.signal.aborted) setWrong(error instanceof Error ? error.message : String(error));
    });
    return () => stop.abort();
  }, [id, isFinal]);
  if (!isFinal) return <>{`${count(head)} events so far; checked when it has concluded`}</>;
  if (wrong !== null) return <>{`It could not be checked: ${wrong}`}</>;
  return found === null ? <>Checking…</> : <VerificationText found={found} />;
}

export function VerificationText({ found }: { found: Verification }) {
  if (found.ok) {
    return (
      <>
        <Badge kind="good">Intact</Badge>
        <p class="quiet">{`${count(found.events)} events${found.inherited > 0 ? ` and ${count(found.inherited)} of its parents` : ""}: hashes, order and ${count(found.outcomes)} recorded outcome${found.outcomes === 1 ? "" : "s"} hold`}</p>
        {found.redacted > 0 && <p class="quiet">{`words of ${count(found.redacted)} events were deleted, on record`}</p>}
        {found.unfinished_redactions > 0 && <p>{`${count(found.unfinished_redactions)} recorded deletions are not finished`}</p>}
      </>
    );
  }
  return (
    <>
      <Badge kind="bad">NOT INTACT</Badge>
      <p>
        {`Event ${found.fault_seq}: `}
        <Words text={found.fault} />
      </p>
    </>
  );
}
