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

# Relays against each other
# ------------------------
# Each recipe builds the relay and starts `zeolite-bench`, which writes results/DATE/report.md. Other relays take part
# when they are on PATH or named by a variable (STRFRY_BIN, NOSTR_RS_RELAY_BIN, RNOSTR_BIN); absent ones are skipped by name.

# Everything small, under 10 minutes
bench: build-relay
    cargo run --release -p zeolite-bench -- run short

# The live feed: N sockets, broadcast
bench-fanout: build-relay
    cargo run --release -p zeolite-bench -- run fanout

# Ingest over sockets, open loop, import and export
bench-ingest: build-relay
    cargo run --release -p zeolite-bench -- run ingest

# Stored queries, receipt to queryable, bulk reads
bench-query: build-relay
    cargo run --release -p zeolite-bench -- run query

# Mirroring between all relays, N events: `just bench-sync`, `just bench-sync N=50000`
bench-sync N="1000000": build-relay
    cargo run --release -p zeolite-bench -- run sync --events {{N}}

# The live feed while subscriptions come and go
bench-churn: build-relay
    cargo run --release -p zeolite-bench -- run churn

# The live feed while some sockets stop reading
bench-slow: build-relay
    cargo run --release -p zeolite-bench -- run slow

# 15,000 idle connections
bench-conns: build-relay
    cargo run --release -p zeolite-bench -- run conns

# A thousand clients at ten times their limits: what a refusal costs, and what others notice
bench-abuse: build-relay
    cargo run --release -p zeolite-bench -- run abuse --engine-file bench-harness/more/zeolite-limited.toml --engine zeolite-limited --scenario-file bench-harness/more/abuse.toml

# All pairs of relays, an empty sink and a million events: a quarter of an hour with strfry
bench-pairs: build-relay
    cargo run --release -p zeolite-bench -- run sync-pairs --scenario-file bench-harness/more/sync-pairs.toml

# Ingest with and without a policy program that accepts everything; needs python3
bench-plugin: build-relay
    cargo run --release -p zeolite-bench -- run ingest --engine-file bench-harness/more/zeolite-accept-all.toml --engine zeolite-durable --engine zeolite-accept-all

# Everything; hours with every relay at a million events. `--budget 20m --events 100000` bounds it
bench-all *ARGS: build-relay
    cargo run --release -p zeolite-bench -- run all {{ARGS}}

# Render a results folder again
bench-report DIR:
    cargo run --release -p zeolite-bench -- report {{DIR}}

# What changed between two results folders, beyond noise
bench-cmp OLD NEW:
    cargo run --release -p zeolite-bench -- cmp {{OLD}} {{NEW}}

# The relay and the mirror, as the benchmarks use them
build-relay:
    cargo build --release -p zeolite-relay

# Parts on their own
# ------------------

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

# Fuzz the batch verifier until it is stopped; needs cargo-fuzz (`cargo install cargo-fuzz`) and no other compiler
fuzz-schnorr:
    cd crates/schnorr && RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none batch

# The filter index against the naive loop, 1k to 1M filters
bench-index:
    cargo bench -p zeolite-filter-index

# Reconciliation of 1M against 1M items, beside the negentropy crate
bench-reconcile:
    cargo bench -p zeolite-reconcile

# Fuzz what a message of a reconciliation can do until it is stopped; needs cargo-fuzz and no other compiler
fuzz-reconcile:
    cd crates/reconcile && RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none frames

# Mirrors against simulated upstreams that fail, lie and refuse, in that many random worlds
simulate-mirror SEEDS="3000":
    ZEOLITE_SEEDS={{SEEDS}} cargo test --release -p zeolite-mirror --test simulation

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
