#include "store/schema.h"

#include <fmt/format.h>

#include "core/error.h"

namespace sweetspot::store {

// Ids are never reused, so that a deleted study's number never means another one. A resumed study
// is run by several processes, perhaps of several versions on a changed machine: each trial knows
// the run that saved it last, and so its environment. `number` counts what a run has saved: it
// tells a trial whose commit was not acknowledged from one that never arrived. `body` is the whole
// trial (trial_json.h), `batch` and `outcome` are for queries; its raw steps and trace
// (step_blob.h) are large, and not in the way of what is listed. Seconds are since 1970, by the
// store's clock.
std::string schema(const Dialect& dialect) {
  return fmt::format(
      R"sql(
  CREATE TABLE study (
    id {id},
    workload TEXT NOT NULL,
    study_key TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    running_batch BIGINT,
    running_since DOUBLE PRECISION,
    answer TEXT NOT NULL DEFAULT ''
  );
  CREATE INDEX study_by_key ON study {by_hash} (study_key);
  CREATE TABLE run (
    id {id},
    study BIGINT NOT NULL REFERENCES study ON DELETE CASCADE,
    program TEXT NOT NULL,
    machine TEXT NOT NULL,
    environment TEXT NOT NULL,
    host TEXT NOT NULL,
    pid BIGINT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL
  );
  CREATE INDEX run_by_study ON run (study);
  CREATE TABLE trial (
    id {id},
    study BIGINT NOT NULL REFERENCES study ON DELETE CASCADE,
    run BIGINT NOT NULL,
    number BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (study, run, number)
  );
  CREATE TABLE raw (
    trial {key} REFERENCES trial ON DELETE CASCADE,
    steps {bytes} NOT NULL,
    trace {bytes} NOT NULL
  );
  CREATE TABLE task (
    id {id},
    study BIGINT NOT NULL REFERENCES study ON DELETE CASCADE,
    setting TEXT NOT NULL,
    trial BIGINT REFERENCES trial ON DELETE CASCADE,
    attempt BIGINT
  );
  CREATE INDEX task_by_study ON task (study);
  CREATE INDEX task_by_trial ON task (trial);
  CREATE TABLE attempt (
    id {id},
    task BIGINT NOT NULL REFERENCES task ON DELETE CASCADE,
    run BIGINT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    beat_at DOUBLE PRECISION NOT NULL,
    steps BIGINT NOT NULL DEFAULT 0,
    ended_at DOUBLE PRECISION,
    ending TEXT
  );
  CREATE INDEX attempt_by_task ON attempt (task);
)sql",
      fmt::arg("id", dialect.id), fmt::arg("key", dialect.key), fmt::arg("bytes", dialect.bytes),
      fmt::arg("by_hash", dialect.by_hash));
}

void check_version(std::int64_t version, std::string_view shown, std::string_view aside,
                   std::string_view another) {
  if (version == schema_version) return;
  const bool newer = version > schema_version;
  throw core::InputError(fmt::format(
      "{} was written by {} sweetspot (its schema is {}, this program knows {}); {}, or pass {}",
      shown, newer ? "a newer" : "an older", version, schema_version,
      newer ? "update sweetspot" : aside, another));
}

}  // namespace sweetspot::store
