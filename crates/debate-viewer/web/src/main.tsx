// Which page this is. A report carries what it shows; every other page asks the server.

import { render } from "preact";
import { useCallback, useState } from "preact/hooks";
import { CalibrationView } from "./calibration";
import { CompareView } from "./compare";
import { DebateView } from "./debate";
import { ListView } from "./list";
import { type Report, ReportView } from "./report";
import { type Fail, ServerError, hasToken, keepToken } from "./server";
import { Notice } from "./text";

function Site() {
  const [errors, setErrors] = useState<ReadonlyMap<string, unknown>>(new Map());
  const fail: Fail = useCallback((of, error) => {
    setErrors((errors) => (error === null && !errors.has(of) ? errors : new Map([...errors].filter(([name]) => name !== of).concat(error === null ? [] : [[of, error]]))));
  }, []);
  const [error = null] = errors.values();
  const debate = /^\/viewer\/debates\/([^/]+)$/.exec(location.pathname)?.[1];
  const refusal = error instanceof ServerError ? error.status : null;
  const needsToken = refusal === 401 || (refusal === 403 && hasToken());
  const isKnown = refusal === 401 && !hasToken();
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <nav class="top" aria-label="Pages">
        <a href="/viewer/">Debates</a>
        <a href="/viewer/compare">Compare</a>
        <a href="/viewer/calibration">Calibration</a>
      </nav>
      <main id="main">
        {needsToken && <TokenForm />}
        {error !== null && !isKnown && <Notice kind="bad">{error instanceof Error ? error.message : String(error)}</Notice>}
        {debate !== undefined ? (
          <DebateView id={decodeURIComponent(debate)} fail={fail} />
        ) : location.pathname === "/viewer/compare" ? (
          <CompareView fail={fail} />
        ) : location.pathname === "/viewer/calibration" ? (
          <CalibrationView fail={fail} />
        ) : (
          <ListView fail={fail} />
        )}
      </main>
    </>
  );
}

function TokenForm() {
  const keep = (event: SubmitEvent) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget as HTMLFormElement).get("token");
    keepToken(String(token).trim());
    location.reload();
  };
  return (
    <form class="card" onSubmit={keep}>
      <label>
        {hasToken() ? "Another token" : "This server asks for a token"}, kept until this tab is closed
        <input name="token" type="password" autocomplete="off" required />
      </label>
      <button type="submit">Go on</button>
    </form>
  );
}

const place = document.getElementById("page");
const carried = document.getElementById("report");
if (place !== null) {
  if (carried === null) render(<Site />, place);
  else render(<ReportView report={JSON.parse(carried.textContent ?? "") as Report} />, place);
}
