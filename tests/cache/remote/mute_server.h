// A server that is none: it takes connections and answers as it is told, or not at all.
#pragma once

#include "../scratch.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <vector>

namespace flydsl::cache::test {

class MuteServer {
public:
  /// `answer` is called for each connection when something has come by it, with the socket.
  explicit MuteServer(std::function<void(int)> answer = {}) : answer_(std::move(answer)) {
    path = directory_.path + "/mute.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
        ::listen(listener_, 64) != 0)
      throw std::runtime_error("no listener");
    thread_ = std::thread([this] { serve(); });
  }
  ~MuteServer() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }

  std::string path;
  std::atomic<int> connections{0};

private:
  void serve() {
    std::vector<pollfd> all{{listener_, POLLIN, 0}};
    while (!stop_) {
      if (::poll(all.data(), all.size(), 10) <= 0)
        continue;
      for (std::size_t i = all.size(); i-- > 1;)
        if (all[i].revents) {
          char bytes[65536];
          const bool open = ::recv(all[i].fd, bytes, sizeof bytes, 0) > 0;
          if (open && answer_)
            answer_(all[i].fd);
          if (!open) {
            ::close(all[i].fd);
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
          }
        }
      if (all[0].revents) {
        ++connections;
        all.push_back({::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
      }
    }
    for (std::size_t i = 1; i < all.size(); ++i)
      ::close(all[i].fd);
  }

  Scratch directory_;
  std::function<void(int)> answer_;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

} // namespace flydsl::cache::test
