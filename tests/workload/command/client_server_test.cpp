#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "temporary_folder.h"
#include "workload/command/client/server.h"

namespace sweetspot::workload::command::client {
namespace {

namespace fs = std::filesystem;
using process::Descriptor;

const std::string hello = "{\"type\":\"hello\",\"protocol\":1,\"client\":\"test\"}\n";
const std::string ready = "{\"type\":\"ready\"}\n";

Descriptor connect(const Server& server) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  server.path().copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  return socket;
}

// Sets an environment variable, and restores it at the end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

void say(const Descriptor& socket, const std::string& text) {
  EXPECT_EQ(::send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

bool hung_up(const Descriptor& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.number(), &byte, 1, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == ECONNRESET);  // the latter if it was not accepted
}

TEST(ClientServer, ListensWhereOnlyItsUserMayEnterAndTidiesUp) {
  fs::path folder;
  {
    const Server server;
    folder = fs::path(server.path()).parent_path();
    struct stat found {};
    ASSERT_EQ(::stat(folder.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0700u);
    EXPECT_LE(server.path().size(), 107u);
  }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(ClientServer, RemovesWhatAKilledOneLeftAndNothingElse) {
  const tests::TemporaryFolder parent;
  Variable place("XDG_RUNTIME_DIR", parent.path().string());
  fs::path left;
  const pid_t child = ::fork();
  if (child == 0) {
    const Server server;
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  for (const auto& entry : fs::directory_iterator(parent.path())) left = entry.path();
  ASSERT_TRUE(fs::exists(left / "socket"));
  fs::create_directory(parent / "sweetspot.abcdef");  // as private as ours, and somebody else's
  fs::permissions(parent / "sweetspot.abcdef", fs::perms::owner_all);
  std::ofstream(parent / "sweetspot.abcdef" / "thesis") << "precious";
  fs::create_directory(parent / "sweetspot.public");

  const Server first;
  EXPECT_FALSE(fs::exists(left));
  const Server second;
  EXPECT_TRUE(fs::exists(first.path()));  // it is in use
  EXPECT_TRUE(fs::exists(parent / "sweetspot.abcdef" / "thesis"));
  EXPECT_TRUE(fs::exists(parent / "sweetspot.public"));
}

TEST(ClientServer, FindsAnotherPlaceWhereTheTemporaryFolderIsNoGood) {
  const Variable none("XDG_RUNTIME_DIR", "");
  for (const std::string& place :
       std::vector<std::string>{"/no/such/folder", "relative", "/tmp/" + std::string(100, 'x')}) {
    const Variable changed("TMPDIR", place);
    const Server server;
    EXPECT_TRUE(fs::exists(server.path()));
  }
}

TEST(ClientServer, HearsTheFirstThatSaysHelloAndHangsUpOnOthers) {
  Server server;
  const Descriptor silent = connect(server), talker = connect(server);
  say(silent, ready);  // no hello: bad
  EXPECT_TRUE(server.take().empty());
  EXPECT_EQ(server.bad_lines(), 1);
  say(talker, hello + ready);
  const std::vector<Message> said = server.take();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(std::get<Hello>(said[0]).client, "test");
  EXPECT_TRUE(server.connected());
  EXPECT_TRUE(hung_up(silent));
  const Descriptor late = connect(server);
  say(late, hello);
  EXPECT_TRUE(server.take().empty());
  EXPECT_TRUE(hung_up(late));
  say(talker, ready);
  EXPECT_EQ(server.take().size(), 1u);
}

TEST(ClientServer, AnswersTheTalkerOnly) {
  Server server;
  EXPECT_FALSE(server.send("x\n"));
  const Descriptor talker = connect(server);
  say(talker, hello);
  server.take();
  EXPECT_TRUE(server.send(enough_line()));
  char answer[64] = {};
  EXPECT_GT(::recv(talker.number(), answer, sizeof answer - 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(answer, enough_line());
}

TEST(ClientServer, CountsHalfALineAtTheEnd) {
  Server server;
  {
    const Descriptor talker = connect(server);
    say(talker, hello + "{\"type\":\"st");
  }
  EXPECT_EQ(server.take().size(), 1u);
  EXPECT_FALSE(server.connected());
  EXPECT_EQ(server.bad_lines(), 1);
  EXPECT_FALSE(server.send("x\n"));
  EXPECT_TRUE(server.take().empty());
}

TEST(ClientServer, BadLinesAndASecondHelloDoNotEndTheTalk) {
  Server server;
  const Descriptor talker = connect(server);
  say(talker, hello + "rubbish\n" + hello + ready);
  EXPECT_EQ(server.take().size(), 2u);
  EXPECT_EQ(server.bad_lines(), 2);
}

TEST(ClientServer, IsReadableWhenThereIsNews) {
  Server server;
  const auto readable = [&] {
    std::vector<pollfd> all;
    for (const int fd : server.descriptors()) all.push_back({fd, POLLIN, 0});
    return ::poll(all.data(), all.size(), 0) > 0;
  };
  EXPECT_FALSE(readable());
  const Descriptor talker = connect(server);
  EXPECT_TRUE(readable());
  server.take();
  EXPECT_FALSE(readable());
  say(talker, hello);
  EXPECT_TRUE(readable());
  server.take();
  EXPECT_FALSE(readable());
}

TEST(ClientServer, AFloodOfConnectionsIsBounded) {
  Server server;
  std::vector<Descriptor> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(connect(server));
    server.take();
  }
  EXPECT_LE(server.descriptors().size(), 65u);
}

}  // namespace
}  // namespace sweetspot::workload::command::client
