// The client: a library of its own, libflydsl_redis, with one exported function.
#include "cache/redis/protocol.h"
#include "cache/redis/socket.h"
#include "cache/redis/tls.h"

#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <optional>
#include <stdexcept>

namespace flydsl::cache::redis {

namespace {

class Connection final : public RemoteConnection {
public:
  Connection(Socket socket, const TlsContext *context, const std::string &host, Deadline deadline)
      : socket_(std::move(socket)) {
    if (context)
      tls_.emplace(*context, socket_, host, deadline);
  }

  Reply request(std::span<const std::string_view> words, std::size_t mostBytes,
                Deadline deadline) override {
    write(commandOf(words), deadline);
    AnswerReader reader;
    std::array<char, 65536> bytes;
    for (std::size_t received = 0;;) {
      const std::size_t got = read(bytes, deadline);
      received += got;
      if (received > mostBytes)
        throw std::runtime_error("the server's answer has more than " + std::to_string(mostBytes) +
                                 " bytes");
      reader.feed({bytes.data(), got});
      if (std::optional<Reply> reply = reader.answer())
        return std::move(*reply);
    }
  }

private:
  void write(std::string_view bytes, Deadline deadline) {
    if (tls_)
      tls_->write(bytes, deadline);
    else
      socket_.write(bytes, deadline);
  }
  std::size_t read(std::span<char> into, Deadline deadline) {
    return tls_ ? tls_->read(into, deadline) : socket_.read(into, deadline);
  }

  Socket socket_;
  std::optional<TlsSession> tls_; ///< refers to `socket_`
};

class Client final : public RemoteClient {
public:
  explicit Client(const Endpoint &endpoint) : endpoint_(endpoint) {
    if (endpoint.tls)
      context_.emplace(endpoint.caFile);
  }

  std::unique_ptr<RemoteConnection> connect(Deadline deadline) override {
    return std::make_unique<Connection>(Socket::connect(endpoint_, deadline),
                                        context_ ? &*context_ : nullptr, endpoint_.host, deadline);
  }

  Signature sign(std::span<const std::uint8_t> key,
                 std::span<const std::string_view> pieces) override {
    struct FreeMac {
      void operator()(EVP_MAC *mac) const { EVP_MAC_free(mac); }
      void operator()(EVP_MAC_CTX *context) const { EVP_MAC_CTX_free(context); }
    };
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                                     OSSL_PARAM_construct_end()};
    const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
    const std::unique_ptr<EVP_MAC_CTX, FreeMac> context(mac ? EVP_MAC_CTX_new(mac.get()) : nullptr);
    bool good = context && EVP_MAC_init(context.get(), key.data(), key.size(), parameters);
    for (std::string_view piece : pieces)
      good = good &&
             EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char *>(piece.data()),
                            piece.size());
    Signature signature{};
    std::size_t size = 0;
    good = good && EVP_MAC_final(context.get(), signature.data(), &size, signature.size());
    if (!good || size != signature.size())
      throw std::runtime_error("OpenSSL makes no HMAC-SHA256");
    return signature;
  }

private:
  const Endpoint endpoint_;
  std::optional<TlsContext> context_;
};

} // namespace

} // namespace flydsl::cache::redis

extern "C" __attribute__((visibility("default"))) flydsl::cache::RemoteClient *
flydslMakeRemoteClient1(const flydsl::cache::Endpoint &endpoint) {
  return new flydsl::cache::redis::Client(endpoint);
}
