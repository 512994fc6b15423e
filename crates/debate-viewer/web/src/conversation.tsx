// A debate of any format: what was said by round and role, and the outcome as the format gives it.

import type { DebatePage, Json, Said } from "./model";
import { Badge, Prose, REDACTED, Tree, Words } from "./text";
import { plain } from "./wording";

export function ConversationView({ page, live }: { page: DebatePage; live: preact.ComponentChildren }) {
  const rounds = new Map<number | null, Said[]>();
  for (const said of page.said) rounds.set(said.round, [...(rounds.get(said.round) ?? []), said]);
  const inOrder = [...rounds].sort(([a], [b]) => (a ?? Infinity) - (b ?? Infinity));
  return (
    <>
      <section aria-labelledby="conversation">
        <h2 id="conversation">Conversation</h2>
        {inOrder.map(([round, said]) => (
          <section class="round" key={String(round)}>
            <h3>{round === null ? "What follows" : `${page.format === "review" ? "Pair" : "Round"} ${round}`}</h3>
            {said.map((entry) => (
              <Entry key={`${entry.seq} ${entry.at}`} said={entry} />
            ))}
          </section>
        ))}
        {live}
      </section>
      <section aria-labelledby="outcome">
        <h2 id="outcome">{page.state === "concluded" ? "Outcome" : "Outcome as it stands"}</h2>
        <div class="card">
          <Tree value={page.result} />
        </div>
      </section>
    </>
  );
}

function Entry({ said }: { said: Said }) {
  return (
    <article class={said.set_aside === null ? "said" : "said aside"}>
      <header>
        <h4>
          <Words text={said.role ?? plain(said.kind)} />
        </h4>
        {said.role !== null && <span>{plain(said.kind)}</span>}
        {said.set_aside !== null && <Badge kind="warn">{said.set_aside === "void" ? "void: what it was built on changed" : `asked again: ${said.set_aside}`}</Badge>}
      </header>
      {said.redacted ? <Prose text={REDACTED} /> : <Spoken words={said.words} />}
      <details>
        <summary>Facts</summary>
        <Tree value={said.facts} />
      </details>
    </article>
  );
}

/** Words are one text, or texts by name of which the longest is what was said. */
function Spoken({ words }: { words: Json }) {
  if (words === null) return null;
  if (typeof words === "string") return <Prose text={words} />;
  if (typeof words !== "object" || Array.isArray(words)) return <Tree value={words} />;
  const texts = Object.entries(words).filter((field): field is [string, string] => typeof field[1] === "string");
  const main = texts.reduce<[string, string] | null>((best, field) => (best === null || field[1].length > best[1].length ? field : best), null);
  const rest = Object.entries(words).filter(([name, value]) => name !== main?.[0] && !(Array.isArray(value) && value.length === 0));
  return (
    <>
      {main !== null && <Prose text={main[1]} />}
      {rest.length > 0 && <Tree value={Object.fromEntries(rest)} />}
    </>
  );
}
