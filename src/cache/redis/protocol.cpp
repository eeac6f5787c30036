#include "cache/redis/protocol.h"

#include <cstdlib>
#include <hiredis/hiredis.h>
#include <stdexcept>

namespace flydsl::cache::redis {

std::string commandOf(std::span<const std::string_view> words) {
  std::vector<const char *> starts;
  std::vector<std::size_t> sizes;
  for (std::string_view word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char *bytes = nullptr;
  const auto size =
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), starts.data(), sizes.data());
  if (size < 0)
    throw std::runtime_error("a command can't be put together");
  std::string command(bytes, static_cast<std::size_t>(size));
  redisFreeCommand(bytes);
  return command;
}

namespace {

void *makeText(const redisReadTask *task, char *bytes, std::size_t size) {
  return new Reply{task->type == REDIS_REPLY_ERROR ? Reply::Kind::error : Reply::Kind::text,
                   std::string(bytes, size), 0};
}
void *makeNumber(const redisReadTask *, long long value) {
  return new Reply{Reply::Kind::number, {}, value};
}
void *makeNothing(const redisReadTask *) { return new Reply; }
void destroy(void *reply) { delete static_cast<Reply *>(reply); }

/// The functions by which hiredis makes objects of an answer. No command here is answered by an
/// array or by a type of RESP3; what claims to be one is not made, however long it says that it is.
/// The template lets one text do for hiredis 0.14, which has fewer functions, and 1.x.
template <class Functions> Functions makeFunctions() {
  Functions functions{};
  functions.createString = makeText;
  functions.createInteger = makeNumber;
  functions.createNil = makeNothing;
  functions.createArray = [](const redisReadTask *, auto) -> void * { return nullptr; };
  if constexpr (requires { functions.createDouble; })
    functions.createDouble = [](const redisReadTask *, double, char *, std::size_t) -> void * {
      return nullptr;
    };
  if constexpr (requires { functions.createBool; })
    functions.createBool = [](const redisReadTask *, int) -> void * { return nullptr; };
  functions.freeObject = destroy;
  return functions;
}

redisReplyObjectFunctions functionsOfAnswers = makeFunctions<redisReplyObjectFunctions>();

} // namespace

void AnswerReader::Free::operator()(redisReader *reader) const { redisReaderFree(reader); }

AnswerReader::AnswerReader() : reader_(redisReaderCreateWithFunctions(&functionsOfAnswers)) {
  if (!reader_)
    throw std::runtime_error("no memory for an answer");
}

void AnswerReader::fail() const {
  throw std::runtime_error(reader_->err == REDIS_ERR_OOM
                               ? "the server answered with an array, or by another protocol"
                               : std::string("the server's answer is not of Redis's protocol: ") +
                                     reader_->errstr);
}

void AnswerReader::feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK)
    fail();
}

std::optional<Reply> AnswerReader::answer() {
  void *object = nullptr;
  if (redisReaderGetReply(reader_.get(), &object) != REDIS_OK)
    fail();
  if (!object)
    return std::nullopt;
  const std::unique_ptr<Reply> reply(static_cast<Reply *>(object));
  if (reader_->pos != reader_->len)
    throw std::runtime_error("the server answered more than it was asked");
  return std::move(*reply);
}

} // namespace flydsl::cache::redis
