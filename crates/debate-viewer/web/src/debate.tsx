// The page of one debate: what came of it first, then the way there, at any event of its log.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { AuditView, Check } from "./audit";
import { ConversationView } from "./conversation";
import { DebateHead, Glance, Moment, VerificationLine } from "./glance";
import { Loader } from "./loading";
import type { DebatePage } from "./model";
import { PredictionView } from "./prediction";
import { type Fail, type Heard, follow, isUnfolded, query } from "./server";
import { Slider } from "./slider";
import { Notice, REDACTED, Words } from "./text";
import { asked, flat } from "./wording";

/** The page is asked for at most so often while a debate goes on. */
const REFRESH_MS = 250;

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

export function DebateView({ id, fail }: { id: string; fail: Fail }) {
  const params = new URLSearchParams(location.search);
  const named = Number(params.get("at"));
  const [page, setPage] = useState<DebatePage | null>(null);
  const [pinned, setPinned] = useState<number | null>(named > 0 ? named : null);
  const [tab, setTab] = useState(params.get("tab") === "audit" ? "audit" : "debate");
  const [head, setHead] = useState(0);
  const [isConnected, setConnected] = useState<boolean | null>(null);
  const [isLate, setLate] = useState(false);
  const [unfolded, setUnfolded] = useState<string | null>(null);
  const [pieces, setPieces] = useState<ReadonlyMap<string, Piece>>(new Map());
  // A piece may come in behind the event that ends its attempt.
  const ended = useRef(new Set<string>());
  const wanted = useRef<number | null>(pinned);
  const loader = useRef<Loader | null>(null);

  useEffect(() => {
    let isShown = false;
    const came = (next: DebatePage) => {
      isShown = true;
      fail("debate", null);
      setPage(next);
      setHead((head) => Math.max(head, next.head_seq));
    };
    const refused = (error: unknown) => (isUnfolded(error) && !isShown ? setUnfolded(error.message) : fail("debate", error));
    const asking = new Loader(id, { came, late: setLate, refused });
    loader.current = asking;
    asking.want(wanted.current, 0);
    return () => asking.stop();
  }, [id]);

  const move = useCallback((at: number | null) => {
    wanted.current = at;
    setPinned(at);
    const search = new URLSearchParams(location.search);
    if (at === null) search.delete("at");
    else search.set("at", String(at));
    history.replaceState(null, "", `${location.pathname}${query(Object.fromEntries(search))}${location.hash}`);
    loader.current?.want(at, 0);
  }, []);

  const turn = (next: string) => {
    setTab(next);
    const search = { ...Object.fromEntries(new URLSearchParams(location.search)), tab: next === "audit" ? next : null };
    history.replaceState(null, "", location.pathname + query(search));
  };

  const isLoaded = page !== null;
  const isOver = useRef(false);
  isOver.current ||= page !== null && page.head_state === "concluded";
  useEffect(() => {
    if (!isLoaded || isOver.current) return;
    let seen = page.head_seq;
    let refresh: number | undefined;
    const again = () => {
      window.clearTimeout(refresh);
      refresh = undefined;
      loader.current?.want(wanted.current, seen);
    };
    const heard = (item: Heard) => {
      // Whether it stands at the latest or not, a page says how the debate ended.
      if (item.name === "end") return again();
      if (item.name === "text" && ended.current.has(attemptName(item.data))) return;
      if (item.name === "text") return setPieces((pieces) => grown(pieces, item.data));
      if (item.name !== "event") return;
      seen = Math.max(seen, Number(item.data.seq));
      setHead((head) => Math.max(head, seen));
      if (ENDS_SPEECH.has(String(item.data.kind))) {
        ended.current.add(attemptName(item.data));
        setPieces((pieces) => new Map([...pieces].filter(([name]) => name !== attemptName(item.data))));
      }
      if (wanted.current === null) refresh ??= window.setTimeout(again, REFRESH_MS);
    };
    const stop = follow(id, seen, { heard, connected: setConnected, refused: (error) => fail("follow", error) });
    return () => {
      stop();
      window.clearTimeout(refresh);
    };
  }, [id, isLoaded]);

  useEffect(() => {
    document.title = flat(page?.title ?? REDACTED);
  }, [page?.title]);

  const late = isLate && <Notice kind="warn">The server cannot be reached just now. What stands here may be old; this page asks again.</Notice>;
  if (page === null && unfolded !== null) return <Unfolded id={id} why={unfolded} fail={fail} />;
  if (page === null) return <>{late || <p role="status">Reading the debate…</p>}</>;
  const isLive = pinned === null && page.state !== "concluded";
  return (
    <>
      <DebateHead page={page} isReport={false} />
      {isLive && isConnected === false ? <Notice kind="warn">The connection was cut. The debate goes on; this page catches up as soon as it can.</Notice> : late}
      <Moment page={page} />
      <Glance page={page} verification={<VerificationLine page={page} />} />
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

/** A debate of which no page can be made still has a log, and what its check finds. */
function Unfolded({ id, why, fail }: { id: string; why: string; fail: Fail }) {
  return (
    <>
      <header class="head">
        <Notice kind="bad">{why}</Notice>
        <h1>
          <code>{id}</code>
        </h1>
      </header>
      <Check id={id} head={0} fail={fail} />
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
              <Words text={asked(piece.call, page.format).role} />
            </h4>
            <span>{`${asked(piece.call, page.format).what}, is speaking`}</span>
          </header>
          <p class="prose" dir="auto">
            {(piece.isWhole ? "" : "… ") + piece.text}
            <span class="cursor" aria-hidden="true" />
          </p>
        </article>
      ))}
      {silent.length > 0 && (
        <p class="quiet">
          {"Asked, and not yet heard: "}
          {silent.map((attempt, place) => (
            <>
              {place > 0 && "; "}
              <Words text={asked(attempt.call, page.format).role} />
              {`, ${asked(attempt.call, page.format).what}`}
            </>
          ))}
        </p>
      )}
      {heard.length === 0 && silent.length === 0 && <p class="quiet">{page.state === "paused" ? "The debate is paused." : "No one is speaking right now."}</p>}
    </section>
  );
}
