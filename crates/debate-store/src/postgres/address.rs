//! Masks addresses for output: an address in the plain form is shown without its password, any other not at all.
//!
//! This module does not search for signs of a password: there is always another way to write one.

use std::fmt;
use std::net::Ipv6Addr;

use sqlx::postgres::PgConnectOptions;

const HIDDEN: &str = "[hidden]";

/// The part of an address that may be shown, without its scheme.
///
/// Displays as `USER@HOST:PORT/PATH`, followed by the parameters `host` and `port` only. An address is plain if its
/// names consist of letters, digits and `_ . -`, its port is a number and it contains no `#`; any other is `[hidden]`.
#[derive(Debug, Clone, Copy)]
pub struct MaskedAddress<'a> {
    user: &'a str,
    place: &'a str,
    pairs: &'a str,
}

impl<'a> MaskedAddress<'a> {
    /// Masks the part of an address that follows its `://`.
    #[must_use]
    pub fn of(rest: &'a str) -> Self {
        Self::plain(rest).unwrap_or(Self { user: "", place: HIDDEN, pairs: "" })
    }

    /// Returns host, port and path, or `[hidden]`.
    #[must_use]
    pub fn place(&self) -> &'a str {
        self.place
    }

    fn plain(rest: &'a str) -> Option<Self> {
        let (whole, pairs) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = whole.split_at(whole.find('/').unwrap_or(whole.len()));
        let (login, server) = authority.split_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let is_plain = is_user(user) && !password.contains('#') && is_server(server) && is_path(path);
        let place = &whole[whole.len() - server.len() - path.len()..];
        (is_plain && are_pairs(pairs)).then_some(Self { user, place, pairs })
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-".contains(c)
}

/// Users of some clouds have the place of their account behind an `@`, which is spelled out.
fn is_user(user: &str) -> bool {
    let (name, account) = user.split_once("%40").unwrap_or((user, ""));
    name.chars().chain(account.chars()).all(is_of_name)
}

/// There may be no host: a parameter names it then.
fn is_server(server: &str) -> bool {
    let behind_host = match server.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, behind)) if address.parse::<Ipv6Addr>().is_ok() => behind,
        _ => server.trim_start_matches(is_of_name),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    behind_host.is_empty() || behind_host.strip_prefix(':').is_some_and(is_port)
}

fn is_path(path: &str) -> bool {
    path.chars().all(|c| is_of_name(c) || c == '/')
}

fn are_pairs(pairs: &str) -> bool {
    let is_pair =
        |pair: &str| pair.split_once('=').is_some_and(|(name, value)| is_path(name) && is_path(value));
    pairs.is_empty() || pairs.split('&').all(is_pair)
}

impl fmt::Display for MaskedAddress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.user.is_empty() { "" } else { "@" };
        write!(f, "{}{at}{}", self.user, self.place)?;
        let shown = self.pairs.split('&').filter(|it| it.starts_with("host=") || it.starts_with("port="));
        for (index, pair) in shown.enumerate() {
            write!(f, "{}{pair}", if index == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

/// Returns the part of a database address that may be shown: the host or the folder of the socket, and the name.
pub(super) fn server_of(url: &str, options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or(options.get_username());
    let server = match options.get_socket() {
        Some(folder) => format!("{}/{database}", folder.display()),
        None => format!("{}:{}/{database}", options.get_host(), options.get_port()),
    };
    // A plain URL does not guarantee a plain name: environment variables can change it.
    let is_plain = url.split_once("://").is_some_and(|(_, rest)| MaskedAddress::plain(rest).is_some());
    let masked = MaskedAddress::plain(&server).filter(|_| is_plain);
    masked.map_or(HIDDEN, |it| it.place).to_owned()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;

    const PLAIN: [(&str, &str); 19] = [
        ("h/db", "h/db"),
        ("localhost", "localhost"),
        ("127.0.0.1:5432/", "127.0.0.1:5432/"),
        ("u@h:5433/db", "u@h:5433/db"),
        ("u@db_1.example-2.net/a.b-c_d", "u@db_1.example-2.net/a.b-c_d"),
        ("u:s3cret@h", "u@h"),
        ("u:s3cret@h/db", "u@h/db"),
        ("u:s3cret@[::1]/db", "u@[::1]/db"),
        ("u:s3cret@[::1]:5433/db", "u@[::1]:5433/db"),
        ("a.n-n_1%40cloud:s3cret@h/db", "a.n-n_1%40cloud@h/db"),
        ("u:=s3cret;:[%40]\\ &%3D@h/db", "u@h/db"),
        (":s3cret@h/db", "h/db"),
        ("me:s3cret@models.example/v1/a?key=s3cret", "me@models.example/v1/a"),
        ("u:s3cret@/db?host=/run/pg", "u@/db?host=/run/pg"),
        ("u@h/db?host=/run/pg&password=s3cret", "u@h/db?host=/run/pg"),
        ("/db?password=s3cret&port=6&sslmode=require&host=h", "/db?port=6&host=h"),
        ("/db?hostaddr=s3cret&report=s3cret", "/db"),
        ("h/db?", "h/db"),
        // A password that is a number looks like a port.
        ("u:4711/db", "u:4711/db"),
    ];

    const ODD: [&str; 48] = [
        // A password holds what ends a host, or a login.
        "app:4711?s3cret@h/db",
        "app:4711#s3cret@h/db",
        "app:4711/s3cret@h/db",
        "app:s3cret?4711@h/db",
        "app:s3cret#4711@h/db",
        "app:s3cret/4711@h/db",
        "app/4711:s3cret@h/db",
        "app:4711?a=s3cret%40h/db",
        "u:s3@cret@h/db",
        "u:s3@cret@h/db?sslmode=require",
        "u@h/db?password=s3@cret",
        "h/db#s3cret",
        "app:4711#a=s3cret",
        // The host was forgotten.
        "u:s3cret",
        "u:s3cret/db",
        "u:+4711/db",
        "u:65536/db",
        "u:/db",
        ":s3cret/db",
        "h:5432:s3cret/db",
        // Signs are spelled out.
        "u:s3cret%40h/db",
        "u%3As3cret%40h/db",
        "u%3as3cret@h/db",
        "u%3As3cret@h/db",
        "u%3As3cret@h",
        "u%2Fs3cret@h/db",
        "u%40a%40s3cret@h/db",
        "user%3Du%3Bpassword%3Ds3cret@h/db",
        "user%3du%3bpassword%3ds3cret@h/db",
        "localhost%3Bpassword%3Ds3cret/c",
        "localhost%3bpassword%3ds3cret/c",
        "h/db%3Bpassword%3Ds3cret",
        "h/db%3bpassword%3ds3cret",
        "h/db?host=h%3Bpassword%3Ds3cret",
        "h/db?dbname=db%3Bpassword%3Ds3cret",
        "h/db?pass%77ord=s3cret",
        // It is given by name.
        "user=u;password=s3cret@h/db",
        "host=h password=s3cret",
        "h password:s3cret/db",
        "password=s3cret",
        "h;s3cret/db",
        "h s3cret",
        "host=db,password=s3cret",
        "h/db;user=u;password=s3cret",
        "h/db?host=h;password=s3cret&port=6",
        // What no address begins with, or has for a parameter.
        "[s3cret]/db",
        "[::1]s3cret/db",
        "h/db?s3cret",
    ];

    #[test]
    fn plain_address_hides_its_password_and_any_other_is_hidden() {
        let odd = ODD.into_iter().map(|rest| (rest, HIDDEN));
        for (rest, shown) in PLAIN.into_iter().chain(odd) {
            assert_eq!(MaskedAddress::of(rest).to_string(), shown, "{rest}");
            let url = format!("postgres://{rest}");
            let Ok(options) = PgConnectOptions::from_str(&url) else { continue };
            let server = server_of(&url, &options);
            assert!(!server.contains("cret") && (shown != HIDDEN || server == HIDDEN), "{rest}: {server}");
        }
    }

    #[test]
    fn database_is_shown_by_its_host_or_the_folder_of_its_socket() {
        for (url, shown) in [
            ("postgres://u:s3cret@h:5433/db?sslmode=require", "h:5433/db"),
            ("postgres://u:s3cret@h?host=g&port=5433&dbname=other", "g:5433/other"),
            ("postgres://u@[::1]:5433/db", "[::1]:5433/db"),
            ("postgres://u:s3cret@localhost/db?host=/run/pg", "/run/pg/db"),
        ] {
            assert_eq!(server_of(url, &url.parse().unwrap()), shown, "{url}");
        }
    }

    #[test]
    fn database_name_that_is_not_plain_is_hidden() {
        let url = "postgres://u@h:5432/db";
        let options: PgConnectOptions = url.parse().unwrap();
        for odd in [options.clone().host("h;password=s3cret"), options.database("db?password=s3cret#")] {
            let shown = server_of(url, &odd);
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }
}
