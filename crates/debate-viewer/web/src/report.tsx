// A debate as one file for mail and archives: what the page shows, without a server.

import { Course } from "./debate";
import { DebateHead, Glance, Moment, VerificationText } from "./glance";
import type { DebatePage, Verification } from "./model";

export interface Report {
  page: DebatePage;
  verification: Verification;
  made_at: string;
}

export function ReportView({ report }: { report: Report }) {
  const { page, verification, made_at: madeAt } = report;
  return (
    <main>
      <DebateHead page={page} isReport />
      <Moment page={page} />
      <Glance page={page} verification={<VerificationText found={verification} />} />
      <Course page={page} live={null} />
      <footer class="quiet">
        {`Report made ${madeAt} of event ${page.seq}, hash `}
        <code class="hash">{page.hash}</code>
        {`; the log was checked to event ${verification.head_seq}, hash `}
        <code class="hash">{verification.head_hash}</code>
      </footer>
    </main>
  );
}
