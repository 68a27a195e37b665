#include "store/postgres/migrations.h"

#include <fmt/format.h>

#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "store/postgres/connection.h"
#include "store/postgres/session.h"

namespace sweetspot::store::postgres {
namespace {

// Like SQLite's files of version 9 (store/sqlite/migrations.cpp documents each column), plus what
// workers share. `changes` counts the changes to a study: a follower compares only that. `token`
// distinguishes a trial whose commit was not acknowledged from one that never arrived. Seconds are
// since 1970, those of attempts by this server's clock.
constexpr const char* first = R"sql(
  CREATE SCHEMA IF NOT EXISTS sweetspot;
  CREATE TABLE sweetspot.version (version INTEGER NOT NULL);
  INSERT INTO sweetspot.version VALUES (0);
  CREATE TABLE study (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workload TEXT NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    changes BIGINT NOT NULL DEFAULT 0
  );
  CREATE INDEX study_by_question ON study USING hash (question);
  CREATE TABLE run (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    study BIGINT NOT NULL REFERENCES study ON DELETE CASCADE,
    run BIGINT NOT NULL REFERENCES run ON DELETE CASCADE,
    batch BIGINT NOT NULL,
    accumulation BIGINT NOT NULL,
    precision TEXT NOT NULL,
    workers INTEGER NOT NULL,
    prefetch INTEGER NOT NULL,
    learning_rate DOUBLE PRECISION NOT NULL,
    seed BIGINT NOT NULL,
    power_limit_watts DOUBLE PRECISION,
    device TEXT NOT NULL,
    outcome TEXT NOT NULL,
    stop_reason TEXT,
    samples_per_second_mean DOUBLE PRECISION,
    samples_per_second_low DOUBLE PRECISION,
    samples_per_second_high DOUBLE PRECISION,
    step_seconds_median DOUBLE PRECISION,
    steps BIGINT NOT NULL,
    timings BIGINT NOT NULL,
    warm_up_steps BIGINT NOT NULL,
    outlier_steps BIGINT NOT NULL,
    samples_seen BIGINT NOT NULL,
    steps_total BIGINT,
    samples_per_step BIGINT,
    sample_stride BIGINT,
    memory_predicted_bytes BIGINT,
    memory_measured_bytes BIGINT,
    memory_weights_bytes BIGINT,
    memory_gradients_bytes BIGINT,
    memory_optimizer_bytes BIGINT,
    memory_activations_bytes BIGINT,
    memory_workspace_bytes BIGINT,
    memory_input_bytes BIGINT,
    host_memory_bytes BIGINT,
    memory_capacity_bytes BIGINT,
    memory_wanted_bytes BIGINT,
    memory_margin_bytes BIGINT,
    inputs_vary INTEGER NOT NULL,
    memory_source TEXT NOT NULL,
    step_source TEXT NOT NULL,
    start_up_seconds DOUBLE PRECISION,
    cpu_seconds DOUBLE PRECISION,
    phase_seconds_data_wait DOUBLE PRECISION,
    phase_seconds_forward DOUBLE PRECISION,
    phase_seconds_backward DOUBLE PRECISION,
    phase_seconds_optimizer DOUBLE PRECISION,
    phase_seconds_overhead DOUBLE PRECISION,
    noise_scale_samples_mean DOUBLE PRECISION,
    noise_scale_samples_low DOUBLE PRECISION,
    noise_scale_samples_high DOUBLE PRECISION,
    sharpness DOUBLE PRECISION,
    end_train_loss DOUBLE PRECISION,
    energy_joules DOUBLE PRECISION,
    energy_samples BIGINT,
    cpu_pressure_share DOUBLE PRECISION,
    other_cpu_share DOUBLE PRECISION,
    slowed_share DOUBLE PRECISION,
    other_gpu_share DOUBLE PRECISION,
    other_gpu_memory_bytes BIGINT,
    gpu_throttle TEXT NOT NULL,
    contended INTEGER NOT NULL,
    contention_reason TEXT NOT NULL,
    note TEXT NOT NULL,
    last_output TEXT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION NOT NULL
  );
  CREATE INDEX trial_by_study ON trial (study);
  CREATE TABLE steps (
    trial BIGINT PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
    layout INTEGER NOT NULL,
    data BYTEA NOT NULL
  );
  CREATE TABLE trace (
    trial BIGINT PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
    data BYTEA NOT NULL
  );
  CREATE TABLE epoch (
    trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    train_seconds DOUBLE PRECISION NOT NULL,
    train_loss DOUBLE PRECISION,
    train_accuracy DOUBLE PRECISION,
    test_loss DOUBLE PRECISION,
    test_accuracy DOUBLE PRECISION,
    noise_scale DOUBLE PRECISION,
    PRIMARY KEY (trial, epoch)
  );
  CREATE TABLE evaluation (
    trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
    steps BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    train_seconds DOUBLE PRECISION NOT NULL,
    test_loss DOUBLE PRECISION,
    test_accuracy DOUBLE PRECISION,
    noise_scale DOUBLE PRECISION,
    PRIMARY KEY (trial, steps)
  );
  CREATE TABLE gpu_use (
    trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
    device TEXT NOT NULL,
    name TEXT NOT NULL,
    memory_source TEXT NOT NULL,
    memory_peak_bytes BIGINT,
    memory_free_bytes BIGINT,
    utilisation_share DOUBLE PRECISION,
    power_watts DOUBLE PRECISION,
    energy_joules DOUBLE PRECISION,
    core_clock_mhz DOUBLE PRECISION,
    PRIMARY KEY (trial, device)
  );
  CREATE TABLE loss (
    trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
    step BIGINT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (trial, step)
  );
  CREATE TABLE task (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    study BIGINT NOT NULL REFERENCES study ON DELETE CASCADE,
    batch BIGINT NOT NULL,
    accumulation BIGINT NOT NULL,
    precision TEXT NOT NULL,
    workers INTEGER NOT NULL,
    prefetch INTEGER NOT NULL,
    learning_rate DOUBLE PRECISION NOT NULL,
    seed BIGINT NOT NULL,
    power_limit_watts DOUBLE PRECISION,
    trial BIGINT REFERENCES trial ON DELETE CASCADE,
    attempt BIGINT
  );
  CREATE INDEX task_by_study ON task (study);
  CREATE INDEX task_by_trial ON task (trial);
  CREATE TABLE attempt (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task BIGINT NOT NULL REFERENCES task ON DELETE CASCADE,
    worker TEXT NOT NULL,
    host TEXT NOT NULL,
    pid BIGINT NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    beat_at DOUBLE PRECISION NOT NULL,
    steps BIGINT NOT NULL DEFAULT 0,
    ended_at DOUBLE PRECISION,
    ending TEXT
  );
  CREATE INDEX attempt_by_task ON attempt (task);
)sql";

// The running trial, for readers.
constexpr const char* running = R"sql(
  ALTER TABLE study ADD COLUMN running_batch BIGINT;
  ALTER TABLE study ADD COLUMN running_since DOUBLE PRECISION NOT NULL DEFAULT 0;
)sql";

constexpr const char* schema_steps[] = {first, running};

// nullopt: there is none. Read from the catalog's rows: a failed name lookup may be cached.
std::optional<int> version_there(Connection& connection) {
  if (connection
          .run("SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
               " WHERE nspname = 'sweetspot' AND relname = 'version'")
          .rows() == 0)
    return std::nullopt;
  return static_cast<int>(
      connection.run("SELECT max(version) FROM sweetspot.version").at(0, 0).whole());
}

void check_version(int version, const std::string& url) {
  if (version > schema_version())
    throw core::InputError(fmt::format(
        "{} was written by a newer sweetspot (its schema is {}, this program knows {}); update "
        "sweetspot, or pass another --db",
        core::printable(url), version, schema_version()));
}

}  // namespace

int schema_version() { return static_cast<int>(std::size(schema_steps)); }

void set_up(Connection& connection, const std::string& url) {
  if (const auto version = version_there(connection); version == schema_version()) return;
  Transaction transaction(connection);
  lock_setup(connection);
  const int version = version_there(connection).value_or(0);  // another may have been faster
  check_version(version, url);
  for (int step = version; step < schema_version(); ++step)
    connection.run_script(schema_steps[step]);
  connection.run("UPDATE sweetspot.version SET version = $1", {schema_version()});
  transaction.commit();
}

bool set_up_if_there(Connection& connection, const std::string& url) {
  const auto version = version_there(connection);
  if (!version) return false;
  check_version(*version, url);
  if (*version < schema_version()) set_up(connection, url);
  return true;
}

}  // namespace sweetspot::store::postgres
