// Redis's protocol, RESP2, by hiredis: commands as bytes, and answers out of bytes that nobody has
// vouched for.
#pragma once

#include "cache/remote/client.h"

#include <hiredis/read.h>

#include <memory>
#include <optional>
#include <vector>

namespace flydsl::cache::redis {

/// The bytes of a command.
std::string commandOf(std::span<const std::string_view> words);

/// Takes one answer out of bytes as they come.
class AnswerReader {
public:
  AnswerReader();

  /// Takes more bytes. Throws std::runtime_error if they are not of the protocol, belong to an
  /// array, or go on behind the answer.
  void feed(std::string_view bytes);
  /// The answer, when it is whole.
  std::optional<Reply> answer();

private:
  struct Free {
    void operator()(redisReader *reader) const;
  };
  [[noreturn]] void fail() const;
  std::unique_ptr<redisReader, Free> reader_;
};

} // namespace flydsl::cache::redis
