// Two debates, or a debate and its fork, at the first thing in which they differ.

import { useEffect, useState } from "preact/hooks";
import type { DebatePage, Difference, Place } from "./model";
import { namer, resultOf } from "./prediction";
import { type Fail, ask, debatePath, differencePath } from "./server";
import { Badge, Notice, REDACTED, Tree, Words } from "./text";
import { kindOf, percent, plain, stopReason } from "./wording";

export function CompareView({ fail }: { fail: Fail }) {
  const params = new URLSearchParams(location.search);
  const [a, b] = [params.get("a") ?? "", params.get("b") ?? ""];
  useEffect(() => {
    document.title = "Compare";
  }, []);
  return (
    <>
      <h1>Two debates compared</h1>
      <form class="filters" method="get" onSubmit={open}>
        <label>
          First debate
          <input name="a" value={a} required placeholder="its id" />
        </label>
        <label>
          Second debate
          <input name="b" value={b} required placeholder="its id" />
        </label>
        <button type="submit">Compare</button>
      </form>
      {a !== "" && b !== "" && <Compared a={a} b={b} fail={fail} />}
    </>
  );
}

// Forms are not sent: the policy of these pages forbids it, and their address says all.
function open(event: SubmitEvent): void {
  event.preventDefault();
  const fields = new FormData(event.currentTarget as HTMLFormElement);
  location.search = new URLSearchParams([...fields].map(([name, value]) => [name, String(value).trim()])).toString();
}

function Compared({ a, b, fail }: { a: string; b: string; fail: Fail }) {
  const [found, setFound] = useState<{ difference: Difference | null; pages: [DebatePage, DebatePage] } | null>(null);
  useEffect(() => {
    const pages = Promise.all([ask<DebatePage>(debatePath(a)), ask<DebatePage>(debatePath(b))]);
    const difference = ask<{ difference: Difference | null }>(differencePath(a, b));
    Promise.all([difference, pages]).then(
      ([{ difference }, pages]) => {
        fail("compare", null);
        setFound({ difference, pages });
      },
      (error: unknown) => fail("compare", error),
    );
  }, [a, b]);
  if (found === null) return <p role="status">Comparing…</p>;
  const { difference, pages } = found;
  return (
    <>
      <section aria-labelledby="first-difference">
        <h2 id="first-difference">The first difference</h2>
        {difference === null ? (
          <Notice kind="good">They do not differ in what was asked, said and decided; ids, times, spend and the order of arrival aside.</Notice>
        ) : (
          <>
            <p>
              {difference.field === "" ? "Only one of them has this event." : "They differ in "}
              {difference.field !== "" && <code>{difference.field}</code>}
            </p>
            <div class="pair">
              <Side name="First debate" place={difference.a} value={difference.a_value} isField={difference.field !== ""} />
              <Side name="Second debate" place={difference.b} value={difference.b_value} isField={difference.field !== ""} />
            </div>
          </>
        )}
      </section>
      <section aria-labelledby="as-they-stand">
        <h2 id="as-they-stand">As they stand</h2>
        <div class="pair">
          {pages.map((page) => (
            <Standing key={page.debate_id} page={page} />
          ))}
        </div>
      </section>
    </>
  );
}

function Side({ name, place, value, isField }: { name: string; place: Place | null; value: Difference["a_value"]; isField: boolean }) {
  return (
    <div class="card">
      <h3>{name}</h3>
      {place === null ? (
        <p>It has no such event.</p>
      ) : (
        <>
          <p>
            <a href={`/viewer/debates/${place.debate_id}?at=${place.seq}`}>{`Event ${place.seq}`}</a>
            {`: ${plain(place.kind)} `}
            <Words text={place.about} />
          </p>
          {isField && <Tree value={value} />}
        </>
      )}
    </div>
  );
}

function Standing({ page }: { page: DebatePage }) {
  const name = page.format === "prediction" ? namer(page) : null;
  return (
    <div class="card">
      <h3>
        <a href={`/viewer/debates/${page.debate_id}`}>
          <Words text={page.title ?? REDACTED} />
        </a>
      </h3>
      <p>
        <Badge kind={page.state === "concluded" ? kindOf(page.completeness.state) : "note"}>{page.state === "concluded" ? page.completeness.state : page.state}</Badge>{" "}
        {page.state !== "concluded" && `${plain(page.completeness.state)} were it to end now `}
        {page.simulated && <Badge kind="bad">simulated</Badge>}
      </p>
      <p class="quiet">{stopReason(page)}</p>
      {page.forked_from !== null && (
        <p>
          {`Forked at event ${page.forked_from.at} with `}
          <Words text={page.forked_from.change} />
        </p>
      )}
      {name !== null && (
        <ul class="bars">
          {resultOf(page).probability_distribution.map((entry) => (
            <li key={entry.outcome_id}>
              <Words text={name(entry.outcome_id)} />
              <strong class="number">{percent(entry.probability)}</strong>
              <progress max="1" value={entry.probability} aria-label="probability" />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
