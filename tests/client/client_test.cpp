#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sweetspot/client.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "client/server.h"
#include "message.h"

namespace sweetspot {
namespace {

using client::Message;
using testing::HasSubstr;
using tests::Server;

// A variable of the environment for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

Message read(Server& server) {
  const std::string line = server.line();
  const auto message = Message::parse(line);
  if (!message) throw std::runtime_error("no message: " + line);
  return *message;
}

TEST(Client, DoesNothingOutsideSweetspot) {
  Client client;
  client.begin();
  EXPECT_FALSE(client.step(64));
  client.memory("cuda:0", 1, "test");
  EXPECT_FALSE(client.enough());
  EXPECT_EQ(client.dropped(), 0);
}

TEST(Client, GivesOneSettingOutsideSweetspot) {
  Setting defaults;
  defaults.batch = 24, defaults.micro_batch = 12, defaults.accumulation = 2;
  Client client(defaults);
  const auto setting = client.next();
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->batch, 24);
  EXPECT_EQ(setting->micro_batch, 12);
  EXPECT_FALSE(client.next());
}

TEST(Client, TheEnvironmentDecidesTheSetting) {
  const Variable batch("SWEETSPOT_BATCH", "48"), accumulation("SWEETSPOT_ACCUMULATION", "4"),
      precision("SWEETSPOT_PRECISION", "bf16"), workers("SWEETSPOT_WORKERS", "0"),
      rate("SWEETSPOT_LR", "0.25");
  const Setting setting = Client().setting();
  EXPECT_EQ(setting.batch, 48);
  EXPECT_EQ(setting.accumulation, 4);
  EXPECT_EQ(setting.micro_batch, 12);
  EXPECT_EQ(setting.precision, "bf16");
  EXPECT_EQ(setting.workers, 0);
  EXPECT_EQ(setting.learning_rate, 0.25);
}

TEST(Client, NonsenseInTheEnvironmentIsIgnored) {
  for (const char* nonsense : {"", "x", "-1", "0", "12x", "1e400", "99999999999999999999"}) {
    const Variable batch("SWEETSPOT_BATCH", nonsense);
    EXPECT_EQ(Client().setting().batch, 64) << nonsense;
  }
}

TEST(Client, ReportsSteps) {
  Server server;
  Client client;
  client.begin();
  client.step(32, 0.5);
  client.step();
  client.step({}, {}, 8);
  const Message hello = read(server);
  EXPECT_EQ(hello.text("type"), "hello");
  EXPECT_EQ(hello.whole("protocol", 1), 1);
  EXPECT_EQ(hello.whole("pid", 1), getpid());
  EXPECT_EQ(hello.text("client"), "cpp");
  const Message begin = read(server), first = read(server), second = read(server);
  EXPECT_EQ(begin.text("type"), "begin");
  EXPECT_EQ(first.text("type"), "step");
  EXPECT_EQ(first.whole("samples", 0), 32);
  EXPECT_EQ(first.number("data_wait_seconds"), 0.5);
  EXPECT_EQ(first.whole("dropped", 0), 0);
  EXPECT_EQ(second.number("samples"), std::nullopt);
  EXPECT_EQ(second.number("updates"), std::nullopt);
  EXPECT_EQ(read(server).whole("updates", 1), 8);
  EXPECT_LE(*begin.number("at_seconds"), *first.number("at_seconds"));
  EXPECT_LE(*first.number("at_seconds"), *second.number("at_seconds"));
}

TEST(Client, AFullSocketCostsReportsAndNoTime) {
  Server server;
  Client client;
  client.step();
  while (client.dropped() < 10) client.step();
  const Message hello = read(server);
  std::int64_t whole = 0;
  for (std::string type; whole < 100 && (type = server.type()) == "step";) ++whole;
  EXPECT_EQ(whole, 100) << "half a line went out";
  while (true) {  // the socket drains, and the loss is reported
    client.step();
    const Message step = read(server);
    EXPECT_EQ(step.text("type"), "step");
    if (step.whole("dropped", 0) >= 10) break;
  }
}

TEST(Client, OutlivesSweetspot) {
  auto server = std::make_unique<Server>();
  Client client;
  client.step();
  server->accept();
  server.reset();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(client.step());
}

TEST(Client, ASocketThatIsNotThereIsNone) {
  const Variable path("SWEETSPOT_SOCKET", "/no/such/socket");
  Client client;
  client.begin();
  EXPECT_FALSE(client.step());
  const std::string endless(4000, 'x');
  const Variable too_long("SWEETSPOT_SOCKET", endless.c_str());
  Client other;
  EXPECT_FALSE(other.step());
}

TEST(Client, OnlyTheFirstOfAGroupSpeaks) {
  Server server;
  {
    const Variable rank("RANK", "1");
    Client client;
    client.step();
    EXPECT_TRUE(server.nobody_connected());
  }
  const Variable rank("RANK", "0"), local("LOCAL_RANK", "3");
  Client client;
  client.step();
  EXPECT_FALSE(server.nobody_connected());
}

TEST(Client, AForkedChildIsSilentAndDoesNotHoldTheConnection) {
  Server server;
  Client client;
  client.step();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i) client.step();
    _exit(client.next() || client.enough() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  client.step();
  EXPECT_EQ(server.type(), "hello");
  EXPECT_EQ(server.type(), "step");
  EXPECT_EQ(read(server).whole("dropped", 0), 0);
}

TEST(Client, PeakMemoryIsReportedOnceASecondAtMost) {
  Server server;
  Client client;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    client.memory("cuda:0", i << 30, "test");
    client.step();
  }
  EXPECT_EQ(server.type(), "hello");
  EXPECT_EQ(server.type(), "step");
  const Message memory = read(server);
  EXPECT_EQ(memory.text("type"), "memory");
  EXPECT_EQ(memory.number("peak_bytes"), 1 << 30);
  EXPECT_EQ(memory.text("device"), "cuda:0");
  EXPECT_EQ(server.type(), "step");
}

// What sweetspot says while the client is in next().
std::jthread dialogue(Server& server, std::string answer) {
  return std::jthread([&server, answer = std::move(answer)] {
    while (server.type() != "ready") {
    }
    server.send(answer);
  });
}

TEST(Session, FollowsFromSettingToSetting) {
  Server server;
  Client client;
  std::optional<Setting> setting;
  {
    const auto other = dialogue(
        server, "{\"type\":\"setting\",\"batch\":128,\"accumulation\":2,\"precision\":\"bf16\"}\n");
    setting = client.next();
  }
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->batch, 128);
  EXPECT_EQ(setting->micro_batch, 64);
  EXPECT_EQ(setting->precision, "bf16");
  EXPECT_EQ(setting->workers, 1);
  EXPECT_EQ(client.setting().batch, 128);
  EXPECT_FALSE(client.step(128));
  server.send("{\"type\":\"enough\"}\n");
  EXPECT_TRUE(client.step(128));
  client.memory("cuda:0", 5, "test");
  {
    const auto other = dialogue(server,
                                "{\"type\":\"enough\"}\nno JSON\n{\"type\":\"news\"}\n"
                                "{\"type\":\"setting\",\"batch\":32}\n");
    setting = client.next();
  }
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->batch, 32);
  EXPECT_EQ(setting->micro_batch, 32);
  EXPECT_FALSE(client.enough()) << "it was said of the setting before";
  {
    const auto other = dialogue(server, "{\"type\":\"done\"}\n");
    EXPECT_FALSE(client.next());
  }
  EXPECT_FALSE(client.next());
  EXPECT_TRUE(client.step()) << "nobody waits for this one";
}

TEST(Session, SaysThatItIsOneAndSendsThePeakBeforeItAsks) {
  Server server;
  Client client;
  std::vector<std::string> said;
  {
    const std::jthread other([&] {
      for (int settings = 0; settings < 2;) {
        said.push_back(server.line());
        if (said.back() != "{\"type\":\"ready\"}") continue;
        server.send(settings++ == 0 ? "{\"type\":\"setting\",\"batch\":8}\n"
                                    : "{\"type\":\"done\"}\n");
      }
    });
    EXPECT_TRUE(client.next());
    client.memory("cuda:0", 7, "test");
    EXPECT_FALSE(client.next());
  }
  ASSERT_EQ(said.size(), 5u);
  EXPECT_THAT(said[0], HasSubstr("\"session\":true"));
  EXPECT_THAT(said[2], HasSubstr("\"type\":\"begin\""));
  EXPECT_THAT(said[3], HasSubstr("\"peak_bytes\":7"));
}

TEST(Session, EndsWhenSweetspotGoesAway) {
  Server server;
  Client client;
  const std::jthread other([&] {
    while (server.type() != "ready") {
    }
    server.send("{\"type\":\"set");
    server.hang_up();
  });
  EXPECT_FALSE(client.next());
  EXPECT_TRUE(client.enough());
}

TEST(Session, EndsAtASettingWithoutABatch) {
  for (const char* batch : {"", ",\"batch\":0", ",\"batch\":\"64\"", ",\"batch\":null"}) {
    Server server;
    Client client;
    const auto other = dialogue(server, std::string("{\"type\":\"setting\"") + batch + "}\n");
    EXPECT_FALSE(client.next()) << batch;
  }
}

TEST(Session, LinesThatAreTooLongAreSkipped) {
  Server server;
  Client client;
  const auto other =
      dialogue(server, "{\"type\":\"setting\",\"batch\":1,\"x\":\"" + std::string(100000, 'x') +
                           "\"}\n{\"type\":\"setting\",\"batch\":2}\n");
  const auto setting = client.next();
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->batch, 2);
}

TEST(Session, AGroupOfProcessesHasNone) {
  Server server;
  const Variable world("WORLD_SIZE", "2"), batch("SWEETSPOT_BATCH", "24");
  Client client;
  const auto setting = client.next();
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->batch, 24);
  EXPECT_FALSE(client.next());
  EXPECT_THAT(server.line(), HasSubstr("\"session\":false"));
  EXPECT_EQ(server.type(), "begin");
}

TEST(Session, OtherThreadsMayReportMeanwhile) {
  Server server;
  Client client;
  {
    const auto other = dialogue(server, "{\"type\":\"setting\",\"batch\":8}\n");
    ASSERT_TRUE(client.next());
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) client.step(), client.setting(), client.enough();
    });
  threads.clear();
  const std::int64_t dropped = client.dropped();
  EXPECT_EQ(server.type(), "begin");
  for (std::int64_t i = 0; i < 400 - dropped; ++i) ASSERT_EQ(server.type(), "step");
}

}  // namespace
}  // namespace sweetspot
