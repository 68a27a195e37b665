#include <map>

#include "store/packed.h"
#include "store/postgres/errors.h"
#include "store/postgres/rows.h"

namespace sweetspot::store::postgres {
namespace {

template <class T>
std::vector<T> intact(std::optional<std::vector<T>> unpacked) {
  if (!unpacked) throw Damaged{};
  return std::move(*unpacked);
}

std::optional<double> real_or_nothing(const Cell& cell) {
  if (cell.is_null()) return std::nullopt;
  return cell.real();
}

std::optional<core::Bytes> bytes_or_nothing(const Cell& cell) {
  if (cell.is_null()) return std::nullopt;
  return static_cast<core::Bytes>(cell.whole());
}

}  // namespace

void insert_details(Connection& connection, std::int64_t id, const trial::Trial& trial) {
  for (const trial::Epoch& e : trial.epochs)
    connection.run(
        "INSERT INTO epoch (trial, epoch, train_seconds, train_loss, train_accuracy, test_loss,"
        " test_accuracy) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        {id, e.epoch, e.train_seconds, e.train_loss, e.train_accuracy, e.test_loss,
         e.test_accuracy});
  for (const trial::Evaluation& e : trial.evaluations)
    connection.run(
        "INSERT INTO evaluation (trial, steps, samples, train_seconds, test_loss, test_accuracy,"
        " noise_scale) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        {id, e.steps, e.samples, e.train_seconds, e.test_loss, e.test_accuracy, e.noise_scale});
  for (const trial::GpuUse& gpu : trial.gpus)
    connection.run(
        "INSERT INTO gpu_use (trial, device, name, memory_source, memory_peak_bytes,"
        " memory_free_bytes, utilisation_share, power_watts, energy_joules, core_clock_mhz)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        {id, gpu.device, gpu.name, gpu.memory_source, gpu.memory_peak, gpu.memory_free,
         gpu.utilisation_share, gpu.power_watts, gpu.energy_joules, gpu.core_clock_mhz});
  for (const trial::Loss& loss : trial.losses)
    connection.run("INSERT INTO loss (trial, step, value) VALUES ($1, $2, $3)",
                   {id, loss.step, loss.value});
  connection.run("INSERT INTO steps (trial, layout, data) VALUES ($1, $2, $3)",
                 {id, step_layout, Value::binary(pack(trial.raw))});
  if (!trial.trace.empty())
    connection.run("INSERT INTO trace (trial, data) VALUES ($1, $2)",
                   {id, Value::binary(pack(trial.trace))});
}

void delete_details(Connection& connection, std::int64_t id) {
  for (const char* sql :
       {"DELETE FROM epoch WHERE trial = $1", "DELETE FROM evaluation WHERE trial = $1", "DELETE FROM gpu_use WHERE trial = $1",
        "DELETE FROM loss WHERE trial = $1", "DELETE FROM steps WHERE trial = $1",
        "DELETE FROM trace WHERE trial = $1"})
    connection.run(sql, {id});
}

void read_details(Connection& connection, const std::vector<trial::Trial*>& trials) {
  std::map<std::int64_t, trial::Trial*> by_id;
  std::vector<std::int64_t> ids;
  for (trial::Trial* trial : trials) by_id[trial->id] = trial, ids.push_back(trial->id);
  const std::string array = array_of(ids);
  const auto each_row = [&](const char* sql, const auto& take) {
    const Result rows = connection.run(sql, {array});
    for (std::size_t row = 0; row < rows.rows(); ++row)
      take(*by_id.at(rows.at(row, 0).whole()),
           [&](std::size_t column) { return rows.at(row, column); });
  };
  each_row(
      "SELECT trial, epoch, train_seconds, train_loss, train_accuracy, test_loss, test_accuracy"
      " FROM epoch WHERE trial = ANY($1) ORDER BY trial, epoch",
      [](trial::Trial& trial, const auto& at) {
        trial.epochs.push_back({static_cast<int>(at(1).whole()), at(2).real(),
                                real_or_nothing(at(3)), real_or_nothing(at(4)),
                                real_or_nothing(at(5)), real_or_nothing(at(6))});
      });
  each_row(
      "SELECT trial, steps, samples, train_seconds, test_loss, test_accuracy, noise_scale"
      " FROM evaluation WHERE trial = ANY($1) ORDER BY trial, steps",
      [](trial::Trial& trial, const auto& at) {
        trial::Evaluation& evaluation = trial.evaluations.emplace_back();
        evaluation.steps = at(1).whole(), evaluation.samples = at(2).whole();
        evaluation.train_seconds = at(3).real();
        evaluation.test_loss = real_or_nothing(at(4));
        evaluation.test_accuracy = real_or_nothing(at(5));
        evaluation.noise_scale = real_or_nothing(at(6));
      });
  each_row(
      "SELECT trial, device, name, memory_peak_bytes, memory_free_bytes, memory_source,"
      " utilisation_share, power_watts, energy_joules, core_clock_mhz"
      " FROM gpu_use WHERE trial = ANY($1) ORDER BY trial, device",
      [](trial::Trial& trial, const auto& at) {
        trial.gpus.push_back({at(1).text(), at(2).text(), bytes_or_nothing(at(3)),
                              bytes_or_nothing(at(4)), at(5).text(), real_or_nothing(at(6)),
                              real_or_nothing(at(7)), real_or_nothing(at(8)),
                              real_or_nothing(at(9))});
      });
  each_row("SELECT trial, step, value FROM loss WHERE trial = ANY($1) ORDER BY trial, step",
           [](trial::Trial& trial, const auto& at) {
             trial.losses.push_back({at(1).whole(), at(2).real()});
           });
}

void read_steps_and_trace(Connection& connection, trial::Trial& trial) {
  const Result steps =
      connection.run("SELECT layout, data FROM steps WHERE trial = $1", {trial.id});
  if (steps.rows() > 0)
    trial.raw =
        intact(unpack_steps(steps.at(0, 1).binary(), static_cast<int>(steps.at(0, 0).whole())));
  const Result trace = connection.run("SELECT data FROM trace WHERE trial = $1", {trial.id});
  if (trace.rows() > 0) trial.trace = intact(unpack_trace(trace.at(0, 0).binary()));
}

}  // namespace sweetspot::store::postgres
