//! What criterion measured: medians read back from its files, compared with the floor of the same run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The function of a group that the others are compared with.
const FLOOR: &str = "floor";

/// One measured function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    pub(crate) group: String,
    pub(crate) function: Option<String>,
    pub(crate) parameter: Option<String>,
    pub(crate) median_ns: f64,
    /// The 95 % interval of the median.
    pub(crate) interval_ns: [f64; 2],
}

impl Measured {
    /// Returns the name criterion prints.
    pub(crate) fn name(&self) -> String {
        let parts = [Some(&self.group), self.function.as_ref(), self.parameter.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("/")
    }

    /// Returns this median divided by the floor's: that of the same parameter, else the group's without one.
    pub(crate) fn ratio(&self, all: &[Self]) -> Option<f64> {
        if self.is_floor() {
            return None;
        }
        let floors = || all.iter().filter(|other| other.is_floor() && other.group == self.group);
        let floor = floors()
            .find(|floor| floor.parameter == self.parameter)
            .or_else(|| floors().find(|floor| floor.parameter.is_none()))?;
        Some(self.median_ns / floor.median_ns)
    }

    /// Returns this measurement as JSON.
    pub(crate) fn to_json(&self, all: &[Self]) -> Value {
        json!({
            "name": self.name(),
            "group": self.group,
            "function": self.function,
            "parameter": self.parameter,
            "median_ns": self.median_ns,
            "interval_ns": self.interval_ns,
            "ratio_to_floor": self.ratio(all),
        })
    }

    fn is_floor(&self) -> bool {
        self.function.as_deref() == Some(FLOOR)
    }

    fn read(folder: &Path) -> Result<Self> {
        let benchmark = read_json(&folder.join("benchmark.json"))?;
        let median = &read_json(&folder.join("estimates.json"))?["median"];
        let interval = &median["confidence_interval"];
        let text = |key: &str| benchmark[key].as_str().map(str::to_owned);
        let number = |value: &Value| {
            value
                .as_f64()
                .with_context(|| format!("{} holds no median", folder.join("estimates.json").display()))
        };
        Ok(Self {
            group: text("group_id")
                .with_context(|| format!("{} names no group", folder.join("benchmark.json").display()))?,
            function: text("function_id"),
            parameter: text("value_str"),
            median_ns: number(&median["point_estimate"])?,
            interval_ns: [number(&interval["lower_bound"])?, number(&interval["upper_bound"])?],
        })
    }
}

/// Returns what was measured since a point in time, in order of names.
///
/// # Errors
///
/// When criterion's files cannot be read or have another shape.
pub(crate) fn measured_since(criterion: &Path, since: SystemTime) -> Result<Vec<Measured>> {
    let mut found = Vec::new();
    let mut folders = vec![criterion.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if folder.file_name().is_some_and(|name| name == "new")
            && is_newer(&folder.join("estimates.json"), since)
        {
            found.push(Measured::read(&folder)?);
        }
        folders.extend(subfolders(&folder)?);
    }
    found.sort_by_key(|one| natural(&one.name()));
    Ok(found)
}

fn is_newer(path: &Path, since: SystemTime) -> bool {
    fs::metadata(path).and_then(|metadata| metadata.modified()).is_ok_and(|modified| modified >= since)
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut subfolders = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            subfolders.push(path);
        }
    }
    Ok(subfolders)
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// Orders parts that are numbers by their size, so that 10 comes after 2.
fn natural(name: &str) -> Vec<(u64, String)> {
    name.split('/').map(|part| (part.parse().unwrap_or(0), part.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(group: &str, function: &str, parameter: Option<&str>, median_ns: f64) -> Measured {
        Measured {
            group: group.to_owned(),
            function: Some(function.to_owned()),
            parameter: parameter.map(str::to_owned),
            median_ns,
            interval_ns: [median_ns, median_ns],
        }
    }

    fn write(folder: &Path, function: &str, median: f64) {
        let new = folder.join(function).join("new");
        fs::create_dir_all(&new).unwrap();
        let benchmark = json!({ "group_id": "pooling", "function_id": function, "value_str": null });
        fs::write(new.join("benchmark.json"), benchmark.to_string()).unwrap();
        let interval =
            json!({ "confidence_level": 0.95, "lower_bound": median - 1.0, "upper_bound": median + 1.0 });
        let estimates = json!({ "median": { "point_estimate": median, "confidence_interval": interval } });
        fs::write(new.join("estimates.json"), estimates.to_string()).unwrap();
    }

    #[test]
    fn a_ratio_is_taken_to_the_floor_of_the_same_group_and_parameter() {
        let all = [
            measured("pooling", "floor", Some("2"), 10.0),
            measured("pooling", "floor", Some("50"), 100.0),
            measured("pooling", "linear", Some("50"), 250.0),
            measured("fold", "floor", None, 4.0),
            measured("fold", "replay", Some("10000"), 8.0),
            measured("render", "argument", None, 8.0),
        ];
        let ratios: Vec<_> = all.iter().map(|one| one.ratio(&all)).collect();
        assert_eq!(ratios, [None, None, Some(2.5), None, Some(2.0), None]);
    }

    #[test]
    fn criterions_files_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "floor", 20.0);
        write(folder.path(), "linear", 50.0);
        let all = measured_since(folder.path(), SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(all.iter().map(Measured::name).collect::<Vec<_>>(), ["pooling/floor", "pooling/linear"]);
        assert_eq!(all[1].to_json(&all)["ratio_to_floor"], json!(2.5));
        assert_eq!(all[1].interval_ns, [49.0, 51.0]);
    }

    #[test]
    fn what_an_earlier_run_measured_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "floor", 20.0);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert!(measured_since(folder.path(), later).unwrap().is_empty());
    }

    #[test]
    fn parameters_are_ordered_as_numbers() {
        let mut names = ["pool/linear/10", "pool/linear/2"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["pool/linear/2", "pool/linear/10"]);
    }
}
