// How the probability of one outcome moved: a line for each role over the rounds, then judge, consensus and final, and
// what happened once that is known. What a chart shows, the table below all charts says in numbers.

import type { Prediction, PredictionRules } from "./model";
import { Words } from "./text";
import { percent } from "./wording";

const WIDTH = 340;
const HEIGHT = 190;
const LEFT = 38;
const TOP = 12;
const BOTTOM = 26;
const MARKS = ["circle", "square", "triangle", "diamond", "cross"] as const;
/** Dashes go round in four, marks and colours in five: twenty roles, the most there are, are twenty pairs. */
const DASHES = 4;

export interface Series {
  role: string;
  /** By round, from the first; null where the role said nothing. */
  shares: (number | null)[];
  /** By round: whether the answer was repaired. */
  repaired: boolean[];
}

export interface Moves {
  outcome: string;
  series: Series[];
  judge: number | null;
  consensus: number | null;
  final: number | null;
  blind: number | null;
  happened: boolean | null;
}

export function moves(result: Prediction, rules: PredictionRules, happened: string | null): Moves[] {
  const { ledger, blind_baseline: blind } = result.extra;
  const rounds = Math.max(rules.rounds, ...ledger.map((entry) => entry.round));
  return rules.outcomes.map((outcome, place) => {
    const end = result.probability_distribution[place];
    const series = rules.roles.map((role) => ({
      role,
      shares: Array.from({ length: rounds }, (_, before) => {
        const entry = ledger.find((entry) => entry.role === role && entry.round === before + 1);
        return entry?.probabilities[place] ?? null;
      }),
      repaired: Array.from({ length: rounds }, (_, before) => isRepaired(result, `argue/${before + 1}/${role}`)),
    }));
    return {
      outcome,
      series,
      judge: end?.judge_probability ?? null,
      consensus: end?.consensus_probability ?? null,
      final: end?.probability ?? null,
      blind: blind?.[place] ?? null,
      happened: happened === null ? null : happened === outcome,
    };
  });
}

function isRepaired(result: Prediction, call: string): boolean {
  return result.extra.repairs?.some((entry) => entry.call === call) ?? false;
}

function Mark({ nth, x, y }: { nth: number; x: number; y: number }) {
  const kind = MARKS[nth % MARKS.length];
  const name = `mark s${nth % MARKS.length}`;
  if (kind === "circle") return <circle class={name} cx={x} cy={y} r="4" />;
  if (kind === "square") return <rect class={name} x={x - 3.5} y={y - 3.5} width="7" height="7" />;
  if (kind === "triangle") return <path class={name} d={`M${x} ${y - 5}L${x + 5} ${y + 4}H${x - 5}Z`} />;
  if (kind === "diamond") return <path class={name} d={`M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z`} />;
  return <path class={`${name} open`} d={`M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x - 4} ${y + 4}L${x + 4} ${y - 4}`} />;
}

function lineOf(nth: number): string {
  return `line s${nth % MARKS.length} d${nth % DASHES}`;
}

export function Legend({ roles }: { roles: string[] }) {
  return (
    <ul class="legend">
      {roles.map((role, nth) => (
        <li key={role}>
          <svg viewBox="0 0 28 14" width="28" height="14" aria-hidden="true">
            <path class={lineOf(nth)} d="M1 7H27" />
            <Mark nth={nth} x={14} y={7} />
          </svg>
          <Words text={role} />
        </li>
      ))}
    </ul>
  );
}

export function Chart({ moves, label }: { moves: Moves; label: string }) {
  const rounds = moves.series[0]?.shares.length ?? 0;
  const columns = rounds + 3;
  const step = (WIDTH - LEFT - 20) / Math.max(1, columns - 0.5);
  const across = (column: number) => LEFT + 10 + step * (column + (column >= rounds ? 0.5 : 0));
  const down = (share: number) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  const ends: [string, string, number | null][] = [
    ["judge", "J", moves.judge],
    ["consensus", "C", moves.consensus],
    ["final", "F", moves.final],
  ];
  const result = moves.final === null ? "no answer yet" : `final ${percent(moves.final)}`;
  const found = moves.happened === null ? "" : moves.happened ? ", and it happened" : ", and it did not happen";
  return (
    <figure class="chart">
      <figcaption>
        <Words text={label} /> <span class="quiet">{result + found}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Probability by round: ${result}${found}. The numbers are in the table below.`}>
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <g key={share}>
            <path class="grid" d={`M${LEFT} ${down(share)}H${WIDTH - 4}`} />
            <text class="tick" x={LEFT - 5} y={down(share) + 4} text-anchor="end">{`${share * 100}%`}</text>
          </g>
        ))}
        {Array.from({ length: rounds }, (_, round) => (
          <text key={round} class="tick" x={across(round)} y={HEIGHT - 8} text-anchor="middle">
            {round + 1}
          </text>
        ))}
        <path class="grid strong" d={`M${across(rounds) - step / 2} ${TOP}V${HEIGHT - BOTTOM}`} />
        {moves.happened !== null && (
          <path class="happened" d={`M${LEFT} ${down(moves.happened ? 1 : 0)}H${WIDTH - 4}`}>
            <title>{moves.happened ? "it happened" : "it did not happen"}</title>
          </path>
        )}
        {moves.series.map((series, nth) => {
          const points = series.shares.flatMap((share, round) => (share === null ? [] : [[across(round), down(share)] as const]));
          return (
            <g key={series.role}>
              <path class={lineOf(nth)} d={points.map(([x, y], place) => `${place === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("")} />
              {points.map(([x, y]) => (
                <Mark key={x} nth={nth} x={x} y={y} />
              ))}
            </g>
          );
        })}
        {ends.map(([name, letter, share], place) => (
          <g key={name}>
            <text class="tick strong" x={across(rounds + place)} y={HEIGHT - 8} text-anchor="middle">
              {letter}
            </text>
            {share !== null && (
              <g>
                <title>{`${name}: ${percent(share)}`}</title>
                <path class={`end ${name}`} d={`M${across(rounds + place) - 8} ${down(share)}h16`} />
              </g>
            )}
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** The numbers of all charts. */
export function MovesTable({ all, labels }: { all: Moves[]; labels: (outcome: string) => string }) {
  const rounds = all[0]?.series[0]?.shares.length ?? 0;
  const shown = (share: number | null) => (share === null ? "–" : percent(share));
  return (
    <div class="scroll">
      <table>
        <caption>Probabilities by outcome, role and round</caption>
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col">Who</th>
            {Array.from({ length: rounds }, (_, round) => (
              <th scope="col" class="number" key={round}>{`Round ${round + 1}`}</th>
            ))}
          </tr>
        </thead>
        {all.map((moves) => (
          <tbody key={moves.outcome}>
            {moves.series.map((series) => (
              <tr key={series.role}>
                <th scope="row">
                  <Words text={labels(moves.outcome)} />
                </th>
                <td>
                  <Words text={series.role} />
                </td>
                {series.shares.map((share, round) => (
                  <td class="number" key={round}>
                    {shown(share)}
                    {series.repaired[round] === true && "*"}
                  </td>
                ))}
              </tr>
            ))}
            <tr class="total">
              <th scope="row">
                <Words text={labels(moves.outcome)} />
              </th>
              <td colSpan={rounds + 1}>
                {`blind ${shown(moves.blind)}, consensus ${shown(moves.consensus)}, judge ${shown(moves.judge)}, `}
                <strong>{`final ${shown(moves.final)}`}</strong>
                {moves.happened === null ? "" : moves.happened ? "; it happened" : "; it did not happen"}
              </td>
            </tr>
          </tbody>
        ))}
      </table>
    </div>
  );
}
