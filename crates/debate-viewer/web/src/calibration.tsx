// How good the forecasts of all resolved debates were: losses and what they are made of, whether what was given a
// probability came true as often, what debating gained. A table next to each chart gives its numbers.

import { useEffect, useState } from "preact/hooks";
import type { Bin, Calibration, Comparison, Decomposition, ForecastReport, Interval } from "./model";
import { type Fail, calibrationPath, load, query } from "./server";
import { Notice, Words } from "./text";
import { count, counted, flat, percent, plain } from "./wording";

const SIZE = 320;
const LEFT = 40;
const TOP = 10;
const SPAN = SIZE - LEFT - 20;
const COUNTS = 46;
const BELOW = 34;

const NAMES: { [of: string]: string } = {
  final: "the debates",
  consensus: "consensus",
  judge: "judges' syntheses",
  blind: "blind openings",
  market: "market",
  opened: "blind openings, pooled",
};

const FINDINGS: { [finding: string]: string } = {
  too_few: "too few to tell",
  better: "better",
  worse: "worse",
  undecided: "no clear difference",
};

interface Forecaster {
  of: string;
  role?: string;
}

function nameOf({ of, role }: Forecaster): string {
  if (role === undefined) return NAMES[of] ?? plain(of);
  return of === "opening" ? `${role} alone` : role;
}

function Name({ whose }: { whose: Forecaster }) {
  return whose.role === undefined ? <>{nameOf(whose)}</> : <Words text={nameOf(whose)} />;
}

/** What names a forecaster in the address. */
function keyOf({ of, role }: Forecaster): string {
  return role === undefined ? of : `${of}:${role}`;
}

function signed(value: number, digits: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
}

function interval(found: Interval | null, digits: number): string {
  if (found === null) return "–";
  const { mean, low, high } = found;
  return `${signed(mean, digits)} [${signed(low, digits)}, ${signed(high, digits)}]`;
}

interface Asked {
  /** Whose forecasts the diagram shows. */
  of: string;
  /** Which debates are counted; null leaves it to the server. */
  source: string | null;
}

export function CalibrationView({ fail }: { fail: Fail }) {
  const [found, setFound] = useState<Calibration | null>(null);
  const [asked, setAsked] = useState<Asked>(() => {
    const params = new URLSearchParams(location.search);
    return { of: params.get("of") ?? "final", source: params.get("source") };
  });

  useEffect(() => {
    document.title = "Calibration";
    const stop = new AbortController();
    load<Calibration>("calibration", calibrationPath(asked.source), setFound, fail, stop.signal);
    return () => stop.abort();
  }, [asked.source]);

  const choose = (next: Asked) => {
    setAsked(next);
    history.replaceState(null, "", location.pathname + query({ ...next }));
  };
  return (
    <>
      <h1>Calibration</h1>
      {found === null ? <p role="status">Reading all resolved debates…</p> : <Found found={found} asked={asked} choose={choose} />}
    </>
  );
}

function Found({ found, asked, choose }: { found: Calibration; asked: Asked; choose: (next: Asked) => void }) {
  const shown = found.forecasts.find((forecast) => keyOf(forecast) === asked.of) ?? found.forecasts[0];
  const counts: { [source: string]: number } = { real: found.real, simulated: found.simulated };
  return (
    <>
      {found.source === "simulated" && found.resolved > 0 && (
        <Notice kind="bad">Simulated: a program made up the replies of these debates. That says nothing about the world.</Notice>
      )}
      <p role="status">{`${counted(found.resolved, `${found.source} debate`)} on ${counted(found.questions, "question")} resolved${found.void === 0 ? "" : `, ${count(found.void)} of them void`}${found.partial === 0 ? "" : `, ${count(found.partial)} partial`}.`}</p>
      {found.left_out > 0 && <p>{`${counted(found.left_out, "older debate")} not read: no more are counted at once.`}</p>}
      {found.real + found.simulated > 0 && (
        <label class="choice">
          Debates counted
          <select value={found.source} onInput={(event) => choose({ ...asked, source: event.currentTarget.value })}>
            {Object.entries(counts).map(([source, many]) => (
              <option key={source} value={source}>{`${source} (${count(many)})`}</option>
            ))}
          </select>
        </label>
      )}
      {shown === undefined ? (
        <p>
          Here stands how good forecasts were, once it is known what happened: <code>debate resolve ID OUTCOME</code> records it, and{" "}
          <code>debate backtest</code> debates questions whose answers are known.
        </p>
      ) : (
        <>
          <Gains comparisons={found.comparisons} least={found.questions_min} />
          <section aria-labelledby="reliability">
            <h2 id="reliability">Did it come true as often as it was given?</h2>
            <label class="choice">
              Forecasts of
              <select value={keyOf(shown)} onInput={(event) => choose({ ...asked, of: event.currentTarget.value })}>
                {found.forecasts.map((forecast) => (
                  <option key={keyOf(forecast)} value={keyOf(forecast)}>
                    {flat(nameOf(forecast))}
                  </option>
                ))}
              </select>
            </label>
            <div class="pair">
              <Diagram forecast={shown} />
              <Bins bins={shown.calibration} />
            </div>
          </section>
          <section aria-labelledby="losses">
            <h2 id="losses">Losses, and what they are made of</h2>
            <p class="quiet">
              {`Smaller is better. The loss of questions with two outcomes is reliability − resolution + uncertainty + what differs within bins: reliability is how far
              probabilities are from how often they came true, resolution how well cases are distinguished, uncertainty what the
              questions themselves cost (Murphy 1973). They are taken apart by the first outcome, each question once, where there are ${found.questions_min} or more. “Alone” is a role’s blind opening, before it
              heard anybody.`}
            </p>
            <Losses caption="Brier score" forecasts={found.forecasts} mean={(forecast) => forecast.brier_mean} part={(forecast) => forecast.brier} />
            <Losses caption="Log score in bits" forecasts={found.forecasts} mean={(forecast) => forecast.log_bits_mean} part={(forecast) => forecast.log_bits} />
          </section>
          <Groups found={found} />
        </>
      )}
    </>
  );
}

/** What debating gained, with how sure that is. */
function Gains({ comparisons, least }: { comparisons: Comparison[]; least: number }) {
  const reach = Math.max(...comparisons.flatMap(({ brier }) => (brier === null ? [] : [Math.abs(brier.low), Math.abs(brier.high)])), 1e-9);
  return (
    <section aria-labelledby="gains">
      <h2 id="gains">What debating gained</h2>
      <p class="quiet">{`The loss of others less that of the debates, in the same questions: above 0 the debates were better. With 95 % intervals over questions drawn anew, each with all its debates (paired bootstrap); with fewer than ${least} different questions there is no result.`}</p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Against</th>
              <th scope="col">The debates are</th>
              <th scope="col">Gain in Brier score</th>
              <th scope="col" aria-hidden="true" />
              <th scope="col">In bits</th>
              <th scope="col" class="number">
                Questions
              </th>
            </tr>
          </thead>
          <tbody>
            {comparisons.map((found) => (
              <tr key={keyOf(found)}>
                <th scope="row">
                  <Name whose={found} />
                </th>
                <td>{FINDINGS[found.finding] ?? found.finding}</td>
                <td class="number">{interval(found.brier, 4)}</td>
                <td aria-hidden="true">
                  {found.brier !== null && <Whisker found={found.brier} reach={reach} />}
                </td>
                <td class="number">{interval(found.log_bits, 3)}</td>
                <td class="number">{count(found.questions)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Whisker({ found, reach }: { found: Interval; reach: number }) {
  const across = (value: number) => 60 + (value / reach) * 56;
  return (
    <svg class="whisker" viewBox="0 0 120 16" width="120" height="16">
      <path class="grid strong" d="M60 0V16" />
      <path class="bar" d={`M${across(found.low)} 8H${across(found.high)}M${across(found.low)} 4V12M${across(found.high)} 4V12`} />
      <circle class="mark s0" cx={across(found.mean)} cy="8" r="4" />
    </svg>
  );
}

/** Given probabilities against how often they came true, with intervals; below it how many there are. */
function Diagram({ forecast }: { forecast: ForecastReport }) {
  const across = (share: number) => LEFT + share * SPAN;
  const down = (share: number) => TOP + (1 - share) * SPAN;
  const floor = TOP + SPAN + COUNTS;
  const filled = forecast.calibration.filter((bin) => bin.count > 0);
  const most = Math.max(...filled.map((bin) => bin.count), 1);
  const many = counted(forecast.debates, "forecast");
  const reliability = forecast.brier === null ? "" : `, reliability ${forecast.brier.reliability.toFixed(4)}, 0 is best`;
  const label = `Reliability of ${flat(nameOf(forecast))}: ${many}${reliability}. The numbers are in the table.`;
  return (
    <figure class="chart reliability">
      <figcaption>
        <Name whose={forecast} /> <span class="quiet">{`${many}; on the line is perfect, bars are 95 % intervals`}</span>
      </figcaption>
      <svg viewBox={`0 0 ${SIZE} ${floor + BELOW}`} role="img" aria-label={label}>
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <g key={share}>
            <path class="grid" d={`M${LEFT} ${down(share)}H${LEFT + SPAN}`} />
            <text class="tick" x={LEFT - 5} y={down(share) + 4} text-anchor="end">{`${share * 100}%`}</text>
            <text class="tick" x={across(share)} y={floor + 14} text-anchor="middle">{`${share * 100}%`}</text>
          </g>
        ))}
        <path class="grid strong" d={`M${across(0)} ${down(0)}L${across(1)} ${down(1)}`} />
        <text class="tick" x={across(0.5)} y={floor + 29} text-anchor="middle">
          probability given, and how many
        </text>
        {filled.map((bin) => (
          <Point key={bin.from} bin={bin} across={across} down={down} floor={floor} high={((COUNTS - 8) * bin.count) / most} />
        ))}
      </svg>
    </figure>
  );
}

interface PointProps {
  bin: Bin;
  across: (share: number) => number;
  down: (share: number) => number;
  floor: number;
  high: number;
}

function Point({ bin, across, down, floor, high }: PointProps) {
  const { mean_probability: given, share_happened: happened, share_interval: reach } = bin;
  if (given === null || happened === null || reach === null) return null;
  const x = across(given);
  const from = across(bin.from) + 1;
  return (
    <g>
      <title>{`${span(bin)}: ${count(bin.count)}, ${percent(happened)} came true`}</title>
      <path class="bar" d={`M${x} ${down(reach.low)}V${down(reach.high)}M${x - 4} ${down(reach.low)}h8M${x - 4} ${down(reach.high)}h8`} />
      <circle class="mark s0" cx={x} cy={down(happened)} r="5" />
      <rect class="many" x={from} y={floor - high} width={across(bin.to) - from - 1} height={high} />
    </g>
  );
}

function span(bin: Bin): string {
  return `${(bin.from * 100).toFixed(0)} to ${(bin.to * 100).toFixed(0)} %`;
}

function Bins({ bins }: { bins: Bin[] }) {
  return (
    <div class="scroll">
      <table class="bins">
        <caption>Probabilities by tenths: of two outcomes that of the first, of more each</caption>
        <thead>
          <tr>
            <th scope="col">Given</th>
            <th scope="col" class="number">
              How many
            </th>
            <th scope="col" class="number">
              Mean
            </th>
            <th scope="col" class="number">
              Came true
            </th>
            <th scope="col" class="number">
              95 % interval
            </th>
          </tr>
        </thead>
        <tbody>
          {bins.map((bin) => (
            <tr key={bin.from}>
              <th scope="row">{span(bin)}</th>
              <td class="number">{count(bin.count)}</td>
              <td class="number">{bin.mean_probability === null ? "–" : percent(bin.mean_probability)}</td>
              <td class="number">{bin.share_happened === null ? "–" : percent(bin.share_happened)}</td>
              <td class="number">{bin.share_interval === null ? "–" : `${percent(bin.share_interval.low)} to ${percent(bin.share_interval.high)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function parts(loss: Decomposition | null): (number | null)[] {
  return loss === null ? [null, null, null, null, null] : [loss.loss, loss.reliability, loss.resolution, loss.uncertainty, loss.within_bins];
}

interface LossesProps {
  caption: string;
  forecasts: ForecastReport[];
  mean: (forecast: ForecastReport) => number;
  part: (forecast: ForecastReport) => Decomposition | null;
}

function Losses({ caption, forecasts, mean, part }: LossesProps) {
  return (
    <div class="scroll">
      <table class="losses">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Forecasts of</th>
            {["Mean of all", "Of two outcomes", "Reliability", "Resolution", "Uncertainty", "Within bins", "Debates"].map((head) => (
              <th scope="col" class="number" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {forecasts.map((forecast) => (
            <tr key={keyOf(forecast)} class={forecast.of === "final" ? "total" : ""}>
              <th scope="row">
                <Name whose={forecast} />
              </th>
              {[mean(forecast), ...parts(part(forecast))].map((value, place) => (
                <td class="number" key={place}>
                  {value === null ? "–" : value.toFixed(4).replace("-", "−")}
                </td>
              ))}
              <td class="number">{count(forecast.debates)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Groups({ found }: { found: Calibration }) {
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">By model, prompts and rules</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Models</th>
              <th scope="col">Prompts</th>
              <th scope="col">Rules</th>
              <th scope="col" class="number">
                Brier score
              </th>
              <th scope="col" class="number">
                Bits
              </th>
              <th scope="col">Gain over blind openings (Brier)</th>
              <th scope="col" class="number">
                Debates
              </th>
            </tr>
          </thead>
          <tbody>
            {found.groups.map((group, place) => (
              <tr key={place}>
                <th scope="row">
                  <Words text={group.models} />
                </th>
                <td>{group.prompts.join(", ")}</td>
                <td>{`${group.rules} (${group.digest.slice(0, 8)})`}</td>
                <td class="number">{group.brier.toFixed(4)}</td>
                <td class="number">{group.log_bits.toFixed(3)}</td>
                <td>{group.uplift === null ? "–" : `${group.uplift.brier === null ? "" : `${interval(group.uplift.brier, 4)}, `}${FINDINGS[group.uplift.finding]}`}</td>
                <td class="number">{count(group.debates)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
