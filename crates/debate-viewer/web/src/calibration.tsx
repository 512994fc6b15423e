// How good the forecasts of all resolved debates were: losses and what they are made of, whether what was given a
// probability came true as often, what debating gained. What a chart shows, a table beside it says in numbers.

import { useEffect, useState } from "preact/hooks";
import type { Bin, Calibration, Comparison, Decomposition, ForecastReport, Interval } from "./model";
import { ask, calibrationPath } from "./server";
import { Notice, Words } from "./text";
import { count, percent, plain } from "./wording";

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
};

const FINDINGS: { [finding: string]: string } = {
  too_few: "too few to tell",
  better: "better",
  worse: "worse",
  undecided: "not to be told apart",
};

interface Forecaster {
  of: string;
  role?: string;
}

function Name({ whose }: { whose: Forecaster }) {
  return whose.role === undefined ? <>{NAMES[whose.of] ?? plain(whose.of)}</> : <Words text={whose.role} />;
}

/** What names a forecaster in the address. */
function keyOf({ of, role }: Forecaster): string {
  return role === undefined ? of : `role:${role}`;
}

function signed(value: number, digits: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
}

function interval({ mean, low, high }: Interval, digits: number): string {
  return `${signed(mean, digits)} [${signed(low, digits)}, ${signed(high, digits)}]`;
}

export function CalibrationView({ fail }: { fail: (error: unknown) => void }) {
  const [found, setFound] = useState<Calibration | null>(null);
  const [whose, setWhose] = useState(() => new URLSearchParams(location.search).get("of") ?? "final");

  useEffect(() => {
    document.title = "Calibration";
    ask<Calibration>(calibrationPath()).then(setFound, fail);
  }, []);

  const choose = (key: string) => {
    setWhose(key);
    history.replaceState(null, "", `${location.pathname}?of=${encodeURIComponent(key)}`);
  };
  return (
    <>
      <h1>Calibration</h1>
      {found === null ? <p role="status">Reading all resolved debates…</p> : <Found found={found} whose={whose} choose={choose} />}
    </>
  );
}

function Found({ found, whose, choose }: { found: Calibration; whose: string; choose: (key: string) => void }) {
  const shown = found.forecasts.find((forecast) => keyOf(forecast) === whose) ?? found.forecasts[0];
  const isOne = found.resolved === 1;
  return (
    <>
      {found.simulated > 0 && (
        <Notice kind="bad">{`Simulated: in ${count(found.simulated)} of these debates a program made up the replies. That says nothing about the world.`}</Notice>
      )}
      <p role="status">{`${count(found.resolved)} ${isOne ? "debate is" : "debates are"} resolved${found.void === 0 ? "" : `, ${count(found.void)} of them void`}.`}</p>
      {shown === undefined ? (
        <p>
          Here stands how good forecasts were, once it is known what happened: <code>debate resolve ID OUTCOME</code> records it, and{" "}
          <code>debate backtest</code> debates questions whose answers are known.
        </p>
      ) : (
        <>
          <Gains comparisons={found.comparisons} most={found.debates_min} />
          <section aria-labelledby="reliability">
            <h2 id="reliability">Did it come true as often as it was given?</h2>
            <label class="choice">
              Forecasts of
              <select value={keyOf(shown)} onInput={(event) => choose(event.currentTarget.value)}>
                {found.forecasts.map((forecast) => (
                  <option key={keyOf(forecast)} value={keyOf(forecast)}>
                    {forecast.role ?? NAMES[forecast.of] ?? forecast.of}
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
              Smaller is better. A loss is reliability − resolution + uncertainty + what differs within bins: reliability is how far
              probabilities are from how often they came true, resolution how well cases are told apart, uncertainty what the
              questions themselves cost.
            </p>
            <Losses caption="Brier score" forecasts={found.forecasts} part={(forecast) => forecast.brier} />
            <Losses caption="Log score in bits, of questions with two outcomes" forecasts={found.forecasts} part={(forecast) => forecast.log_bits} />
          </section>
          <Groups found={found} />
        </>
      )}
    </>
  );
}

/** What debating gained, with how sure that is. */
function Gains({ comparisons, most }: { comparisons: Comparison[]; most: number }) {
  const reach = Math.max(...comparisons.flatMap(({ brier }) => [Math.abs(brier.low), Math.abs(brier.high)]), 1e-9);
  return (
    <section aria-labelledby="gains">
      <h2 id="gains">What debating gained</h2>
      <p class="quiet">{`The loss of others less that of the debates, in the same questions: above 0 the debates were better. With 95 % intervals over debates drawn anew (paired bootstrap); of fewer than ${most} debates nothing is told.`}</p>
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
                Debates
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
                  <Whisker found={found.brier} reach={reach} />
                </td>
                <td class="number">{interval(found.log_bits, 3)}</td>
                <td class="number">{count(found.debates)}</td>
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
  const name = forecast.role ?? NAMES[forecast.of] ?? forecast.of;
  const { reliability, forecasts } = forecast.brier;
  const label = `Reliability of ${name}: ${count(forecasts)} forecasts, reliability ${reliability.toFixed(4)}, 0 is best. The numbers are in the table.`;
  return (
    <figure class="chart reliability">
      <figcaption>
        <Name whose={forecast} /> <span class="quiet">{`${count(forecasts)} forecasts; on the line is perfect, bars are 95 % intervals`}</span>
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
        <caption>Probabilities by tenths: each outcome of a question is one</caption>
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

interface LossesProps {
  caption: string;
  forecasts: ForecastReport[];
  part: (forecast: ForecastReport) => Decomposition | null;
}

function Losses({ caption, forecasts, part }: LossesProps) {
  const rows = forecasts.flatMap((forecast) => {
    const loss = part(forecast);
    return loss === null ? [] : [{ forecast, loss }];
  });
  if (rows.length === 0) return null;
  return (
    <div class="scroll">
      <table class="losses">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Forecasts of</th>
            {["Mean loss", "Reliability", "Resolution", "Uncertainty", "Within bins", "Debates"].map((head) => (
              <th scope="col" class="number" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ forecast, loss }) => (
            <tr key={keyOf(forecast)} class={forecast.of === "final" ? "total" : ""}>
              <th scope="row">
                <Name whose={forecast} />
              </th>
              {[loss.loss, loss.reliability, loss.resolution, loss.uncertainty, loss.within_bins].map((value, place) => (
                <td class="number" key={place}>
                  {value.toFixed(4).replace("-", "−")}
                </td>
              ))}
              <td class="number">{count(loss.forecasts)}</td>
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
      <h2 id="groups">By model and prompts</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Models</th>
              <th scope="col">Prompts</th>
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
                <td class="number">{group.brier.toFixed(4)}</td>
                <td class="number">{group.log_bits.toFixed(3)}</td>
                <td>{group.uplift === null ? "–" : `${interval(group.uplift.brier, 4)}, ${FINDINGS[group.uplift.finding]}`}</td>
                <td class="number">{count(group.debates)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
