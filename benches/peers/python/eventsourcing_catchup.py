"""eventsourcing as the writer or the reader of the catch-up bench: prepare URL, write URL WRITER EVENTS MS, read URL AFTER.

crates/debate-store/benches/catchup/peer.rs describes the output.
"""

import sys
import time
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore

PAGE = 1_000
POLL_SECONDS = 0.002


def connect(url: str) -> PostgresApplicationRecorder:
    parts = urlsplit(url)
    store = PostgresDatastore(
        dbname=parts.path[1:],
        host=parse_qs(parts.query)["host"][0],
        port=5432,
        user=parts.username,
        password="",
        pool_size=1,
        max_overflow=1,
    )
    return PostgresApplicationRecorder(store, events_table_name="stored_events")


def write(url: str, writer: int, events: int, seconds: float) -> None:
    recorder, written, began = connect(url), 0, time.monotonic()
    while written < events and time.monotonic() - began < seconds:
        count = 1 + written % 8
        numbers = range(written + 1, written + 1 + count)
        recorder.insert_events([StoredEvent(UUID(int=writer), number, "noted", b"{}") for number in numbers])
        written += count
    print(written)


def read(url: str, after: int) -> None:
    recorder = connect(url)
    while True:
        page = recorder.select_notifications(after, PAGE, inclusive_of_start=False)
        for one in page:
            after = one.id
            print(after, one.originator_id.int, one.originator_version)
        sys.stdout.flush()
        if not page:
            time.sleep(POLL_SECONDS)


def main() -> None:
    match sys.argv[1:]:
        case ["prepare", url]:
            connect(url).create_table()
        case ["write", url, writer, events, ms]:
            write(url, int(writer), int(events), int(ms) / 1_000)
        case ["read", url, after]:
            read(url, int(after))
        case _:
            sys.exit("say prepare URL, write URL WRITER EVENTS MS or read URL AFTER")


main()
