//! Skills from a folder: one folder for each, with a `SKILL.md` in it (rule D8). A skill that cannot be read is left
//! out, and the caller gets a line that says why.

use std::fs::File;
use std::path::Path;

use debate_core::formats::deliberation::config::LoadedSkill;

use crate::bounded::bounded;

/// The file that holds a skill.
const FILE: &str = "SKILL.md";
/// The largest such file, in bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// Loads the skills asked for; returns those that could be loaded, and a line for each that could not.
pub(crate) fn load(folder: Option<&Path>, wanted: &[&str]) -> (Vec<LoadedSkill>, Vec<String>) {
    let (mut loaded, mut problems) = (Vec::new(), Vec::new());
    for name in wanted {
        let read = match folder {
            Some(folder) => read(folder, name),
            None => Err("no --skills-dir is given".to_owned()),
        };
        match read {
            Ok(skill) => loaded.push(skill),
            Err(why) => problems.push(format!("skill {name} is left out: {why}")),
        }
    }
    (loaded, problems)
}

fn read(folder: &Path, name: &str) -> Result<LoadedSkill, String> {
    // Names are checked at the edge; still, no name may lead out of the folder.
    if name.contains(['/', '\\', '\0']) || matches!(name, "" | "." | "..") {
        return Err("its name is not that of a folder".to_owned());
    }
    let path = folder.join(name).join(FILE);
    let problem = |error: std::io::Error| format!("{}: {error}", path.display());
    let bytes = File::open(&path).and_then(|file| bounded(file, BYTES_MAX)).map_err(problem)?;
    let Some(bytes) = bytes else {
        return Err(format!("{}: it is longer than {BYTES_MAX} bytes", path.display()));
    };
    let text = String::from_utf8(bytes).map_err(|_| format!("{}: it is not UTF-8", path.display()))?;
    let (description, content) = split(&text);
    if content.trim().is_empty() {
        return Err(format!("{}: it says nothing", path.display()));
    }
    Ok(LoadedSkill { name: name.to_owned(), description, content: content.trim().to_owned() })
}

/// Returns the description in a skill's front matter, and what follows the front matter.
fn split(text: &str) -> (String, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---").and_then(|rest| rest.split_once('\n')).map(|(_, rest)| rest)
    else {
        return (String::new(), text);
    };
    let mut place = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (description(&rest[..place]), &rest[place + line.len()..]);
        }
        place += line.len();
    }
    (String::new(), text)
}

fn description(front: &str) -> String {
    let value = front.lines().find_map(|line| line.strip_prefix("description:"));
    value.map(|value| value.trim().trim_matches(['"', '\'']).to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn d8_front_matter_gives_the_description_and_the_rest_is_the_skill() {
        for (text, want) in [
            ("---\nname: x\ndescription: \"Checks risks.\"\n---\nLook.\n", ("Checks risks.", "Look.\n")),
            ("\u{feff}---\r\ndescription: y\r\n---\r\nLook.", ("y", "Look.")),
            ("Look.\n---\n", ("", "Look.\n---\n")),
            ("---\nnever closed", ("", "---\nnever closed")),
        ] {
            assert_eq!(split(text), (want.0.to_owned(), want.1), "{text:?}");
        }
    }

    #[test]
    fn d8_a_skill_that_fails_to_load_is_left_out_with_its_reason() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("skills");
        for (name, bytes) in [
            ("../good", b"Outside.".to_vec()),
            ("..", b"Outside.".to_vec()),
            (".", b"In no folder of its own.".to_vec()),
            ("good", b"Look.".to_vec()),
            ("bad", vec![0xff]),
            ("empty", b" \n".to_vec()),
            ("long", vec![b'x'; BYTES_MAX as usize + 1]),
        ] {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join(FILE), bytes).unwrap();
        }
        let wanted = ["good", "bad", "empty", "long", "gone", "../good", "..", "."];
        let (loaded, problems) = load(Some(&folder), &wanted);
        assert_eq!(loaded.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!(problems.len(), 7, "{problems:?}");
        assert!(problems[2].ends_with("it is longer than 65536 bytes"), "{problems:?}");
        assert!(problems[0].starts_with("skill bad is left out") && problems[0].ends_with("not UTF-8"));
        assert!(
            problems[4..].iter().all(|it| it.ends_with("its name is not that of a folder")),
            "{problems:?}"
        );
        assert_eq!(load(None, &["good"]).1, ["skill good is left out: no --skills-dir is given"]);
    }

    #[test]
    fn d8_of_a_skill_that_goes_on_and_on_only_the_beginning_is_read() {
        const WHOLE: usize = 16 << 20;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("long").join(FILE);
        std::fs::create_dir(folder.path().join("long")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        let writer = std::thread::spawn(move || {
            let mut pipe = File::options().write(true).open(file).unwrap();
            let pieces = std::iter::repeat_n([b'x'; 1 << 10], WHOLE >> 10);
            pieces.take_while(|piece| pipe.write_all(piece).is_ok()).count() << 10
        });
        let (loaded, problems) = load(Some(folder.path()), &["long"]);
        assert!(loaded.is_empty() && problems[0].ends_with("it is longer than 65536 bytes"), "{problems:?}");
        // What waits in the pipe is written, and not read.
        assert!(writer.join().unwrap() < WHOLE);
    }
}
