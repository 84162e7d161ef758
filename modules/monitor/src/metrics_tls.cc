// SPDX-License-Identifier: Apache-2.0
#include "metrics_tls.h"

namespace shoal::monitor {

Result<std::shared_ptr<boost::asio::ssl::context>> make_metrics_tls(const MetricsGate& gate) {
  namespace ssl = boost::asio::ssl;
  try {
    auto context = std::make_shared<ssl::context>(ssl::context::tlsv13_server);
    context->set_options(ssl::context::no_compression);
    context->use_certificate_chain(boost::asio::buffer(gate.certificate));
    context->use_private_key(boost::asio::buffer(gate.key), ssl::context::pem);
    SSL_CTX_set_num_tickets(context->native_handle(), 0);
    SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
    if (!gate.authorities.empty()) {
      constexpr long kPeerCertificateBytesMax = 16 * 1024;  // Limits the certificates that unknown clients may send.
      SSL_CTX_set_max_cert_list(context->native_handle(), kPeerCertificateBytesMax);
      context->add_certificate_authority(boost::asio::buffer(gate.authorities));
      context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    }
    return context;
  } catch (const boost::system::system_error& error) {
    return internal_error("metrics: TLS cannot be set up: " + error.code().message());
  }
}

}  // namespace shoal::monitor
