#include "cache/redis/tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <stdexcept>

namespace flydsl::cache::redis {

/// The oldest of OpenSSL's complaints on this thread, without the others.
static std::string complaint() {
  char text[256] = "no reason is given";
  if (const unsigned long code = ERR_get_error())
    ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

TlsContext::TlsContext(const std::string &caFile) : context_(SSL_CTX_new(TLS_client_method())) {
  if (!context_ || !SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION))
    throw std::runtime_error("TLS: " + complaint());
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  if (caFile.empty() ? !SSL_CTX_set_default_verify_paths(context_.get())
                     : !SSL_CTX_load_verify_locations(context_.get(), caFile.c_str(), nullptr))
    throw std::runtime_error("the certificates of " +
                             (caFile.empty() ? std::string("the system") : caFile) +
                             " can't be read: " + complaint());
}

TlsSession::TlsSession(const TlsContext &context, Socket &socket, const std::string &host,
                       Deadline deadline)
    : socket_(socket), session_(SSL_new(context.get())) {
  BIO *incoming = BIO_new(BIO_s_mem()), *outgoing = BIO_new(BIO_s_mem());
  if (!session_ || !incoming || !outgoing)
    throw std::runtime_error("TLS: no memory");
  SSL_set_bio(session_.get(), incoming, outgoing); // it owns them
  in6_addr ignored;
  const bool isAddress = inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
                         inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
  const bool set =
      isAddress ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), host.c_str()) == 1
                : SSL_set1_host(session_.get(), host.c_str()) == 1 &&
                      SSL_set_tlsext_host_name(session_.get(), host.c_str()) == 1;
  if (!set)
    fail("TLS");
  run("the TLS handshake", deadline, [](SSL *session) { return SSL_connect(session); });
}

void TlsSession::fail(const char *what) {
  if (const long code = SSL_get_verify_result(session_.get()); code != X509_V_OK)
    throw std::runtime_error(std::string(what) + ": the server's certificate is refused: " +
                             X509_verify_cert_error_string(code));
  throw std::runtime_error(std::string(what) + ": " + complaint());
}

void TlsSession::sendPending(Deadline deadline) {
  char *bytes = nullptr;
  BIO *outgoing = SSL_get_wbio(session_.get());
  if (const long size = BIO_get_mem_data(outgoing, &bytes); size > 0) {
    const std::string pending(bytes, static_cast<std::size_t>(size));
    (void)BIO_reset(outgoing);
    socket_.write(pending, deadline);
  }
}

void TlsSession::receive(Deadline deadline) {
  char bytes[16384];
  const std::size_t got = socket_.read(bytes, deadline);
  if (BIO_write(SSL_get_rbio(session_.get()), bytes, static_cast<int>(got)) !=
      static_cast<int>(got))
    fail("TLS");
}

template <class Function>
int TlsSession::run(const char *what, Deadline deadline, Function function) {
  for (;;) {
    ERR_clear_error();
    const int result = function(session_.get());
    const int state = SSL_get_error(session_.get(), result);
    // What the function wrote goes out whether it is done or not: an alert too.
    sendPending(deadline);
    if (result > 0)
      return result;
    if (state == SSL_ERROR_WANT_READ)
      receive(deadline);
    else if (state == SSL_ERROR_ZERO_RETURN)
      throw std::runtime_error("the server closed the connection");
    else
      fail(what);
  }
}

void TlsSession::write(std::string_view bytes, Deadline deadline) {
  std::size_t written = 0;
  if (!bytes.empty())
    run("sending", deadline,
        [&](SSL *session) { return SSL_write_ex(session, bytes.data(), bytes.size(), &written); });
}

std::size_t TlsSession::read(std::span<char> into, Deadline deadline) {
  std::size_t got = 0;
  run("receiving", deadline,
      [&](SSL *session) { return SSL_read_ex(session, into.data(), into.size(), &got); });
  return got;
}

} // namespace flydsl::cache::redis
