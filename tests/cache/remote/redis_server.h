// A Redis server for one test alone, on a Unix socket in a directory of its own.
#pragma once

#include "../processes.h"
#include "../scratch.h"

#include "cache/remote/load_client.h"
#include "cache/remote/remote_config.h"

#include <csignal>
#include <fcntl.h>
#include <string>
#include <thread>
#include <vector>

namespace flydsl::cache::test {

/// Sends one command by a connection of its own.
inline Reply ask(const Endpoint &endpoint, const std::vector<std::string_view> &words) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  return loadRemoteClient(endpoint, {})->connect(deadline)->request(words, 1 << 28, deadline);
}

class RedisServer {
public:
  /// `options` are those of redis-server's command line.
  explicit RedisServer(std::vector<std::string> options = {}) : options_(std::move(options)) {
    endpoint.socket = directory_.path + "/redis.sock";
    start();
  }
  ~RedisServer() { kill(); }
  RedisServer(const RedisServer &) = delete;

  void start() {
    std::vector<std::string> words = {REDIS_SERVER,
                                      "--port",
                                      "0",
                                      "--unixsocket",
                                      endpoint.socket,
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      directory_.path,
                                      "--logfile",
                                      directory_.path + "/log"};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = test::start([&] {
      execv(arguments[0], arguments.data());
      return 127;
    });
    for (int i = 0; i < 1000; ++i) {
      try {
        if (cache::test::ask(endpoint, {"PING"}).kind != Reply::Kind::nothing)
          return;
      } catch (const std::exception &) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    throw std::runtime_error("redis-server does not start");
  }
  void kill() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    test::wait(pid_);
    pid_ = 0;
    ::unlink(endpoint.socket.c_str());
  }
  /// Holds the server up as a machine without processor time does: it is there and does not answer.
  void stop() const { ::kill(pid_, SIGSTOP); }
  void go() const { ::kill(pid_, SIGCONT); }

  Reply ask(const std::vector<std::string_view> &words) const {
    return cache::test::ask(endpoint, words);
  }
  /// A configuration of a machine of the fleet, with short times.
  RemoteConfig config() const {
    RemoteConfig config;
    config.url.endpoint = endpoint;
    config.name = "redis+unix://" + endpoint.socket;
    config.timeout = std::chrono::milliseconds(2000);
    return config;
  }
  const std::string &directory() const { return directory_.path; }

  Endpoint endpoint;

private:
  Scratch directory_;
  std::vector<std::string> options_;
  pid_t pid_ = 0;
};

} // namespace flydsl::cache::test
