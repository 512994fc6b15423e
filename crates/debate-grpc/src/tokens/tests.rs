//! Tokens are found, and nothing else is.

use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn wishes(name: &str) -> TokenWishes {
    TokenWishes { name: name.to_owned(), scopes: BTreeSet::from([Scope::Read]), ..TokenWishes::default() }
}

#[test]
fn a_token_is_found_by_itself_alone_and_is_not_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let create = |name: &str| TokenFile::change(&path, |file| file.create(wishes(name), NOW)).unwrap();
    let (one, other) = (create("app"), create("app"));
    let text = fs::read_to_string(&path).unwrap();
    let file = TokenFile::read(&path).unwrap();
    for token in [&one, &other] {
        let secret = token.rsplit('_').next().unwrap();
        assert_eq!((secret.len(), text.contains(secret)), (64, false));
        let found = file.find(token).unwrap();
        assert_eq!((found.name.as_str(), token.contains(&found.id)), ("app", true));
    }
    let (id, secret) = (&one[..16], &other[16..]);
    let flipped = format!("{}{}", &one[..one.len() - 1], if one.ends_with('0') { '1' } else { '0' });
    let (named, mixed) = (&one[4..16], format!("{id}{secret}"));
    for wrong in ["", "dbt", "dbt__", named, id, &one[1..], &one[..one.len() - 1], &mixed, &flipped] {
        assert_eq!(file.find(wrong), None, "{wrong}");
    }
    let gone = TokenFile::change(&path, |file| Ok(file.revoke(&one[4..16]))).unwrap();
    assert_eq!(gone.len(), 1);
    let file = TokenFile::read(&path).unwrap();
    assert_eq!((file.find(&one), file.find(&other).is_some()), (None, true));
    let rekeyed = TokenFile { key: TokenFile::new().unwrap().key, ..file };
    assert_eq!(rekeyed.find(&other), None, "hashes are those of their file's key");
}

#[test]
fn all_256_bits_of_a_token_are_random_and_so_are_those_of_a_files_key() {
    let mut found = [Vec::new(), Vec::new()];
    for _ in 0..320 {
        let mut file = TokenFile::new().unwrap();
        let token = file.create(wishes("app"), NOW).unwrap();
        found[0].push(token.rsplit('_').next().unwrap().parse::<Digest>().unwrap().0);
        found[1].push(file.key.0);
    }
    // Were any bit always the same, or given by others, fewer would be independent; by chance they are once in 2^64 times.
    assert_eq!(found.map(independent_bits), [256, 256]);
}

/// Returns how many bits of some draws do not follow from the others by exclusive or: the rank of the draws.
fn independent_bits(mut draws: Vec<[u8; 32]>) -> usize {
    let mut rank = 0;
    for bit in 0..256 {
        let has = |draw: &[u8; 32]| draw[bit / 8] >> (bit % 8) & 1 == 1;
        let Some(at) = draws.iter().position(has) else { continue };
        let pivot = draws.swap_remove(at);
        for draw in draws.iter_mut().filter(|draw| has(draw)) {
            draw.iter_mut().zip(pivot).for_each(|(byte, of_pivot)| *byte ^= of_pivot);
        }
        rank += 1;
    }
    rank
}

#[test]
fn a_tokens_secret_is_what_was_drawn_for_it_and_nothing_of_its_id() {
    let mut file = TokenFile::new().unwrap();
    // The second id drawn is that of the first token, so another is drawn; the secrets are not those of any id.
    let mut drawn = [[1; 32], [2; 32], [1; 32], [3; 32], [2; 32]].into_iter();
    let mut create = || file.create_of(|| Ok(drawn.next().unwrap()), wishes("app"), NOW).unwrap();
    let tokens = [create(), create()];
    assert_eq!(
        tokens,
        [("01", "02"), ("03", "02")]
            .map(|(id, secret)| { format!("dbt_{}_{}", id.repeat(6), secret.repeat(32)) })
    );
}

#[test]
fn what_cannot_be_wished_for_is_named_at_once_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    TokenFile::change(&path, |file| file.create(wishes("app"), NOW)).unwrap();
    let before = fs::read(&path).unwrap();
    let wrong = TokenWishes {
        name: "a b".to_owned(),
        tenant: "x/y".to_owned(),
        formats: BTreeSet::from(["quarrel".to_owned()]),
        ..TokenWishes::default()
    };
    let refused = TokenFile::change(&path, |file| file.create(wrong, NOW)).unwrap_err().to_string();
    for field in ["name must have", "tenant must have", "scopes must name", "\"quarrel\""] {
        assert!(refused.contains(field), "{field}: {refused}");
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    for odd in ('\0'..='\u{ff}').filter(|c| !is_plain(*c)).chain(['\u{202e}', '\u{663}']) {
        let odd = &format!("a{odd}b");
        let mut file = TokenFile::new().unwrap();
        let refused = file.create(wishes(odd), NOW).unwrap_err().to_string();
        assert!(refused.contains("name must have"), "{odd:?}: {refused}");
        let tenant = TokenWishes { tenant: odd.clone(), ..wishes("app") };
        let refused = file.create(tenant, NOW).unwrap_err().to_string();
        assert!(refused.contains("tenant must have"), "{odd:?}: {refused}");
    }
    let named = TokenWishes { tenant: "B-2_x.y@z".to_owned(), ..wishes("B-2_x.y@z") };
    TokenFile::new().unwrap().create(named, NOW).unwrap();
    assert!(TokenFile::change(&path, |file| file.create(wishes("engine"), NOW)).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn f10_a_left_over_file_does_not_block_changes() {
    let folder = tempfile::tempdir().unwrap();
    let [path, temporary] = ["tokens.json", "tokens.json.new"].map(|name| folder.path().join(name));
    let create = |name: &str| TokenFile::change(&path, |file| file.create(wishes(name), NOW));
    fs::write(&temporary, "half").unwrap();
    create("a").unwrap();
    assert!(!temporary.exists());
    let nested = TokenFile::change(&path, |_| {
        let busy = create("b").unwrap_err();
        assert!(matches!(busy, TokenFileError::Busy { .. }), "{busy}");
        Ok(())
    });
    nested.unwrap();
    create("b").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &temporary).unwrap();
        assert!(matches!(create("c").unwrap_err(), TokenFileError::Busy { .. }));
        assert!(!folder.path().join("elsewhere").exists(), "nothing is written through a link");
    }
}

#[test]
fn a_file_is_replaced_whole_and_stays_whole_where_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let create = |name: &str| TokenFile::change(&path, |file| file.create(wishes(name), NOW));
    create("app").unwrap();
    let before = fs::read_to_string(&path).unwrap();
    let opened = File::open(&path).unwrap();
    create("other").unwrap();
    let changed = fs::read_to_string(&path).unwrap();
    assert_ne!(changed, before);
    assert_eq!(
        io::read_to_string(opened).unwrap(),
        before,
        "a reader that opened the file before the change reads the old one"
    );
    assert!(create("a b").is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), changed);
    let refused = TokenFile::change(&path, |_| {
        fs::remove_file(folder.path().join("tokens.json.new")).unwrap();
        Ok(())
    });
    assert!(matches!(refused, Err(TokenFileError::Write { .. })), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), changed, "what there is goes when the new one comes");
    fs::write(&path, "{").unwrap();
    assert!(create("app").is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{", "what cannot be read is not written over");
    assert!(names().eq(["tokens.json"]), "{:?}", names().collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    TokenFile::change(&path, |_| Ok(())).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o620, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(TokenFile::read(&path), Err(TokenFileError::Exposed { .. })), "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let wishes = TokenWishes { tenant: "acme".to_owned(), ..wishes("app") };
    TokenFile::change(&path, |file| file.create(wishes, NOW)).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    TokenFile::read(&path).unwrap();
    let [renamed, moved] = ["app", "acme"].map(|word| good.replace(&format!("\"{word}\""), "\"a b\""));
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut file: Value = serde_json::from_str(&good).unwrap();
        change(file["tokens"].as_array_mut().unwrap());
        file.to_string()
    };
    for (text, why) in [
        ("{", "EOF"),
        ("{\"key\":\"00\",\"tokens\":[]}", ""),
        ("[]", ""),
        (&*renamed, "name must have"),
        (&*moved, "tenant must have"),
        (&with(&|tokens| tokens[0]["format"] = json!(["review"])), "unknown field `format`"),
        (
            &with(&|tokens| tokens[0]["limits"] = json!({"requests_per_minut": 5})),
            "unknown field `requests_per",
        ),
        (&with(&|tokens| tokens.push(tokens[0].clone())), "there are two tokens"),
    ] {
        fs::write(&path, text).unwrap();
        let refused = TokenFile::read(&path).unwrap_err();
        assert!(matches!(refused, TokenFileError::Content { .. }), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_mode_its_owner_and_its_group() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let create = || TokenFile::change(&path, |file| file.create(wishes("app"), NOW));
    let of = || fs::metadata(&path).map(|about| (about.mode() & 0o7777, about.uid(), about.gid())).unwrap();
    create().unwrap();
    let (_, mut owner, mut group) = of();
    // Only root can give files away: tests that another user runs check the mode alone.
    let is_root = owner == 0;
    if !is_root {
        eprintln!("skipped in part: a file can be given to another user by root alone");
    }
    for (whose, mode) in [((4_711, 4_712), 0o640), ((0, 4_712), 0o600), ((4_711, 0), 0o444)] {
        if is_root {
            (owner, group) = whose;
            chown(&path, Some(owner), Some(group)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        create().unwrap();
        assert_eq!(of(), (mode, owner, group), "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(create(), Err(TokenFileError::Exposed { .. })));
    assert_eq!((of(), fs::read(&path).unwrap()), ((0o660, owner, group), before));
}

/// Which folder has the file that another process is to change.
#[cfg(target_os = "linux")]
const FOLDER_OF_OTHERS: &str = "DEBATE_TEST_FOLDER_OF_OTHERS";

/// Runs a test of this file in another process, which receives the folder, and checks that it passes.
#[cfg(target_os = "linux")]
fn in_another_process(test: &str, folder: &Path, process: &mut std::process::Command) {
    process
        .args([&format!("tokens::tests::{test}"), "--exact"])
        .env(FOLDER_OF_OTHERS, folder)
        .current_dir("/");
    let ran = process.output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && stdout.contains("1 passed"), "{stdout}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_stays_as_it_is_where_there_is_no_room_for_another() {
    if let Some(folder) = std::env::var_os(FOLDER_OF_OTHERS) {
        let path = Path::new(&folder).join("tokens.json");
        let refused = TokenFile::change(&path, |file| Ok(file.revoke("app"))).unwrap_err();
        assert!(matches!(refused, TokenFileError::Write { .. }), "{refused}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    for name in ["app"].iter().chain(&["other"; 10]) {
        TokenFile::change(&path, |file| file.create(wishes(name), NOW)).unwrap();
    }
    let before = fs::read(&path).unwrap();
    // For none of it, and for 512 or 1,024 bytes of it.
    for blocks in ["0", "1"] {
        let mut shell = std::process::Command::new("sh");
        let script = format!(r#"trap "" XFSZ; ulimit -f {blocks}; exec "$0" "$@""#);
        shell.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        in_another_process(
            "a_file_stays_as_it_is_where_there_is_no_room_for_another",
            folder.path(),
            &mut shell,
        );
        let now = (fs::read(&path).unwrap(), fs::read_dir(folder.path()).unwrap().count());
        assert_eq!(now, (before.clone(), 1), "room for {blocks}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_stays_a_link_and_the_file_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("tokens.json"), folder.path().join("link.json"));
    let token = TokenFile::change(&path, |file| file.create(wishes("app"), NOW)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(TokenFile::read(&link).unwrap().find(&token).is_some());
    TokenFile::change(&link, |file| Ok(file.revoke("app"))).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    for path in [path, link] {
        assert_eq!(TokenFile::read(&path).unwrap().find(&token), None, "{path:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_owner_would_change_stays_as_it_is() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    if let Some(folder) = std::env::var_os(FOLDER_OF_OTHERS) {
        let path = Path::new(&folder).join("tokens.json");
        let refused = TokenFile::change(&path, |file| Ok(file.revoke("app"))).unwrap_err();
        assert!(matches!(refused, TokenFileError::Owner { owner: 4_711, .. }), "{refused}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    TokenFile::change(&path, |file| file.create(wishes("app"), NOW)).unwrap();
    // Only root can make a file of another user: there is nothing to check where another user runs the tests.
    if fs::metadata(&path).unwrap().uid() != 0 {
        return eprintln!("skipped: a file can be given to another user by root alone");
    }
    chown(&path, Some(4_711), Some(4_711)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    chown(folder.path(), Some(4_712), Some(4_712)).unwrap();
    let before = fs::read(&path).unwrap();
    let mut by_another = std::process::Command::new("/proc/self/exe");
    by_another.uid(4_712).gid(4_712);
    in_another_process("a_file_whose_owner_would_change_stays_as_it_is", folder.path(), &mut by_another);
    assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().uid()), (before, 4_711));
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing stands in the way of the next change"
    );
}
