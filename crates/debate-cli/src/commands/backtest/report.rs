//! What a backtest found.

use std::collections::BTreeSet;
use std::sync::Arc;

use debate_core::formats::prediction::track_record::{CalibrationReport, TrackRecord};
use debate_core::id::DebateId;
use debate_viewer::calibration::case;
use serde_json::{Value, json};

use super::estimate::Estimate;
use super::holding::{Ended, Plan};
use crate::app_context::AppContext;
use crate::commands::calibration;
use crate::exit::End;
use crate::page::Page;
use crate::plain::one_line;
use crate::terminal::Terminal;

/// What was found.
#[derive(Debug)]
pub(super) struct Report {
    is_simulated: bool,
    plan: Plan,
    estimate: Estimate,
    ended: Ended,
    calibration: CalibrationReport,
}

impl Report {
    /// Sums up the debates that were held, now or before.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(super) async fn of(
        app: &AppContext,
        plan: Plan,
        estimate: Estimate,
        ended: Ended,
    ) -> anyhow::Result<Self> {
        let held: BTreeSet<DebateId> = ended.all.iter().filter_map(|(_, ended)| ended.clone().ok()).collect();
        let mut record = TrackRecord::default();
        for debate in held {
            case(&app.engine, debate).await?.into_iter().for_each(|case| record.add(Arc::new(case)));
        }
        let calibration = record.report(None, true);
        Ok(Self { is_simulated: app.is_simulated, plan, estimate, ended, calibration })
    }

    /// Lays the report out.
    pub(super) fn page(&self, terminal: Terminal) -> String {
        let mut page = Page::new(terminal);
        for (id, why) in self.failed() {
            page.warning(&format!("{}: {}", one_line(id), one_line(why)));
        }
        if self.ended.interrupted {
            let (held, all) = (self.ended.all.len(), self.plan.debates().len());
            page.warning(&format!("INTERRUPTED after {held} of {all}; the same command goes on from there"));
        }
        page.into_text() + &calibration::page(&self.calibration, terminal)
    }

    /// Returns the report for programs.
    pub(super) fn json(&self) -> Value {
        let debates = self.ended.all.iter().filter_map(|(place, ended)| {
            let question = &self.plan.debates().get(*place)?.question;
            Some(json!({
                "question_id": question.id,
                "debate_id": ended.as_ref().ok().map(DebateId::to_string),
                "failure": ended.as_ref().err(),
                "outcome": question.resolved.outcome,
                "market": question.resolved.market,
            }))
        });
        let (before, cut, new) = self.plan.counts();
        json!({
            "simulated": self.is_simulated,
            "model": self.plan.model(),
            "questions": {"concluded_before": before, "cut": cut, "new": new, "unresolved": self.plan.open()},
            "estimate": self.estimate.json(),
            "interrupted": self.ended.interrupted,
            "debates": debates.collect::<Vec<_>>(),
            "calibration": self.calibration,
        })
    }

    /// Returns how the command ends.
    pub(super) fn end(&self) -> End {
        if self.ended.interrupted {
            return End::Interrupted;
        }
        let all_void = self.calibration.resolved == self.calibration.void;
        if all_void || self.failed().next().is_some() { End::Failed } else { End::Done }
    }

    /// Returns the questions that have no debate, with the reason.
    fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ended.all.iter().filter_map(|(place, ended)| {
            let question = &self.plan.debates().get(*place)?.question;
            Some((question.id.as_str(), ended.as_ref().err()?.as_str()))
        })
    }
}
