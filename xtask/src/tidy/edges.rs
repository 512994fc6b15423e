//! Rules on what depends on what: dependencies point one way, and a kind of IO has one home.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Violation;

/// Every package and the members it may depend on.
const ROOMS: [(&str, &[&str]); 17] = [
    ("debate-core", &[]),
    ("debate-llm", &[]),
    ("debate-proto", &[]),
    ("debate-postgres-fixture", &[]),
    ("debate-client", &["debate-proto"]),
    ("debate-prompts", &["debate-core"]),
    ("debate-store", &["debate-core"]),
    ("debate-proof", &["debate-core"]),
    ("debate-engine", &["debate-core", "debate-prompts", "debate-store", "debate-llm"]),
    ("debate-grpc", &["debate-engine", "debate-core", "debate-proof", "debate-proto", "debate-store"]),
    ("debate-mcp", &["debate-core", "debate-engine", "debate-proto", "debate-grpc"]),
    (
        "debate-cli",
        &[
            "debate-client",
            "debate-core",
            "debate-prompts",
            "debate-store",
            "debate-llm",
            "debate-engine",
            "debate-proof",
            "debate-proto",
            "debate-grpc",
            "debate-mcp",
            "debate-rehearsal",
            "debate-viewer",
        ],
    ),
    ("debate-viewer", &["debate-engine", "debate-core", "debate-proof", "debate-store"]),
    ("debate-rehearsal", &["debate-core", "debate-prompts", "debate-store", "debate-llm", "debate-engine"]),
    ("debate-sim", &["debate-core", "debate-prompts", "debate-store", "debate-llm", "debate-engine"]),
    (
        "debate-benches",
        &[
            "debate-core",
            "debate-prompts",
            "debate-store",
            "debate-llm",
            "debate-engine",
            "debate-grpc",
            "debate-rehearsal",
        ],
    ),
    ("xtask", &["debate-postgres-fixture"]),
];

/// Other people's crates and the members that alone may ship them.
const HOMES: [(&str, &[&str]); 5] = [
    ("sqlx", &["debate-store", "debate-benches"]),
    ("hyper-rustls", &["debate-llm"]),
    ("axum", &["debate-grpc", "debate-mcp", "debate-viewer"]),
    ("rmcp", &["debate-mcp"]),
    ("tonic", &["debate-proto", "debate-client", "debate-grpc", "debate-cli"]),
];

/// Members that do no IO and wait for nothing, and what they therefore cannot need.
const PURE: [&str; 3] = ["debate-core", "debate-prompts", "debate-proof"];
const IMPURE: [&str; 8] =
    ["tokio", "futures", "async-trait", "rand", "getrandom", "tokio-util", "tokio-stream", "crossbeam"];

/// A member of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    name: String,
    /// Its Cargo.toml, relative to the root.
    manifest: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone)]
struct Dependency {
    name: String,
    /// Needed by tests, benches and examples alone.
    is_dev: bool,
}

/// Reads the members from what `cargo metadata` answered.
///
/// # Errors
///
/// When the answer has another shape.
pub(crate) fn packages(metadata: &Value, root: &Path) -> Result<Vec<Package>> {
    let list = |value: &Value| value.as_array().cloned().context("cargo metadata lists no packages");
    let text = |value: &Value| value.as_str().map(str::to_owned).context("cargo metadata names no package");
    let mut packages = Vec::new();
    for package in list(&metadata["packages"])? {
        let mut dependencies = Vec::new();
        for dependency in list(&package["dependencies"])? {
            let is_dev = dependency["kind"].as_str() == Some("dev");
            dependencies.push(Dependency { name: text(&dependency["name"])?, is_dev });
        }
        let manifest = text(&package["manifest_path"])?;
        let relative = Path::new(&manifest).strip_prefix(root).unwrap_or(Path::new(&manifest));
        let manifest = relative.to_string_lossy().replace('\\', "/");
        packages.push(Package { name: text(&package["name"])?, manifest, dependencies });
    }
    Ok(packages)
}

/// Returns every dependency that points the wrong way or stands in the wrong room.
pub(crate) fn violations(packages: &[Package]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        let mut found =
            |text: String| violations.push(Violation { path: package.manifest.clone(), line: None, text });
        if allowed(&package.name).is_none() {
            found(format!("`{}` has no room: say in tidy's table what it may depend on", package.name));
        }
        for dependency in &package.dependencies {
            if let Some(text) = fault(&package.name, dependency) {
                found(text);
            }
        }
    }
    violations
}

fn fault(package: &str, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if allowed(name).is_some() {
        if dependency.is_dev {
            return may_reach(name, package)
                .then(|| format!("tests of `{package}` use `{name}`, which is built on `{package}`"));
        }
        let is_allowed = allowed(package)?.contains(&name);
        return (!is_allowed).then(|| format!("`{package}` must not depend on `{name}`"));
    }
    if dependency.is_dev {
        return None;
    }
    if PURE.contains(&package) && IMPURE.contains(&name) {
        return Some(format!("`{package}` does no IO and waits for nothing, so it cannot need `{name}`"));
    }
    let (_, homes) = HOMES.into_iter().find(|(other, _)| *other == name)?;
    (!homes.contains(&package)).then(|| format!("`{name}` belongs in {}", homes.join(", ")))
}

fn allowed(package: &str) -> Option<&'static [&'static str]> {
    ROOMS.into_iter().find(|(name, _)| *name == package).map(|(_, allowed)| allowed)
}

/// Tells whether one member may depend on another, directly or through others. The table has no circle.
fn may_reach(from: &str, to: &str) -> bool {
    allowed(from).is_some_and(|next| next.iter().any(|name| *name == to || may_reach(name, to)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(package: &str, dependency: &str, kind: &str) -> Vec<String> {
        let metadata = json!({ "packages": [{
            "name": package,
            "manifest_path": format!("/house/crates/{package}/Cargo.toml"),
            "dependencies": [{ "name": dependency, "kind": if kind == "dev" { json!("dev") } else { Value::Null } }],
        }]});
        let packages = packages(&metadata, Path::new("/house")).unwrap();
        violations(&packages).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn dependencies_point_one_way() {
        let found = check("debate-core", "debate-store", "normal");
        assert_eq!(found, ["crates/debate-core/Cargo.toml: `debate-core` must not depend on `debate-store`"]);
        for (package, dependency) in [
            ("debate-prompts", "debate-llm"),
            ("debate-llm", "debate-core"),
            ("debate-proto", "debate-core"),
            ("debate-engine", "debate-grpc"),
            ("debate-engine", "debate-sim"),
            ("debate-grpc", "debate-llm"),
            ("debate-sim", "debate-cli"),
        ] {
            assert_eq!(check(package, dependency, "normal").len(), 1, "{package} → {dependency}");
        }
        for (package, dependency) in [
            ("debate-prompts", "debate-core"),
            ("debate-engine", "debate-llm"),
            ("debate-cli", "debate-grpc"),
        ] {
            assert!(check(package, dependency, "normal").is_empty(), "{package} → {dependency}");
        }
    }

    #[test]
    fn tests_may_use_other_rooms_but_nothing_built_on_their_own() {
        assert!(check("debate-grpc", "debate-llm", "dev").is_empty());
        assert_eq!(check("debate-core", "debate-engine", "dev").len(), 1);
        assert_eq!(check("debate-llm", "debate-cli", "dev").len(), 1);
    }

    #[test]
    fn the_core_and_the_prompts_need_no_runtime() {
        assert_eq!(check("debate-core", "tokio", "normal").len(), 1);
        assert_eq!(check("debate-prompts", "futures", "normal").len(), 1);
        assert!(check("debate-engine", "tokio", "normal").is_empty());
    }

    #[test]
    fn each_kind_of_io_has_one_home() {
        let found = check("debate-engine", "sqlx", "normal");
        assert_eq!(
            found,
            ["crates/debate-engine/Cargo.toml: `sqlx` belongs in debate-store, debate-benches"]
        );
        assert_eq!(check("debate-prompts", "hyper-rustls", "normal").len(), 1);
        assert!(check("debate-cli", "sqlx", "dev").is_empty());
    }

    #[test]
    fn a_new_package_needs_a_room() {
        assert_eq!(check("debate-extra", "serde", "normal").len(), 1);
    }
}
