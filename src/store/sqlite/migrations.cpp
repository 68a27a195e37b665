#include "store/sqlite/migrations.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

namespace sweetspot::store::sqlite {
namespace {

// Doubles may be NULL: SQLite stores NaN that way. Ids are never reused, so that a deleted study's
// number never means another one.
constexpr const char* first_schema = R"sql(
  CREATE TABLE study (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workload TEXT NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at REAL,
    program TEXT NOT NULL,
    machine TEXT NOT NULL,
    environment TEXT NOT NULL
  );
  CREATE INDEX study_by_question ON study (question);
  CREATE TABLE trial (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
    batch INTEGER NOT NULL,
    accumulation INTEGER NOT NULL,
    precision TEXT NOT NULL,
    workers INTEGER NOT NULL,
    prefetch INTEGER NOT NULL,
    learning_rate REAL,
    outcome TEXT NOT NULL,
    stop_reason TEXT,
    samples_per_second_mean REAL,
    samples_per_second_low REAL,
    samples_per_second_high REAL,
    step_seconds_median REAL,
    steps INTEGER NOT NULL,
    warm_up_steps INTEGER NOT NULL,
    outlier_steps INTEGER NOT NULL,
    samples_seen INTEGER NOT NULL,
    memory_predicted_bytes INTEGER,
    memory_measured_bytes INTEGER,
    phase_seconds_data_wait REAL,
    phase_seconds_forward REAL,
    phase_seconds_backward REAL,
    phase_seconds_optimizer REAL,
    phase_seconds_overhead REAL,
    cpu_pressure_share REAL,
    other_cpu_share REAL,
    speed_change_share REAL,
    contended INTEGER NOT NULL,
    note TEXT NOT NULL,
    started_at REAL,
    seconds REAL
  );
  CREATE INDEX trial_by_study ON trial (study);
  CREATE TABLE steps (
    trial INTEGER PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
    data BLOB NOT NULL
  );
)sql";

// A resumed study is run by several processes, perhaps of several versions on a changed machine:
// each trial knows its run, and so its environment.
constexpr const char* runs = R"sql(
  CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
    program TEXT NOT NULL,
    machine TEXT NOT NULL,
    environment TEXT NOT NULL,
    pid INTEGER,
    started_at REAL
  );
  CREATE INDEX run_by_study ON run (study);
  INSERT INTO run (study, program, machine, environment, started_at)
    SELECT id, program, machine, environment, started_at FROM study;
  ALTER TABLE trial ADD COLUMN run INTEGER REFERENCES run ON DELETE CASCADE;
  UPDATE trial SET run = (SELECT run.id FROM run WHERE run.study = trial.study);
  ALTER TABLE study DROP COLUMN program;
  ALTER TABLE study DROP COLUMN machine;
  ALTER TABLE study DROP COLUMN environment;
)sql";

// Trials of programs that are only observed.
constexpr const char* commands = R"sql(
  ALTER TABLE trial ADD COLUMN memory_source TEXT NOT NULL DEFAULT '';
  ALTER TABLE trial ADD COLUMN step_source TEXT NOT NULL DEFAULT '';
  ALTER TABLE trial ADD COLUMN start_up_seconds REAL;
  ALTER TABLE trial ADD COLUMN cpu_seconds REAL;
)sql";

// Device and seed of a trial, its device readings, and its epochs. Before, every trial ran on the
// CPU, with a seed that only the study key records.
constexpr const char* devices = R"sql(
  ALTER TABLE trial ADD COLUMN seed INTEGER NOT NULL DEFAULT 1000;
  ALTER TABLE trial ADD COLUMN device TEXT NOT NULL DEFAULT 'cpu';
  ALTER TABLE trial ADD COLUMN energy_joules REAL;
  ALTER TABLE trial ADD COLUMN arithmetic_per_second REAL;
  ALTER TABLE trial ADD COLUMN exchange_bytes_per_second REAL;
  ALTER TABLE trial ADD COLUMN waited_seconds REAL NOT NULL DEFAULT 0;
  ALTER TABLE trial ADD COLUMN other_gpu_share REAL;
  ALTER TABLE trial ADD COLUMN other_gpu_memory_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN gpu_throttle TEXT NOT NULL DEFAULT '';
  ALTER TABLE trial ADD COLUMN contention_reason TEXT NOT NULL DEFAULT '';
  CREATE TABLE epoch (
    trial INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    train_seconds REAL,
    train_loss REAL,
    train_accuracy REAL,
    test_loss REAL,
    test_accuracy REAL,
    PRIMARY KEY (trial, epoch)
  ) WITHOUT ROWID;
  CREATE TABLE trace (
    trial INTEGER PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
    data BLOB NOT NULL
  );
)sql";

// The native engines' measured memory by use.
constexpr const char* uses = R"sql(
  ALTER TABLE trial ADD COLUMN memory_weights_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_gradients_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_optimizer_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_activations_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_workspace_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_input_bytes INTEGER;
)sql";

// How much of a trial was excluded because the machine was slow. The earlier arithmetic probe was
// of another kind and is not comparable.
constexpr const char* disturbances = R"sql(
  ALTER TABLE trial ADD COLUMN disturbed_share REAL;
  UPDATE trial SET arithmetic_per_second = NULL;
)sql";

// Batches are interleaved in rounds: a study stores its answer, and a step its round (layouts:
// packed.h). Earlier readings of the machine's speed were for single trials, which are not
// comparable with rounds: slowed_share begins empty.
constexpr const char* rounds = R"sql(
  ALTER TABLE study ADD COLUMN answer TEXT NOT NULL DEFAULT '';
  ALTER TABLE steps ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE trial ADD COLUMN slowed_share REAL;
  ALTER TABLE trial DROP COLUMN disturbed_share;
  ALTER TABLE trial DROP COLUMN speed_change_share;
  ALTER TABLE trial DROP COLUMN arithmetic_per_second;
  ALTER TABLE trial DROP COLUMN exchange_bytes_per_second;
  ALTER TABLE trial DROP COLUMN waited_seconds;
)sql";

// What shows whether a program used its batch, and its last lines separate from the reason. Before,
// a step of a program was whatever had been timed together.
constexpr const char* arrivals = R"sql(
  ALTER TABLE trial ADD COLUMN timings INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE trial ADD COLUMN steps_total INTEGER;
  ALTER TABLE trial ADD COLUMN samples_per_step INTEGER;
  ALTER TABLE trial ADD COLUMN sample_stride INTEGER;
  ALTER TABLE trial ADD COLUMN last_output TEXT NOT NULL DEFAULT '';
  UPDATE trial SET timings = steps;
)sql";

// What programs used of their GPUs, and what is known of their memory beyond the peak.
constexpr const char* gpus = R"sql(
  ALTER TABLE trial ADD COLUMN power_limit_watts REAL;
  ALTER TABLE trial ADD COLUMN host_memory_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_capacity_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_wanted_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN memory_margin_bytes INTEGER;
  ALTER TABLE trial ADD COLUMN inputs_vary INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE trial ADD COLUMN energy_samples INTEGER;
  CREATE TABLE gpu_use (
    trial INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
    device TEXT NOT NULL,
    name TEXT NOT NULL,
    memory_peak_bytes INTEGER,
    memory_free_bytes INTEGER,
    memory_source TEXT NOT NULL,
    utilisation_share REAL,
    power_watts REAL,
    energy_joules REAL,
    core_clock_mhz REAL,
    PRIMARY KEY (trial, device)
  ) WITHOUT ROWID;
  CREATE TABLE loss (
    trial INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
    step INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (trial, step)
  ) WITHOUT ROWID;
)sql";

// Evaluations of trials that train towards a target.
constexpr const char* evaluations = R"sql(
  CREATE TABLE evaluation (
    trial INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
    steps INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    train_seconds REAL NOT NULL,
    test_loss REAL,
    test_accuracy REAL,
    noise_scale REAL,
    PRIMARY KEY (trial, steps)
  ) WITHOUT ROWID;
)sql";

// Settings that several processes measure, and their attempts, in seconds since 1970.
constexpr const char* queues = R"sql(
  CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study INTEGER NOT NULL REFERENCES study ON DELETE CASCADE,
    batch INTEGER NOT NULL,
    accumulation INTEGER NOT NULL,
    precision TEXT NOT NULL,
    workers INTEGER NOT NULL,
    prefetch INTEGER NOT NULL,
    learning_rate REAL,
    seed INTEGER NOT NULL,
    power_limit_watts REAL,
    trial INTEGER REFERENCES trial ON DELETE CASCADE,
    attempt INTEGER
  );
  CREATE INDEX task_by_study ON task (study);
  CREATE INDEX task_by_trial ON task (trial);
  CREATE TABLE attempt (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at REAL NOT NULL,
    beat_at REAL NOT NULL,
    steps INTEGER NOT NULL DEFAULT 0,
    ended_at REAL,
    ending TEXT
  );
  CREATE INDEX attempt_by_task ON attempt (task);
)sql";

// The gradient noise of a trial that trained.
constexpr const char* noise = R"sql(
  ALTER TABLE epoch ADD COLUMN noise_scale REAL;
  ALTER TABLE trial ADD COLUMN noise_scale_samples_mean REAL;
  ALTER TABLE trial ADD COLUMN noise_scale_samples_low REAL;
  ALTER TABLE trial ADD COLUMN noise_scale_samples_high REAL;
)sql";

// Sharpness and loss where a trial's training ended.
constexpr const char* end_points = R"sql(
  ALTER TABLE trial ADD COLUMN sharpness REAL;
  ALTER TABLE trial ADD COLUMN end_train_loss REAL;
)sql";

// The running trial, for readers.
constexpr const char* running = R"sql(
  ALTER TABLE study ADD COLUMN running_batch INTEGER;
  ALTER TABLE study ADD COLUMN running_since REAL;
)sql";

constexpr const char* all_migrations[] = {first_schema, runs,   commands,   devices, uses,
                                          disturbances, rounds, arrivals,   gpus,    evaluations,
                                          queues,       noise,  end_points, running};

}  // namespace

std::span<const char* const> migrations() { return all_migrations; }

int version_of(SQLite::Database& database) {
  return database.execAndGet("PRAGMA user_version").getInt();
}

// A consistent snapshot: another process may be creating the file.
Kind kind_of(SQLite::Database& database) {
  SQLite::Transaction snapshot(database);
  if (database.execAndGet("PRAGMA application_id").getInt() == application_id) return Kind::ours;
  const bool blank = database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  return blank && version_of(database) == 0 ? Kind::empty : Kind::foreign;
}

void migrate(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int version = version_of(database);
  if (version >= schema_version()) return;  // another process was faster
  for (const char* step : migrations().subspan(static_cast<std::size_t>(version)))
    database.exec(step);
  database.exec("PRAGMA application_id = " + std::to_string(application_id));
  database.exec("PRAGMA user_version = " + std::to_string(schema_version()));
  transaction.commit();
}

}  // namespace sweetspot::store::sqlite
