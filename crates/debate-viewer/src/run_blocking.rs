//! Runs computations for the page on blocking threads, so that they do not delay running debates.

use tokio::task;

use crate::refused::Refused;

/// Runs a computation on a blocking thread.
///
/// # Errors
/// [`Refused::Defect`] if the computation panics; the panic message is logged.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    task::spawn_blocking(work).await.map_err(|error| Refused::defect(&error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::to_bytes;
    use axum::response::IntoResponse as _;

    use super::*;

    #[tokio::test]
    async fn what_is_computed_for_the_page_panics_with_an_answer_without_its_message_and_an_error_in_the_log()
    {
        let log = tempfile::NamedTempFile::new().unwrap();
        let logging = tracing_subscriber::fmt().with_writer(Arc::new(log.reopen().unwrap())).finish();
        let _listening = tracing::subscriber::set_default(logging);
        let answer = run_blocking(|| panic!("password sesame")).await.map(|(): ()| ()).into_response();
        assert_eq!(answer.status(), 500);
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        assert!(body.starts_with(b"{") && !String::from_utf8_lossy(&body).contains("sesame"), "{body:?}");
        let logged = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(logged.matches("ERROR").count(), 1, "{logged}");
    }
}
