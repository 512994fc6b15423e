//! What every method and route needs of who calls it: one table, and nothing is served that is not in it.

use crate::tokens::Scope;

/// What a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: everybody may.
    Nothing,
    /// Any token.
    Token,
    /// A token with this scope, or with `admin`.
    Scope(Scope),
}

const READ: Needs = Needs::Scope(Scope::Read);
const WRITE: Needs = Needs::Scope(Scope::Write);
const AUDIT: Needs = Needs::Scope(Scope::Audit);
const ADMIN: Needs = Needs::Scope(Scope::Admin);

/// Every gRPC method, and by method and template every REST route and every route of what the page for people shows.
pub(crate) const TABLE: &[(&str, &str, Needs)] = &[
    ("POST", "/debate.v1.DebateService/StartDebate", WRITE),
    ("POST", "/debate.v1.DebateService/GetDebate", READ),
    ("POST", "/debate.v1.DebateService/ListDebates", READ),
    ("POST", "/debate.v1.DebateService/WatchDebate", READ),
    ("POST", "/debate.v1.DebateService/CancelDebate", WRITE),
    ("POST", "/debate.v1.DebateService/HoldDebate", WRITE),
    ("POST", "/debate.v1.DebateService/PauseDebate", WRITE),
    ("POST", "/debate.v1.DebateService/ResumeDebate", WRITE),
    ("POST", "/debate.v1.DebateService/ContinueDebate", WRITE),
    ("POST", "/debate.v1.DebateService/ResolveDebate", WRITE),
    ("POST", "/debate.v1.DebateService/WatchDebates", READ),
    ("POST", "/debate.v1.DebateService/ListRounds", READ),
    ("POST", "/debate.v1.DebateService/ListArguments", READ),
    ("POST", "/debate.v1.DebateService/GetConsensus", READ),
    ("POST", "/debate.v1.DebateService/GetEnsembleContribution", READ),
    ("POST", "/debate.v1.AuditService/ReadLog", AUDIT),
    ("POST", "/debate.v1.AuditService/ReplayDebate", AUDIT),
    ("POST", "/debate.v1.AuditService/VerifyDebate", AUDIT),
    ("POST", "/debate.v1.AuditService/DiffDebates", AUDIT),
    ("POST", "/debate.v1.AuditService/ExportBundle", AUDIT),
    ("POST", "/debate.v1.AuditService/ListPrompts", AUDIT),
    ("POST", "/debate.v1.AuditService/GetPrompt", AUDIT),
    ("POST", "/debate.v1.AuditService/ForkDebate", WRITE),
    ("POST", "/debate.v1.AuditService/RedactDebate", ADMIN),
    ("POST", "/debate.v1.PolicyService/GetPolicyInsights", ADMIN),
    ("POST", "/debate.v1.PolicyService/ProposePrompt", ADMIN),
    ("POST", "/debate.v1.PolicyService/GetProposal", ADMIN),
    ("POST", "/debate.v1.PolicyService/AcceptPrompt", ADMIN),
    ("POST", "/grpc.health.v1.Health/Check", Needs::Nothing),
    ("POST", "/grpc.health.v1.Health/Watch", Needs::Token),
    ("POST", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Needs::Token),
    ("POST", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Needs::Token),
    ("GET", "/healthz", Needs::Nothing),
    ("GET", "/readyz", Needs::Nothing),
    // Which scope it needs depends on the tool.
    ("POST", "/mcp", Needs::Token),
    ("GET", "/api/v1/openapi.json", Needs::Token),
    ("POST", "/api/v1/debates", WRITE),
    ("GET", "/api/v1/debates", READ),
    ("GET", "/api/v1/debates/{debate_id}", READ),
    ("GET", "/api/v1/debates/{debate_id}/events", READ),
    ("POST", "/api/v1/debates/{debate_id}/resolution", WRITE),
    ("POST", "/api/v1/debates/{debate_id}/continue", WRITE),
    ("POST", "/api/v1/debates/{debate_id}/resume", WRITE),
    ("POST", "/api/v1/reasoning/debate", WRITE),
    ("GET", "/api/v1/reasoning/debate/{debate_id}", READ),
    ("GET", "/api/v1/reasoning/debate/{debate_id}/round/{round_number}", READ),
    ("GET", "/api/v1/reasoning/debate/{debate_id}/role/{role_name}", READ),
    ("GET", "/api/v1/reasoning/debate/{debate_id}/consensus", READ),
    ("GET", "/api/v1/prompts", AUDIT),
    ("GET", "/api/v1/prompts/{format}/{name}", AUDIT),
    ("GET", "/api/v1/reasoning/policy/insights", ADMIN),
    ("POST", "/api/v1/reasoning/policy/proposals", ADMIN),
    ("GET", "/api/v1/reasoning/policy/proposals", ADMIN),
    ("POST", "/api/v1/reasoning/policy/acceptances", ADMIN),
    ("GET", "/viewer/data/formats", READ),
    ("GET", "/viewer/data/debates", READ),
    ("GET", "/viewer/data/debates/{id}", READ),
    ("GET", "/viewer/data/debates/{id}/follow", READ),
    ("GET", "/viewer/data/debates/{id}/events", AUDIT),
    ("GET", "/viewer/data/debates/{id}/calls", AUDIT),
    ("GET", "/viewer/data/debates/{id}/calls/{seq}/prompt", AUDIT),
    ("GET", "/viewer/data/debates/{id}/verification", AUDIT),
    ("GET", "/viewer/data/debates/{id}/bundle", AUDIT),
    ("GET", "/viewer/data/calibration", READ),
    ("GET", "/viewer/data/difference", AUDIT),
];

/// Returns what a request needs, by the template of its route or, for gRPC, by its path. `None` if it is not served.
pub(crate) fn needs(method: &str, place: &str) -> Option<Needs> {
    let method = if method == "HEAD" { "GET" } else { method };
    let row = TABLE.iter().find(|(its_method, its_place, _)| (*its_method, *its_place) == (method, place));
    row.map(|(_, _, needs)| *needs)
}

/// Returns the place of the table at which a request arrives, by the template of its route or by its path.
pub(crate) fn place(template: Option<&str>, path: &str) -> Option<&'static str> {
    let is_here = |place: &str| place == path || Some(place) == template;
    TABLE.iter().map(|(_, place, _)| *place).find(|place| is_here(place))
}

/// Returns whether a place of the table is a method of gRPC.
pub(crate) fn is_grpc(place: &str) -> bool {
    place.split('/').nth(1).is_some_and(|service| service.contains('.'))
}

/// Returns whether a place is served by any method.
pub(crate) fn is_listed(place: &str) -> bool {
    TABLE.iter().any(|(_, its_place, _)| *its_place == place)
}

#[cfg(test)]
mod tests {
    use debate_proto::v1;
    use prost_reflect::DescriptorPool;

    use super::*;

    #[test]
    fn every_method_of_every_service_is_in_the_table_once_and_nothing_else_is() {
        let mut served = Vec::new();
        for set in [
            v1::FILE_DESCRIPTOR_SET,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ] {
            let pool = DescriptorPool::decode(set).unwrap();
            let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
            served.extend(
                methods.map(|method| format!("/{}/{}", method.parent_service().full_name(), method.name())),
            );
        }
        let is_http = |place: &str| {
            ["/api/", "/viewer/", "/healthz", "/readyz", "/mcp"].iter().any(|start| place.starts_with(start))
        };
        let mut listed: Vec<&str> =
            TABLE.iter().map(|(_, place, _)| *place).filter(|place| !is_http(place)).collect();
        served.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, served);
    }

    #[test]
    fn only_asking_whether_the_server_is_up_needs_nothing() {
        let open = TABLE.iter().filter(|(_, _, needs)| *needs == Needs::Nothing);
        let open: Vec<&str> = open.map(|(_, place, _)| *place).collect();
        assert_eq!(open, ["/grpc.health.v1.Health/Check", "/healthz", "/readyz"]);
        assert_eq!(needs("HEAD", "/healthz"), Some(Needs::Nothing));
        assert_eq!(needs("DELETE", "/healthz"), None);
    }
}
