//! The front end: built from `web/` by `cargo xtask viewer`, committed, and part of the program.

use axum::Router;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;

/// The page's script.
pub(crate) const SCRIPT: &str = include_str!("../assets/viewer.js");
/// The page's looks.
pub(crate) const STYLE: &str = include_str!("../assets/viewer.css");
const PAGE: &str = include_str!("../assets/index.html");
const ICON: &str = include_str!("../assets/icon.svg");

/// Nothing but what this server itself serves, and nothing inside of the page's own text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the front end. They hold no data, so they need no token.
pub(crate) fn router() -> Router {
    let page = get(async || asset("text/html; charset=utf-8", PAGE));
    Router::new()
        .route("/viewer", get(async || Redirect::permanent("/viewer/")))
        .route("/viewer/", page.clone())
        .route("/viewer/debates/{id}", page.clone())
        .route("/viewer/compare", page.clone())
        .route("/viewer/calibration", page)
        .route("/viewer/assets/viewer.js", get(async || asset("text/javascript; charset=utf-8", SCRIPT)))
        .route("/viewer/assets/viewer.css", get(async || asset("text/css; charset=utf-8", STYLE)))
        .route("/viewer/assets/icon.svg", get(async || asset("image/svg+xml", ICON)))
}

/// Returns the headers that every answer of the viewer carries.
pub(crate) const fn guards() -> [(HeaderName, &'static str); 5] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ]
}

fn asset(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    (guards(), [(header::CONTENT_TYPE, content_type)], text)
}
