// What an auditor asks for: the check of the log, every request with its reply, every event with its hash, the bundle.

import { useEffect, useRef, useState } from "preact/hooks";
import { VerificationText } from "./glance";
import type { CallShown, DebatePage, EventShown, Json, PromptShown, Verification } from "./model";
import { type Fail, debatePath, download, load, query } from "./server";
import { Badge, Notice, REDACTED, Tree, Words } from "./text";
import { asked, count, moment, plain } from "./wording";

const PAGE = 100;
/** How long nothing has to happen before a log that grows is looked at again. */
const SETTLED_MS = 150;

interface AuditProps {
  page: DebatePage;
  head: number;
  fail: Fail;
  move: (at: number | null) => void;
}

export function AuditView({ page, head, fail, move }: AuditProps) {
  return (
    <>
      <Check id={page.debate_id} head={head} fail={fail} />
      <Calls page={page} head={head} fail={fail} />
      <Events id={page.debate_id} head={head} fail={fail} move={move} />
    </>
  );
}

/** Asks once nothing has happened for a moment, and drops what is no longer wanted. */
function settled(ask: (signal: AbortSignal) => void): () => void {
  const stop = new AbortController();
  const wait = window.setTimeout(() => ask(stop.signal), SETTLED_MS);
  return () => {
    stop.abort();
    window.clearTimeout(wait);
  };
}

/** Returns whom a call asks, and for what. */
function callText(call: string, format: string): string {
  const { role, what } = asked(call, format);
  return `${role}, ${what}`;
}

/** Whether the log holds together, and its bundle: what there is of a log, even one of which nothing else can be shown. */
export function Check({ id, head, fail }: { id: string; head: number; fail: Fail }) {
  const [found, setFound] = useState<Verification | null>(null);
  const verify = (signal?: AbortSignal) => load<Verification>("check", `${debatePath(id)}/verification`, setFound, fail, signal);
  useEffect(() => settled(verify), [id, head]);
  return (
    <section aria-labelledby="check">
      <h2 id="check">Check of the log</h2>
      {found === null ? (
        <p role="status">Checking…</p>
      ) : (
        <div class="card">
          <VerificationText found={found} />
          <p>
            {`Head ${count(found.head_seq)}: `}
            <code class="hash">{found.head_hash}</code>
          </p>
        </div>
      )}
      <p class="row">
        <button type="button" onClick={() => verify()}>
          Check again
        </button>
        <button type="button" onClick={() => void download(id).then(
              () => fail("bundle", null),
              (error: unknown) => fail("bundle", error),
            )}>
          Download the bundle
        </button>
      </p>
      <p class="quiet">
        {"This server checked its own log. To check it elsewhere: "}
        <code>{`debate verify --bundle ${id}.bundle`}</code>
      </p>
    </section>
  );
}

function Calls({ page, head, fail }: { page: DebatePage; head: number; fail: Fail }) {
  const { debate_id: id } = page;
  const [calls, setCalls] = useState<CallShown[] | null>(null);
  const [isMore, setMore] = useState(false);
  const known = useRef<CallShown[]>([]);
  const more = (from: CallShown[], signal?: AbortSignal) => {
    const path = `${debatePath(id)}/calls${query({ after: from.at(-1)?.seq, limit: PAGE })}`;
    load<{ calls: CallShown[]; more: boolean }>("calls", path, ({ calls: next, more }) => {
      known.current = [...from, ...next];
      setCalls(known.current);
      setMore(more);
    }, fail, signal);
  };
  // As the log grows, requests come to their ends and others begin: all from the first open one on are asked for again.
  useEffect(() => {
    const open = known.current.findIndex((call) => call.end === null);
    return settled((signal) => more(open < 0 ? known.current : known.current.slice(0, open), signal));
  }, [id, head]);
  return (
    <section aria-labelledby="calls">
      <h2 id="calls">Requests to models</h2>
      <p class="quiet">The log keeps each reply as it came, and of each prompt its digest. A prompt is rendered again from the log when it is asked for, and compared with it.</p>
      {calls?.map((call) => <Call key={call.seq} id={id} call={call} format={page.format} fail={fail} />)}
      {isMore && (
        <button type="button" onClick={() => more(calls ?? [])}>
          More requests
        </button>
      )}
    </section>
  );
}

function Call({ id, call, format, fail }: { id: string; call: CallShown; format: string; fail: Fail }) {
  const { end } = call;
  const { role, what } = asked(call.call, format);
  const kind = end === null ? "note" : end.kind === "call_answered" || end.kind === "turn_answered" ? "good" : "warn";
  const reply = end?.reply;
  const words = end?.words as { text?: string } | null | undefined;
  return (
    <details class="entry">
      <summary>
        <span class="number">{call.seq}</span> <Words text={role} />{`, ${what} `}
        <Badge kind={kind}>{end === null ? "no reply" : plain(typeof end.why === "string" ? end.why : end.kind)}</Badge>
        <span class="quiet">{` ${plain(call.cause)}${call.revision > 0 ? `, revision ${call.revision}` : ""}, attempt ${call.attempt}${call.turn > 1 ? `, turn ${call.turn}` : ""}`}</span>
      </summary>
      <dl class="tree">
        <div>
          <dt>model</dt>
          <dd>
            <Words text={call.model} />
            {call.thinking !== undefined && `, effort ${call.thinking.effort ?? "of its provider"}, room for ${count(call.thinking.tokens)} tokens of thinking`}
          </dd>
        </div>
        <div>
          <dt>prompt</dt>
          <dd>
            <code>{call.prompt.version}</code>, {count(call.prompt.tokens)} tokens, digest <code class="hash">{call.prompt.digest}</code>
            {call.prompt.omitted !== undefined && (
              <p>
                Did not fit: <Words text={call.prompt.omitted.join(", ")} />
              </p>
            )}
            <Prompt id={id} seq={call.seq} fail={fail} />
          </dd>
        </div>
        <div>
          <dt>was shown</dt>
          <dd>{call.sees.length === 0 ? <span class="quiet">no answers</span> : <Words text={call.sees.map((sight) => callText(sight.call, format) + (sight.revision > 0 ? ` (revision ${sight.revision})` : "")).join("; ")} />}</dd>
        </div>
        {reply !== null && reply !== undefined && (
          <div>
            <dt>reply</dt>
            <dd>
              {`${reply.usage.input ?? "?"} tokens in, ${reply.usage.output ?? "?"} out${reply.usage.reasoning === undefined ? "" : ` (${count(reply.usage.reasoning)} of thinking)`}, ${count(reply.latency_ms)} ms`}
              {reply.ended !== undefined && `, ended ${plain(reply.ended)}`}
              {reply.stop_reason !== undefined && (
                <>
                  {" ("}
                  <Words text={reply.stop_reason} />)
                </>
              )}
              {end !== null && end.cost !== null && `, ${end.cost}`}
              {reply.wire_retries > 0 && `, repeated ${reply.wire_retries} times on the wire`}
              {reply.repairs !== undefined && (
                <p>
                  Mended: <Words text={reply.repairs.join(", ")} />
                </p>
              )}
            </dd>
          </div>
        )}
      </dl>
      {end?.redacted === true && <Notice kind="warn">{REDACTED}</Notice>}
      {end?.kind === "attempt_failed" && words?.text !== undefined && <p class="quiet">The reply as far as it came:</p>}
      {words !== null && words !== undefined && <Raw words={words as Json} />}
    </details>
  );
}

/** What was said to the model, once it is asked for, and whether it is what the log says. */
function Prompt({ id, seq, fail }: { id: string; seq: number; fail: Fail }) {
  const [shown, setShown] = useState<PromptShown | null>(null);
  if (shown === null) {
    const show = () => load<PromptShown>(`prompt ${seq}`, `${debatePath(id)}/calls/${seq}/prompt`, setShown, fail);
    return (
      <p>
        <button type="button" onClick={show}>
          Show the prompt
        </button>
      </p>
    );
  }
  const { agrees, told, rendered } = shown;
  return (
    <>
      <p role="status">
        <Badge kind={agrees ? "good" : "warn"}>{told}</Badge>
      </p>
      {rendered !== null && !agrees && <p>What stands here is not what was sent, but what this program makes of the log today.</p>}
      {rendered?.messages.map(({ speaker, text }, place) => (
        <>
          <h4>{speaker}</h4>
          <pre class="raw" dir="auto" tabIndex={0} aria-label={`Prompt, message ${place + 1}, ${speaker}`}>
            {text}
          </pre>
        </>
      ))}
      {rendered !== null && (
        <p class="quiet">
          {`The reply may take ${count(rendered.output_tokens_max)} tokens${rendered.web_search ? ", and the provider may search the web for it" : ""}.`}
        </p>
      )}
      {rendered !== null && rendered.reply_schema !== null && (
        <details>
          <summary>The shape that the reply must have</summary>
          <pre class="raw" tabIndex={0} aria-label="Schema of the reply">
            {JSON.stringify(rendered.reply_schema, null, 2)}
          </pre>
        </details>
      )}
    </>
  );
}

/** A raw reply, and the fields that came with it. */
function Raw({ words }: { words: Json }) {
  if (typeof words !== "object" || words === null || Array.isArray(words)) return <Tree value={words} />;
  const { text, ...rest } = words;
  return (
    <>
      {typeof text === "string" && (
        <pre class="raw" dir="auto" tabIndex={0} aria-label="Raw reply">
          {text}
        </pre>
      )}
      {Object.keys(rest).length > 0 && <Tree value={rest} />}
    </>
  );
}

/** Events right behind a place: as many as a page takes, fewer where they are long. */
interface EventPage {
  head_seq: number;
  events: EventShown[];
  more: boolean;
}

function Events({ id, head, fail, move }: { id: string; head: number; fail: Fail; move: (at: number | null) => void }) {
  const [after, setAfter] = useState(0);
  const [page, setPage] = useState<(EventPage & { of: string }) | null>(null);
  const path = `${debatePath(id)}/events${query({ after, limit: PAGE })}`;
  const here = page?.of === path ? page : null;
  const last = here?.events.at(-1)?.seq ?? Math.min(after + PAGE, head);
  useEffect(() => {
    if (here !== null && (here.more || here.head_seq >= head)) return undefined;
    const stop = new AbortController();
    load<EventPage>("events", path, (found) => setPage({ of: path, ...found }), fail, stop.signal);
    return () => stop.abort();
  }, [path, head]);
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      <p class="row">
        <button type="button" disabled={after === 0} onClick={() => setAfter(Math.max(0, after - PAGE))}>
          Earlier
        </button>
        <span>{`${count(Math.min(after + 1, head))} to ${count(last)} of ${count(head)}`}</span>
        <button type="button" disabled={here?.more !== true} onClick={() => setAfter(last)}>
          Later
        </button>
      </p>
      {page?.events.map((event) => <EventView key={event.seq} event={event} move={move} />)}
    </section>
  );
}

function EventView({ event, move }: { event: EventShown; move: (at: number | null) => void }) {
  return (
    <details class="entry">
      <summary>
        <span class="number">{event.seq}</span> {plain(event.kind)} <span class="quiet">{moment(event.at)}</span> <code class="hash short">{event.hash.slice(0, 12)}</code>
        {event.redacted && <Badge kind="warn">words deleted</Badge>}
      </summary>
      <dl class="tree">
        <div>
          <dt>hash</dt>
          <dd>
            <code class="hash">{event.hash}</code>
          </dd>
        </div>
        {event.words_digest !== null && (
          <div>
            <dt>digest of the words</dt>
            <dd>
              <code class="hash">{event.words_digest}</code>
            </dd>
          </div>
        )}
        <div>
          <dt>by</dt>
          <dd>
            <Words text={event.actor} />
            {`, ${event.at}, version ${event.version}`}
          </dd>
        </div>
      </dl>
      <pre class="raw" tabIndex={0} aria-label="Facts">
        {event.facts}
      </pre>
      {event.words !== null && <Tree value={event.words} />}
      <button type="button" onClick={() => move(event.seq)}>
        Show the debate at this event
      </button>
    </details>
  );
}
