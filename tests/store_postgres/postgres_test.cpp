// The contract over PostgreSQL, and what is specific to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "core/error.h"
#include "store/contract.h"
#include "store/support.h"
#include "store_postgres/server.h"

namespace sweetspot::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DatabasePlace : public Place {
 public:
  std::shared_ptr<store::Store> open() const override { return store::open_store(url_); }
  bool is_untouched() const override {
    return sql(url_, "SELECT count(*) FROM pg_namespace WHERE nspname = 'sweetspot'") == "0";
  }

 private:
  std::string url_ = the_server().new_database();
};

const StoreKind postgres{"postgres", [] { return std::make_unique<DatabasePlace>(); }};
INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract, testing::Values(postgres), kind_name);
INSTANTIATE_TEST_SUITE_P(Postgres, QueueContract, testing::Values(postgres), kind_name);

std::string sentence_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PostgresUrl, APasswordInItIsRefusedAndNotShown) {
  for (const char* url :
       {"postgresql://me:hunter2@host/db", "postgresql://host/db?password=hunter2",
        "postgres://host/db?sslpassword=hunter2", "postgresql://me:hunter2@host:port:port/db"}) {
    const std::string sentence = sentence_of([&] { store::open_store(url); });
    EXPECT_THAT(sentence, AllOf(HasSubstr("URL"), Not(HasSubstr("hunter2")))) << url;
  }
  EXPECT_THAT(sentence_of([] { store::open_store("postgresql://me:hunter2@host/db"); }),
              AllOf(HasSubstr(".pgpass"), HasSubstr("PGPASSWORD")));
}

// Sets a variable of this process for its lifetime.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(PostgresPassword, ComesFromTheEnvironmentAFileOrAService) {
  sql(the_server().url(), "CREATE DATABASE secret");
  sql(the_server().url(), "CREATE ROLE me LOGIN PASSWORD 'hunter2'");
  sql(the_server().url(), "GRANT CREATE ON DATABASE secret TO me");
  std::string url = the_server().url("secret");
  url.replace(url.find("sweetspot@"), 9, "me");
  const auto open = [&](const std::string& at) {
    return store::open_store(at)->open_study(study_key(), environment(), false)->study().id;
  };
  const std::string refused = sentence_of([&] { open(url); });
  EXPECT_THAT(refused, AllOf(HasSubstr("password"), HasSubstr(".pgpass")));
  {
    const Variable wrong("PGPASSWORD", "hunter3");
    EXPECT_THAT(sentence_of([&] { open(url); }),
                AllOf(HasSubstr("PGPASSWORD"), Not(HasSubstr("hunter3"))));
  }
  {
    const Variable right("PGPASSWORD", "hunter2");
    EXPECT_EQ(open(url), 1);
  }
  const TemporaryFolder folder;
  std::ofstream(folder / "pgpass") << "*:*:*:me:hunter2\n";
  chmod((folder / "pgpass").c_str(), 0600);
  {
    const Variable file("PGPASSFILE", (folder / "pgpass").string());
    EXPECT_EQ(open(url), 1);
  }
  std::ofstream(folder / "services") << "[trials]\ndbname=secret\nuser=me\npassword=hunter2\nhost="
                                     << url.substr(url.find("host=") + 5) << "\n";
  const Variable services("PGSERVICEFILE", (folder / "services").string());
  EXPECT_EQ(open("postgresql:///?service=trials"), 1);
  const Variable right("PGPASSWORD", "hunter2");
  for (const char* table : {"study", "run", "trial"})
    EXPECT_EQ(sql(url, std::string("SELECT count(*) FROM sweetspot.") + table +
                           " AS row WHERE row::text"
                           " LIKE '%hunter2%'"),
              "0");
}

TEST(PostgresSentences, NameWhatIsWrongAndTheWayOut) {
  const TemporaryFolder empty;
  EXPECT_THAT(sentence_of([&] {
                store::open_store("postgresql:///db?host=" + empty.path().string())->studies();
              }),
              AllOf(HasSubstr(empty.path().string()), HasSubstr("--db")));
  EXPECT_THAT(sentence_of([&] { store::open_store(the_server().url("nowhere"))->studies(); }),
              HasSubstr("\"nowhere\""));  // as the server says it
  const std::string url = the_server().new_database();
  store::open_store(url)->open_study(study_key(), environment(), false);
  for (const char* version : {"2", "1000"}) {
    sql(url, std::string("UPDATE sweetspot.version SET version = ") + version);
    for (const auto& work : std::vector<std::function<void()>>{
             [&] { store::open_store(url)->studies(); },
             [&] { store::open_store(url)->open_study(study_key(), environment(), false); }})
      EXPECT_THAT(sentence_of(work),
                  AllOf(HasSubstr(std::string("schema is ") + version), HasSubstr("another --db")));
  }
}

TEST(PostgresSentences, AUserWithoutRightsIsTold) {
  const std::string url = the_server().new_database();
  sql(url, "CREATE ROLE guest LOGIN");
  std::string as_guest = url;
  as_guest.replace(as_guest.find("sweetspot@"), 9, "guest");
  EXPECT_THAT(sentence_of([&] {
                store::open_store(as_guest)->open_study(study_key(), environment(), false);
              }),
              HasSubstr("GRANT"));
  store::open_store(url)->open_study(study_key(), environment(), false);
  EXPECT_THAT(sentence_of([&] { store::open_store(as_guest)->studies(); }), HasSubstr("GRANT"));
}

// Any of several concurrent processes may be the one that creates it.
TEST(PostgresSchema, IsMadeOnceByManyAtATime) {
  const std::string url = the_server().new_database();
  std::vector<std::jthread> workers;
  for (int i = 0; i < 8; ++i)
    workers.emplace_back(
        [&] { store::open_store(url)->join_study(study_key(), environment(), {}); });
  workers.clear();
  EXPECT_EQ(store::open_store(url)->studies().size(), 1u);
  EXPECT_EQ(sql(url, "SELECT count(*) FROM sweetspot.version"), "1");
}

TEST(PostgresWriter, GoesOnWhenItsServerWasKilledAndCameBack) {
  PostgresServer server;
  const std::string url = server.new_database();
  const auto writer = store::open_store(url)->open_study(study_key(), environment(), false);
  const auto follower = store::open_store(url)->follow();
  EXPECT_TRUE(follower->changed());
  add(*writer, trial_of(1));
  server.kill();
  std::jthread restart([&] { server.start(); });
  add(*writer, trial_of(2));  // waits for it
  restart.join();
  writer->set_answer("{}");
  EXPECT_TRUE(follower->changed());
  EXPECT_THROW(store::open_store(url)->open_study(study_key(), environment(), false),
               core::MachineError)
      << "its lock came back with it";
  const trial::Study study = store::open_store(url)->study(writer->study().id).value();
  ASSERT_EQ(study.trials.size(), 2u);
  expect_equal(study.trials[0], trial_of(1));
  expect_equal(study.trials[1], trial_of(2));
  EXPECT_EQ(study.answer, "{}");
}

}  // namespace
}  // namespace sweetspot::tests
