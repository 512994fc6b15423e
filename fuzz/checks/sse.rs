//! Events are cut from a stream alike, wherever its bytes were split. The first byte says how long the pieces are.

use std::convert::Infallible;

use decoder::EventData;

/// The decoder is private to its adapter, so its file is read here.
#[path = "../../crates/debate-llm/src/http/sse.rs"]
mod decoder;

/// Checks what holds for every stream.
pub(crate) fn check(data: &[u8]) {
    let Some((length, stream)) = data.split_first() else { return };
    let whole = events([stream]);
    assert_eq!(events(stream.chunks(usize::from(*length) + 1)), whole);
    assert_eq!(events(stream.chunks(1)), whole);
}

fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    let mut decoder = EventData::default();
    let mut event = |data: &[u8]| {
        seen.push(data.to_vec());
        Ok::<(), Infallible>(())
    };
    for piece in pieces {
        let Ok(()) = decoder.push(piece, &mut event);
    }
    let Ok(()) = decoder.finish(&mut event);
    seen
}
