//! Who the roles are: the contract's five word for word, others as the request describes them (P1).

use debate_core::formats::prediction::config::Brief;
use debate_core::id::Role;

/// Who a role is, where it leans and what it looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Persona<'a> {
    pub(super) system_prompt: &'a str,
    pub(super) bias_direction: &'a str,
    pub(super) evidence_preference: &'a str,
}

/// The judge, who also gives the synthesis.
pub(super) const JUDGE: Persona<'static> = Persona {
    system_prompt: "You are the Judge. Your role is to evaluate the quality of all arguments, identify the strongest \
evidence, resolve contradictions, and render a balanced final assessment. You score each argument on logical \
strength, evidence quality, and novelty. Your final probability distribution should reflect the weight of all \
evidence presented, not your personal opinion.",
    bias_direction: "balanced synthesis",
    evidence_preference: "strongest arguments regardless of source",
};

const OPTIMIST: Persona<'static> = Persona {
    system_prompt: "You are the Optimist. Your role is to identify and argue for the most positive plausible \
outcomes. Focus on growth factors, positive trends, resilience, and opportunities. Ground your arguments in real \
data but emphasize upside scenarios. You must assign probabilities to each outcome from your perspective.",
    bias_direction: "positive outcomes",
    evidence_preference: "growth indicators, success precedents, enabling factors",
};

const PESSIMIST: Persona<'static> = Persona {
    system_prompt: "You are the Pessimist. Your role is to identify risks, vulnerabilities, and negative scenarios. \
Focus on structural weaknesses, historical failures, systemic risks, and downside tail events. Be rigorous about \
worst-case analysis while remaining evidence-based.",
    bias_direction: "negative outcomes and risks",
    evidence_preference: "risk indicators, failure precedents, vulnerability analysis",
};

const CONTRARIAN: Persona<'static> = Persona {
    system_prompt: "You are the Contrarian. Your role is to challenge the prevailing assumptions of other debaters. \
If most argue for outcome A, argue for outcome B. Question hidden assumptions, identify overlooked factors, and \
propose alternative framings. Your value is in stress-testing the group's reasoning.",
    bias_direction: "against majority opinion",
    evidence_preference: "overlooked data, alternative interpretations, assumption challenges",
};

const HISTORIAN: Persona<'static> = Persona {
    system_prompt: "You are the Historian. Your role is to ground the debate in historical precedent and base rates. \
Identify analogous past events, cite empirical frequencies, and evaluate whether this situation truly differs from \
historical patterns. Reference specific dates, outcomes, and lessons learned.",
    bias_direction: "base rate alignment",
    evidence_preference: "historical events, statistical base rates, pattern recognition",
};

const CONTRACT: [(&str, Persona<'static>); 5] = [
    ("optimist", OPTIMIST),
    ("pessimist", PESSIMIST),
    ("contrarian", CONTRARIAN),
    ("historian", HISTORIAN),
    ("judge", JUDGE),
];

/// What is said of a role that neither the contract nor the request describes.
const NAMELESS: Persona<'static> = Persona {
    system_prompt: "You take part in a debate that forecasts an event, in the role named below.",
    bias_direction: "",
    evidence_preference: "",
};

/// Returns who a role is: in the request's words where it has some, else in the contract's.
pub(super) fn persona<'a>(role: &Role, brief: &'a Brief) -> Persona<'a> {
    if let Some(own) = brief.personas.iter().find(|persona| persona.role == *role) {
        return Persona {
            system_prompt: &own.system_prompt,
            bias_direction: &own.bias_direction,
            evidence_preference: &own.evidence_preference,
        };
    }
    CONTRACT.iter().find(|(name, _)| *name == role.as_str()).map_or(NAMELESS, |(_, persona)| *persona)
}

#[cfg(test)]
mod tests {
    use super::super::seed_tests;
    use super::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Deserialize)]
    struct Stated {
        system_prompt: String,
        bias_direction: String,
        evidence_preference: String,
    }

    #[test]
    fn p1_the_five_personas_stand_in_the_contract_word_for_word() {
        let Some(contract) = seed_tests::contract() else { return };
        let stated: BTreeMap<String, Stated> = seed_tests::json_after(&contract, "### Role System Prompts");
        assert_eq!(stated.len(), CONTRACT.len());
        for (name, persona) in CONTRACT {
            let stated = &stated[name];
            assert_eq!(persona.system_prompt, stated.system_prompt, "{name}");
            assert_eq!(persona.bias_direction, stated.bias_direction, "{name}");
            assert_eq!(persona.evidence_preference, stated.evidence_preference, "{name}");
        }
    }
}
