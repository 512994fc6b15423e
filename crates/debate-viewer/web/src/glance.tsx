// What a newcomer wants to know within a minute: what is missing, what was decided, how sure, who disagreed, why it
// stopped, whether the log holds together, what was spent.

import { useEffect, useState } from "preact/hooks";
import type { DebatePage, Verification } from "./model";
import { namer, rulesOf } from "./prediction";
import { ask, debatePath } from "./server";
import { Badge, Lines, Notice, Prose, REDACTED, Words } from "./text";
import { count, counted, kindOf, moment, percent, plain, stopReason } from "./wording";

/** A longer text has a row of its own. */
const TILE_CHARS = 120;

/** Says that a page shows a past moment, so that readers do not take it for the current state. */
export function Moment({ page }: { page: DebatePage }) {
  if (page.seq >= page.head_seq) return null;
  const since = page.state === page.head_state ? "" : page.head_state === "concluded" ? "; it has since concluded" : `; it is now ${page.head_state}`;
  return <Notice kind="note">{`As it was at event ${count(page.seq)} of ${count(page.head_seq)}${since}.`}</Notice>;
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

export function Glance({ page, verification }: { page: DebatePage; verification: preact.ComponentChildren }) {
  return (
    <section class="glance" aria-label="At a glance">
      <dl>
        <Completeness page={page} />
        <Decided page={page} />
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
            {`${counted(page.spend.calls, "call")} of ${count(page.calls_expected)} planned`}
            {page.state !== "concluded" && <progress max={Math.max(page.calls_expected, page.spend.calls)} value={page.spend.calls} aria-label="calls" />}
            <p class="quiet">{page.spent}</p>
            {page.cut.length > 0 && (
              <p class="quiet">
                {"answers from replies cut by their limit: "}
                <Words text={page.cut.join("; ")} />
              </p>
            )}
            {page.parts_cut !== null && <p class="quiet"><Words text={page.parts_cut} /></p>}
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
  const { state, why = [] } = page.completeness;
  const kind = kindOf(state);
  const isOver = page.state === "concluded";
  const texts = { full: "Full: nothing is missing", partial: "Partial: something is missing", void: "Void: there is too little for an outcome" };
  return (
    <div class={`whole ${isOver ? kind : "note"}`}>
      <dt>{isOver ? "Completeness" : "State"}</dt>
      <dd>
        {isOver ? (
          <Badge kind={kind}>{texts[state]}</Badge>
        ) : (
          <>
            <Badge kind="note">{page.state}</Badge>
            <p>
              {page.phase === null ? "" : `Round ${page.phase.round}, ${plain(page.phase.name)}. `}
              {page.deadline_at === null ? "" : `Its time ends ${moment(page.deadline_at)}. `}
              {`Were it to end now, its result would be ${state}.`}
            </p>
          </>
        )}
        {page.missing.length > 0 && (
          <p>
            {isOver ? "Missing: " : "Still to come: "}
            <Words text={page.missing.join("; ")} />
          </p>
        )}
        {why.length > 0 && <Lines texts={why} />}
      </dd>
    </div>
  );
}

function Decided({ page }: { page: DebatePage }) {
  const { decided, sure, sure_means: means, dissenters, apart, open } = page.decision;
  const nothing = "Too little was said";
  return (
    <>
      <div class={decided.join().length > TILE_CHARS ? "wide" : ""}>
        <dt>{page.state === "concluded" ? "What was decided" : "Where it stands"}</dt>
        <dd class="decided">
          {decided.length === 0 && "Nothing yet"}
          {decided.map((line) => (
            <Prose key={line} text={line} />
          ))}
        </dd>
      </div>
      <div>
        <dt>How sure</dt>
        <dd>{sure !== null ? <Words text={sure} /> : decided.length === 0 ? nothing : "This format gives no number"}</dd>
        {means !== null && <dd class="quiet">{means}</dd>}
      </div>
      <div class={(dissenters ?? []).join().length > TILE_CHARS ? "wide" : ""}>
        <dt>Who disagreed</dt>
        <dd>
          {dissenters === null ? (
            nothing
          ) : dissenters.length === 0 ? (
            page.state === "concluded" ? "No one" : "No one so far"
          ) : (
            <Lines texts={dissenters} />
          )}
        </dd>
        {apart !== null && (
          <dd class="quiet">
            <Words text={apart} />
          </dd>
        )}
      </div>
      {open.length > 0 && (
        <div class={open.join().length > TILE_CHARS ? "wide" : ""}>
          <dt>Left open</dt>
          <dd>
            <Lines texts={open} />
          </dd>
        </div>
      )}
    </>
  );
}

/** Says whether a log that has come to its end holds together, all of it; one that grows is checked in the audit tab. */
export function VerificationLine({ page }: { page: DebatePage }) {
  const { debate_id: id, head_seq: head } = page;
  const isFinal = page.head_state === "concluded";
  const [found, setFound] = useState<Verification | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  useEffect(() => {
    if (!isFinal) return;
    const stop = new AbortController();
    ask<Verification>(`${debatePath(id)}/verification`, stop.signal).then(
      (found) => {
        setWrong(null);
        setFound(found);
      },
      (error: unknown) => {
        if (!stop.signal.aborted) setWrong(error instanceof Error ? error.message : String(error));
      },
    );
    return () => stop.abort();
  }, [id, isFinal, head]);
  if (!isFinal) return <>{`${count(head)} events so far; checked when it has concluded, or in the audit`}</>;
  if (wrong !== null) return <>{`It could not be checked: ${wrong}`}</>;
  return found === null ? <>Checking…</> : <VerificationText found={found} />;
}

export function VerificationText({ found }: { found: Verification }) {
  if (found.ok) {
    return (
      <>
        <Badge kind="good">Intact</Badge>
        <p class="quiet">{`${counted(found.events, "event")}${found.inherited > 0 ? ` and ${count(found.inherited)} of its parents` : ""}, checked to event ${count(found.head_seq)}: hashes, order and ${counted(found.outcomes, "recorded outcome")} hold`}</p>
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
