// The server against good, malicious and idle clients. Nothing here measures time: a server that
// waits for the wrong client blocks the right one forever, which the harness notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>

#include "serve/support.h"

namespace sweetspot::tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* home = "/?token=secret-token";
constexpr const char* events = "/events?token=secret-token";

class Serve : public testing::Test {
 protected:
  std::string get(const Running& server, const std::string& target) {
    return ask(server.host(), request(target, server.host()));
  }
  FakeSite site_;
};

TEST_F(Serve, AnswersWithEveryHeaderThatProtectsThePage) {
  const Running server(site_);
  const std::string response = get(server, home);
  EXPECT_EQ(status_of(response), 200);
  EXPECT_EQ(body_of(response), "the page");
  for (const char* field :
       {"Content-Length: 8", "Content-Type: text/plain; charset=utf-8", "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY", "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin", "Connection: close"})
    EXPECT_THAT(response, HasSubstr(std::string(field) + "\r\n"));
  for (const char* field : {"Set-Cookie", "Access-Control", "Server:"})
    EXPECT_THAT(response, Not(HasSubstr(field)));
}

TEST_F(Serve, AHeadRequestGetsTheHeadOnly) {
  const Running server(site_);
  const std::string response = ask(server.host(), request(home, server.host(), "HEAD"));
  EXPECT_THAT(response, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_EQ(body_of(response), "");
  const std::string stream = ask(server.host(), request(events, server.host(), "HEAD"));
  EXPECT_THAT(stream, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_EQ(body_of(stream), "");
}

TEST_F(Serve, RefusesWhatItShould) {
  const Running server(site_);
  const std::string& host = server.host();
  EXPECT_EQ(status_of(ask(host, request(home, "evil.example"))), 421);
  EXPECT_EQ(status_of(get(server, "/")), 403);
  EXPECT_EQ(status_of(get(server, "/?token=secret")), 403);
  EXPECT_EQ(status_of(ask(host, "GET / HTTP/1.1\n\n")), 400);
  EXPECT_EQ(status_of(ask(host, std::string(100'000, 'A'))), 414);
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"}) {
    const std::string refused =
        ask(host, request(home, host, method, "Content-Length: 5\r\n") + "hello");
    EXPECT_EQ(status_of(refused), 405) << method;
    EXPECT_THAT(refused, HasSubstr("Allow: GET, HEAD\r\n"));
  }
}

TEST_F(Serve, KnowsNoPathBesidesItsOwn) {
  const Running server(site_);
  for (const char* path : {"/../etc/passwd", "/..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd",
                           "/%252e%252e%252fetc%252fpasswd", "/..\\x", "//", "/./", "/index.html",
                           "/events/", "/etc/passwd", "/%00"})
    EXPECT_EQ(status_of(get(server, std::string(path) + "?token=secret-token")), 404) << path;
}

TEST_F(Serve, TakesNothingBehindARequestForAnother) {
  const Running server(site_);
  const std::string one = request(home, server.host());
  const std::string response = ask(server.host(), one + one + one);
  EXPECT_EQ(response.find("HTTP/1.1"), response.rfind("HTTP/1.1"));
  EXPECT_THAT(response, EndsWith("the page"));
  const std::string smuggled =
      ask(server.host(), request(home, server.host(), "GET", "Transfer-Encoding: chunked\r\n") +
                             "0\r\n\r\n" + one);
  EXPECT_EQ(status_of(smuggled), 413);
  EXPECT_EQ(smuggled.find("HTTP/1.1"), smuggled.rfind("HTTP/1.1"));
}

TEST_F(Serve, AnswersAClientThatHasFinishedSending) {
  site_.page = std::string(3'000'000, 'x');  // more than the socket takes at once
  const Running server(site_);
  Client client(server.host());
  client.send(request(home, server.host()));
  client.finish_sending();
  EXPECT_EQ(body_of(client.read_all()).size(), site_.page.size());
}

TEST_F(Serve, AnswersARequestThatComesByteByByte) {
  const Running server(site_);
  Client client(server.host());
  for (const char c : request(home, server.host())) ASSERT_TRUE(client.send(std::string(1, c)));
  EXPECT_EQ(status_of(client.read_all()), 200);
}

TEST_F(Serve, StreamsWhatChanges) {
  http::Limits limits;
  limits.refresh = http::Milliseconds(1);
  const Running server(site_, limits);
  Client client(server.host());
  client.send(request(events, server.host()));
  EXPECT_THAT(client.read_until("data: 0\n\n"), HasSubstr("Content-Type: text/event-stream\r\n"));
  site_.tell("1");
  EXPECT_THAT(client.read_until("data: 1\n\n"), HasSubstr("event: study\nid: "));
  site_.end();
  const std::string all = client.read_all();
  EXPECT_THAT(all, EndsWith("data: \"the end\"\n\n"));
  EXPECT_EQ(all.find("data: 1"), all.rfind("data: 1")) << "told once only";
}

TEST_F(Serve, DoesNotRepeatTheEventThatAReaderHas) {
  http::Limits limits;
  limits.refresh = http::Milliseconds(1);
  const Running server(site_, limits);
  const std::string id = site_.current(1).id;
  Client client(server.host());
  client.send(request(events, server.host(), "GET", "Last-Event-ID: " + id + "\r\n"));
  client.read_until("\r\n\r\n");
  site_.tell("1");
  EXPECT_THAT(client.read_until("data: 1\n\n"), Not(HasSubstr("data: 0")));
}

TEST_F(Serve, SilentStreamsHaveAHeartbeat) {
  http::Limits limits;
  limits.patience.heartbeat = http::Milliseconds(1);
  const Running server(site_, limits);
  Client client(server.host());
  client.send(request(events, server.host()));
  EXPECT_THAT(client.read_until("\n\n:\n\n:\n\n"), HasSubstr("data: 0\n\n:\n\n:\n\n"));
}

TEST_F(Serve, DropsThoseWhoDoNotFinishTheirRequest) {
  http::Limits limits;
  limits.patience.head = http::Milliseconds(1);
  const Running server(site_, limits);
  Client client(server.host());
  client.send("GET / HTTP/1.1\r\nHost:");
  EXPECT_EQ(status_of(client.read_all()), 408);
}

TEST_F(Serve, DropsThoseWhoDoNotRead) {
  site_.page = std::string(50'000'000, 'x');
  http::Limits limits;
  limits.patience.drain = http::Milliseconds(1);
  const Running server(site_, limits);
  Client client(server.host());
  client.send(request(home, server.host()));
  // Others are answered meanwhile; after being disconnected it has an incomplete page.
  EXPECT_EQ(status_of(get(server, "/nowhere?token=secret-token")), 404);
  EXPECT_EQ(status_of(get(server, "/?token=wrong")), 403);
  EXPECT_LT(client.read_all().size(), site_.page.size());
}

TEST_F(Serve, AStreamThatIsNotReadSkipsEventsAndHoldsNobodyUp) {
  http::Limits limits;
  limits.refresh = http::Milliseconds(1);
  const Running server(site_, limits);
  Client slow(server.host()), quick(server.host());
  site_.tell('"' + std::string(5'000'000, 'a') + '"');
  slow.send(request(events, server.host()));
  slow.read_until("event: study");
  quick.send(request(events, server.host()));
  for (const char* number : {"1", "2", "3"}) {
    site_.tell(number);
    quick.read_until(std::string("data: ") + number + "\n\n");
  }
  const std::string all = slow.read_until("data: 3\n\n");
  EXPECT_NE(all.find("aaa\"\n\n"), std::string::npos) << "the event that it was busy with";
  EXPECT_EQ(all.find("data: 1\n"), std::string::npos) << "one of those that it missed";
}

TEST_F(Serve, OutlivesThoseWhoLeaveInTheMiddle) {
  site_.page = std::string(3'000'000, 'x');
  http::Limits limits;
  limits.refresh = http::Milliseconds(1);
  const Running server(site_, limits);
  for (int i = 0; i < 20; ++i) {
    Client reader(server.host()), stream(server.host()), asker(server.host());
    reader.send(request(home, server.host()));
    reader.read_until("xxx");
    stream.send(request(events, server.host()));
    stream.read_until("event: study");
    asker.send("GET / HT");
    site_.tell(std::to_string(i));
  }
  EXPECT_EQ(status_of(get(server, home)), 200);
}

TEST_F(Serve, StreamsAreCapped) {
  http::Limits limits;
  limits.streams = 2;
  const Running server(site_, limits);
  Client one(server.host()), two(server.host());
  for (Client* client : {&one, &two}) {
    client->send(request(events, server.host()));
    client->read_until("data: 0");
  }
  EXPECT_EQ(status_of(get(server, events)), 503);
  EXPECT_EQ(status_of(get(server, home)), 200);
}

// As many descriptors as the machine allows, for this program's own end of a thousand connections.
void raise_file_limit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

TEST_F(Serve, AThousandWhoSayNothingKeepNobodyWaiting) {
  raise_file_limit();
  http::Limits limits;
  limits.patience.head = std::chrono::minutes(10);  // so that nobody is closed for another reason
  const Running server(site_, limits);
  Client watcher(server.host());
  watcher.send(request(events, server.host()));
  watcher.read_until("data: 0\n\n");
  std::deque<Client> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.emplace_back(server.host());
    if (i % 2) idle.back().send("GET / HTTP/1.1\r\nHo");
    if (i % 100 == 0) {
      EXPECT_EQ(status_of(get(server, home)), 200) << i;
    }
  }
  EXPECT_EQ(status_of(get(server, home)), 200);
  site_.tell("1");
  EXPECT_THAT(watcher.read_until("data: 1\n\n"), EndsWith("data: 1\n\n"));
  // The first of them was closed; the last may still send a request.
  EXPECT_EQ(idle.front().read_all(), "");
  Client& last = idle.back();
  last.send("st: " + server.host() + "\r\n\r\n");
  EXPECT_EQ(status_of(last.read_all()), 403);
}

}  // namespace
}  // namespace sweetspot::tests
