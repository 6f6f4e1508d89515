# One plain command a recipe: everything here also works without `just`.

# Start the relay on ws://127.0.0.1:7447 with its store in ./zeolite-data
serve:
    cargo run --release -p zeolite-relay

# All tests
test:
    cargo test --workspace

# What CI runs: format, clippy, docs, tests
ci:
    bash .ci/run

# Every benchmark in its short form
bench-short:
    cargo bench --workspace -- --short

# What an event costs to parse, hash, match and write
bench-proto:
    cargo bench -p zeolite-proto

# Signature verification: single, batches, the C library
bench-schnorr:
    cargo bench -p zeolite-schnorr

# Ten million signatures, good, mutated and crafted, against k256 one by one
differential-schnorr:
    cargo run --release -p zeolite-schnorr --example differential -- 10000000

# The filter index against the naive loop, 1k to 1M filters
bench-index:
    cargo bench -p zeolite-filter-index

# Reconciliation of 1M against 1M items, beside the negentropy crate
bench-reconcile:
    cargo bench -p zeolite-reconcile

# The store with 1M events: append, size, reopen, look-ups, scans
bench-store:
    cargo bench -p zeolite-store

# The relay over real sockets: live feed, broadcast, ingest, queries, idle connections, slow readers
bench-sockets:
    cargo bench -p zeolite-relay --bench sockets

# Import and export, with and without verification
bench-import:
    cargo bench -p zeolite-relay --bench import

# nostr-tools against the relay that runs on this machine; needs Node and npm
check-nostr-tools:
    npm install --prefix scripts/nostr-tools && node scripts/nostr-tools/check-relay.mjs
