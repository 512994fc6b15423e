// What the server computes; see debate_page.rs, listing.rs, events.rs, calls.rs, proof.rs and the core's outcome.rs and
// track_record.rs.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Completeness {
  state: "full" | "partial" | "void";
  why?: string[];
}

export interface Attempt {
  call: string;
  revision: number;
  attempt: number;
  turn: number;
}

export interface Origin {
  debate_id: string;
  at: number;
  change: string;
}

export interface Spend {
  calls: number;
}

export interface Said {
  seq: number;
  at: string;
  kind: string;
  call: string | null;
  role: string | null;
  round: number | null;
  set_aside: string | null;
  facts: Json;
  words: Json;
  redacted: boolean;
}

/** What a debate came to. */
export interface Decision {
  decided: string[];
  sure: string | null;
  sure_means: string | null;
  dissenters: string[] | null;
  apart: string | null;
  open: string[];
}

export interface DebatePage {
  debate_id: string;
  format: string;
  title: string | null;
  seq: number;
  at: string;
  hash: string;
  head_seq: number;
  head_state: DebatePage["state"];
  inherited: number;
  state: "running" | "paused" | "concluded";
  phase: { name: string; round: number } | null;
  completeness: Completeness;
  missing: string[];
  stop: { words: string } | null;
  cancelled_because: string | null;
  opened_at: string;
  deadline_at: string | null;
  concluded_at: string | null;
  resolved: { outcome: string; happened_at: string | null; recorded_at: string; market: number[] | null } | null;
  forked_from: Origin | null;
  calls_expected: number;
  spend: Spend;
  spent: string;
  models: string[];
  unpriced_models: string[];
  cut: string[];
  parts_cut: string | null;
  simulated: boolean;
  redacted: boolean;
  confidence: number | null;
  speaking: Attempt[];
  rules: Json;
  brief: Json;
  decision: Decision;
  result: Json;
  said: Said[];
}

export interface Argument {
  role: string;
  argument: string;
  outcome_supported: string;
  evidence_cited: string[];
  scores: { [criterion: string]: number | null };
  rebuts: string[];
  point: string;
  cites: string[];
  flags: string[];
}

export interface Round {
  round_number: number;
  phase: string;
  arguments: Argument[];
  round_summary: {
    dominant_argument: string;
    key_disagreements: string[];
    emerging_consensus: { outcome_id: string; direction: string }[];
  };
}

export interface Prediction {
  debate_log: { rounds: Round[] };
  consensus_score: number;
  disagreement_map: {
    topic: string;
    positions: { role: string; stance: string; strength: number }[];
    resolved: boolean;
  }[];
  probability_distribution: {
    outcome_id: string;
    probability: number;
    role_assessments: { role: string; probability: number; confidence: number }[];
    judge_probability: number | null;
    consensus_probability: number;
  }[];
  key_insights: {
    insight: string;
    source_role: string;
    round: number;
    impact: string;
    affected_outcomes: string[];
  }[];
  historical_precedents: {
    event: string;
    date: string;
    outcome: string;
    relevance: string;
    similarity_score: number;
  }[];
  extra: {
    blind_baseline: number[] | null;
    ledger: { role: string; round: number; probabilities: number[]; confidence: number; conformity: boolean }[];
    judge_reasoning: string;
    notes?: string[];
    repairs?: { call: string; repairs: string[] }[];
    judge_passes?: { held: number; total_variation: number; flipped: boolean };
  };
}

export interface PredictionRules {
  outcomes: string[];
  roles: string[];
  rounds: number;
  judge_weight: number;
}

export interface Entry {
  debate_id: string;
  format: string;
  state: "running" | "paused" | "concluded";
  completeness: "full" | "partial" | "void" | null;
  opened_at: string;
  head_seq: number;
  forked_from: Origin | null;
  title: string | null;
  simulated: boolean;
  spend: Spend | null;
  spent: string | null;
  progress: { phase: string | null; round: number | null; calls_expected: number } | null;
}

export interface ListPage {
  debates: Entry[];
  before: number | null;
}

export interface EventShown {
  seq: number;
  kind: string;
  version: number;
  at: string;
  actor: string;
  hash: string;
  words_digest: string | null;
  redacted: boolean;
  facts: string;
  words: Json;
}

export interface CallShown extends Attempt {
  seq: number;
  at: string;
  cause: string;
  model: string;
  thinking?: { effort?: string; tokens: number };
  sees: { call: string; revision: number }[];
  prompt: { version: string; digest: string; tokens: number; omitted?: string[] };
  end: {
    seq: number;
    at: string;
    kind: string;
    why: Json;
    reply: {
      usage: { input?: number | null; output?: number | null; reasoning?: number };
      latency_ms: number;
      wire_retries: number;
      ended?: string;
      stop_reason?: string;
      repairs?: string[];
    } | null;
    cost: string | null;
    words: Json;
    redacted: boolean;
  } | null;
}

/** The prompt of a request, rendered again from the log. */
export interface PromptShown {
  agrees: boolean;
  told: string;
  rendered: {
    messages: { speaker: string; text: string }[];
    reply_schema: Json;
    output_tokens_max: number;
    web_search: boolean;
  } | null;
}

export interface Verification {
  ok: boolean;
  events: number;
  inherited: number;
  head_seq: number;
  head_hash: string;
  outcomes: number;
  redacted: number;
  unfinished_redactions: number;
  fault_seq: number | null;
  fault: string | null;
}

export interface Place {
  debate_id: string;
  seq: number;
  kind: string;
  about: string;
}

export interface Difference {
  a: Place | null;
  b: Place | null;
  field: string;
  a_value: Json;
  b_value: Json;
}

export interface Interval {
  mean: number;
  low: number;
  high: number;
}

export interface Decomposition {
  forecasts: number;
  questions: number;
  loss: number;
  reliability: number;
  resolution: number;
  uncertainty: number;
  within_bins: number;
}

export interface Bin {
  from: number;
  to: number;
  count: number;
  mean_probability: number | null;
  share_happened: number | null;
  share_interval: Interval | null;
}

export interface ForecastReport {
  of: string;
  role?: string;
  debates: number;
  brier_mean: number;
  brier: Decomposition | null;
  log_bits_mean: number;
  log_bits: Decomposition | null;
  calibration: Bin[];
}

export interface Comparison {
  of: string;
  role?: string;
  debates: number;
  questions: number;
  brier: Interval | null;
  log_bits: Interval | null;
  finding: string;
}

export interface Calibration {
  source: "real" | "simulated";
  real: number;
  simulated: number;
  resolved: number;
  left_out: number;
  void: number;
  partial: number;
  questions: number;
  questions_min: number;
  forecasts: ForecastReport[];
  comparisons: Comparison[];
  groups: { models: string; prompts: string[]; rules: string; digest: string; debates: number; brier: number; log_bits: number; uplift: Comparison | null }[];
}
