// A prediction debate: the answer, how it moved, who said what, where they differ.

import { Chart, Legend, MovesTable, moves } from "./chart";
import type { Argument, DebatePage, Prediction, PredictionRules, Round } from "./model";
import { Prose, Words } from "./text";
import { percent, plain, score } from "./wording";

/** Charts beyond these are folded away. */
const CHARTS_SHOWN = 6;

export function resultOf(page: DebatePage): Prediction {
  return page.result as unknown as Prediction;
}

export function rulesOf(page: DebatePage): PredictionRules {
  return page.rules as unknown as PredictionRules;
}

/** Returns what an outcome is called. */
export function namer(page: DebatePage): (outcome: string) => string {
  const brief = page.brief as { outcomes?: { label: string }[] } | null;
  const names = new Map(rulesOf(page).outcomes.map((id, place) => [id, brief?.outcomes?.[place]?.label.trim() || id]));
  return (outcome) => names.get(outcome) ?? outcome;
}

export function PredictionView({ page, live }: { page: DebatePage; live: preact.ComponentChildren }) {
  const result = resultOf(page);
  const name = namer(page);
  return (
    <>
      <Answer page={page} />
      <section aria-labelledby="conversation">
        <h2 id="conversation">Conversation</h2>
        {result.debate_log.rounds.map((round) => (
          <RoundView key={round.round_number} round={round} name={name} />
        ))}
        {live}
      </section>
      <Disagreements result={result} />
      <Insights result={result} name={name} />
      <Precedents result={result} />
      {result.extra.judge_reasoning !== "" && (
        <section aria-labelledby="reasoning">
          <h2 id="reasoning">The judge’s reasoning</h2>
          {result.extra.judge_passes !== undefined && (
            <p>
              {`${result.extra.judge_passes.held} passes in reversed orders, ${score(result.extra.judge_passes.total_variation)} apart`}
              {result.extra.judge_passes.flipped ? "; they hold different outcomes for the likeliest." : "."}
            </p>
          )}
          <Prose text={result.extra.judge_reasoning} />
        </section>
      )}
    </>
  );
}

function Answer({ page }: { page: DebatePage }) {
  const result = resultOf(page);
  const rules = rulesOf(page);
  const name = namer(page);
  const all = moves(result, rules, page.resolved?.outcome ?? null);
  const ranked = [...all].sort((a, b) => (b.final ?? 0) - (a.final ?? 0));
  const folded = ranked.slice(CHARTS_SHOWN);
  const weight = rules.judge_weight;
  const hasJudge = result.probability_distribution.some((outcome) => outcome.judge_probability !== null);
  return (
    <section aria-labelledby="answer">
      <h2 id="answer">Probabilities</h2>
      {ranked.some((moves) => moves.final !== null) ? (
        <ul class="bars">
          {ranked.map((moves) => (
            <li key={moves.outcome}>
              <Words text={name(moves.outcome)} />
              <strong class="number">{percent(moves.final ?? 0)}</strong>
              <progress max="1" value={moves.final ?? 0} aria-label="probability" />
            </li>
          ))}
        </ul>
      ) : (
        <p>There is no answer: nothing was said that one could rest on.</p>
      )}
      <h3>How they moved</h3>
      <Legend roles={rules.roles} />
      <p class="quiet">
        {hasJudge
          ? `By round; then J, the judge; C, the consensus of the roles; F, the final answer = ${weight.toFixed(2)} judge + ${(1 - weight).toFixed(2)} consensus. `
          : "By round; then C, the consensus of the roles; F, the final answer, which is the consensus without a synthesis. "}
        {result.probability_distribution.length > 0 && `Agreement over all outcomes: ${score(result.consensus_score)}.`}
      </p>
      {result.extra.repairs !== undefined && (
        <p class="quiet">
          {"* marks a repaired answer: "}
          <Words text={result.extra.repairs.map((entry) => `${entry.call} (${entry.repairs.join(", ")})`).join("; ")} />
        </p>
      )}
      <div class="charts">
        {ranked.slice(0, CHARTS_SHOWN).map((moves) => (
          <Chart key={moves.outcome} moves={moves} label={name(moves.outcome)} />
        ))}
      </div>
      {folded.length > 0 && (
        <details>
          <summary>{`${folded.length} more outcomes`}</summary>
          <div class="charts">
            {folded.map((moves) => (
              <Chart key={moves.outcome} moves={moves} label={name(moves.outcome)} />
            ))}
          </div>
        </details>
      )}
      <details>
        <summary>The same as a table</summary>
        <MovesTable all={all} labels={name} />
      </details>
    </section>
  );
}

function RoundView({ round, name }: { round: Round; name: (outcome: string) => string }) {
  const { dominant_argument: dominant, key_disagreements: contended, emerging_consensus: emerging } = round.round_summary;
  return (
    <section class="round" aria-label={`Round ${round.round_number}`}>
      <h3>{`Round ${round.round_number}: ${plain(round.phase)}`}</h3>
      {round.arguments.map((argument) => (
        <ArgumentView key={argument.point} argument={argument} name={name} />
      ))}
      {(dominant !== "" || contended.length > 0 || emerging.length > 0) && (
        <aside class="summary">
          <h4>What came of the round</h4>
          {dominant !== "" && (
            <p>
              Strongest argument: <Words text={dominant} />
            </p>
          )}
          {contended.length > 0 && (
            <ul>
              {contended.map((line) => (
                <li key={line}>
                  <Words text={line} />
                </li>
              ))}
            </ul>
          )}
          {emerging.map((entry) => (
            <p key={entry.outcome_id}>
              <Words text={name(entry.outcome_id)} />
              {entry.direction === "toward" ? ": the roles move towards each other" : ": the roles move apart"}
            </p>
          ))}
        </aside>
      )}
    </section>
  );
}

function ArgumentView({ argument, name }: { argument: Argument; name: (outcome: string) => string }) {
  const { composite, ...criteria } = argument.scores;
  return (
    <article class="said" id={argument.point}>
      <header>
        <h4>
          <Words text={argument.role} />
        </h4>
        <span>
          for <Words text={name(argument.outcome_supported)} />
        </span>
        {argument.rebuts.length > 0 && (
          <span>
            {"rebuts "}
            {argument.rebuts.map((role, place) => (
              <>
                {place > 0 && ", "}
                <Words text={role} />
              </>
            ))}
          </span>
        )}
        <span class="score" title={Object.entries(criteria).map(([criterion, value]) => `${plain(criterion)} ${score(value)}`).join(", ")}>
          {`score ${score(composite)}`}
        </span>
        {argument.flags.map((flag) => (
          <span class="badge warn" key={flag}>{`breaks ${flag}`}</span>
        ))}
      </header>
      <Prose text={argument.argument} />
      {(argument.evidence_cited.length > 0 || argument.cites.length > 0 || Object.keys(criteria).length > 0) && (
        <details>
          <summary>Evidence, citations, scores</summary>
          {argument.evidence_cited.length > 0 && (
            <ul>
              {argument.evidence_cited.map((line) => (
                <li key={line}>
                  <Words text={line} />
                </li>
              ))}
            </ul>
          )}
          {argument.cites.length > 0 && (
            <p>
              {"Cites "}
              {argument.cites.map((point, place) => (
                <>
                  {place > 0 && ", "}
                  <a href={`#${point}`}>
                    <Words text={point} />
                  </a>
                </>
              ))}
            </p>
          )}
          <p>
            {Object.entries(criteria).map(([criterion, value]) => (
              <span class="criterion" key={criterion}>
                <Words text={plain(criterion)} />
                {` ${score(value)} `}
              </span>
            ))}
          </p>
        </details>
      )}
    </article>
  );
}

function Disagreements({ result }: { result: Prediction }) {
  if (result.disagreement_map.length === 0) return null;
  return (
    <section aria-labelledby="disagreements">
      <h2 id="disagreements">Where they disagree</h2>
      {result.disagreement_map.map((entry, place) => (
        <section class="card" key={place}>
          <h3>
            <Words text={entry.topic} /> <span class={`badge ${entry.resolved ? "good" : "warn"}`}>{entry.resolved ? "settled" : "open"}</span>
          </h3>
          <ul class="bars">
            {entry.positions.map((position) => (
              <li key={position.role}>
                <span>
                  <strong>
                    <Words text={position.role} />
                  </strong>{" "}
                  <Words text={position.stance} />
                </span>
                <span class="number">{score(position.strength)}</span>
                <progress max="1" value={position.strength} aria-label="firmness" />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </section>
  );
}

function Insights({ result, name }: { result: Prediction; name: (outcome: string) => string }) {
  if (result.key_insights.length === 0) return null;
  return (
    <section aria-labelledby="insights">
      <h2 id="insights">Insights</h2>
      <ul>
        {result.key_insights.map((entry, place) => (
          <li key={place}>
            <Words text={entry.insight} />
            <p class="quiet">
              {`${entry.impact} impact, round ${entry.round}, `}
              <Words text={entry.source_role} />
              {entry.affected_outcomes.map((outcome) => (
                <>
                  {", "}
                  <Words text={name(outcome)} />
                </>
              ))}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Precedents({ result }: { result: Prediction }) {
  if (result.historical_precedents.length === 0) return null;
  return (
    <section aria-labelledby="precedents">
      <h2 id="precedents">Precedents</h2>
      <ul>
        {result.historical_precedents.map((entry, place) => (
          <li key={place}>
            <Words text={entry.date} />: <Words text={entry.event} />
            <p>
              Ended: <Words text={entry.outcome} />
            </p>
            <p class="quiet">
              {`Similarity ${score(entry.similarity_score)}: `}
              <Words text={entry.relevance} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
