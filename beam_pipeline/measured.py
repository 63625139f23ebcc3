"""Measured figures and list prices that an estimate rests on, each with where it is from."""

# benchmarks/README.md, "What was found", 30 November 2026, two cores: corpusbeam at 1x, 4x, 16x
# and 150x of the bench documents.
MEMORY_BY_TEXT_MB = ((65, 531), (260, 593), (1_040, 661), (9_751, 1_631))

# The same table: wall and CPU at 1x and 16x as a line. What is left of it at 0 MB is start-up; its
# slope is 1.79 CPU seconds a second on two cores.
START_UP_SECONDS = 2.4
START_UP_CPU_SECONDS = 2.8
BUSY_CORES = 0.89

# CPU of the whole job over that of reading twice, scanning and tokenizing a sample: 0.0205 a MB of
# the same table, over 0.047 that `plan` measures on the same documents at 16x. Less than 1, since
# small parts cost more to come by than what deduplication, packing and writing add.
OTHER_STEPS = 0.44

# Tokens that the shards of those runs held at most, and how many copies of its ids a shard takes
# while it is made (read, in order, packed; transforms/write.py).
MEASURED_SHARD_TOKENS = 10_000_000
SHARD_COPIES = 3

# What is left of text in a landed piece (transforms/readers/landed.py): of the benchmark 0.68 of
# web documents, 0.66 of textbooks, 0.63 of math, 0.52 of code.
LANDED_SHARE = 0.65

# Bytes that cross shuffles for a document that takes part in every step: ARCHITECTURE.md, "Flow",
# with 16 bands. Few documents share a bucket, so members and candidates are left out.
SHUFFLED_BYTES = 60 + 8 + 16 * 16 + 8 + 68 + 86

# A row of a docs file of the demo, whose ids have some 78 characters; without ids it is 26.
DOCS_ROW_BYTES = 61

# USD, Dataflow batch in us-central1: vCPU hour, GB hour of memory, GB hour of disk, GB shuffled.
# From cloud.google.com/dataflow/pricing as public cost scripts have quoted it since February 2020;
# the page could not be read when this was written, so look there before you rely on it.
PRICE_VCPU_HOUR = 0.056
PRICE_MEMORY_GB_HOUR = 0.003557
PRICE_DISK_GB_HOUR = 0.000054
PRICE_SHUFFLED_GB = 0.011
PRICES_FROM = "list prices of us-central1 as quoted in public since 2020"

# What such a worker has for each vCPU.
WORKER_MEMORY_GB = 4
WORKER_DISK_GB = 25
