// A debate as one file for mail and archives: what the page shows, without a server.

import { Course, DebateHead, Glance, VerificationText } from "./debate";
import type { DebatePage, Verification } from "./model";

export interface Report {
  page: DebatePage;
  verification: Verification;
  made_at: string;
}

export function ReportView({ report }: { report: Report }) {
  return (
    <main>
      <DebateHead page={report.page} isReport />
      <Glance page={report.page} verification={<VerificationText found={report.verification} />} />
      <Course page={report.page} live={null} />
      <footer class="quiet">
        {`Report made ${report.made_at} of event ${report.page.seq}; head `}
        <code class="hash">{report.verification.head_hash}</code>
      </footer>
    </main>
  );
}
