// SPDX-License-Identifier: Apache-2.0
#include "pair.h"

#include <algorithm>
#include <cstring>

#include "free_endpoint.h"
#include "shoal/base/production.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/registry.h"
#include "touch.h"

namespace shoal::bench {
namespace {

using transport::Message;

constexpr auto kPatience = std::chrono::seconds(60);
// With less, the largest messages would be paged in again each time.
constexpr size_t kRetainedBytesMax = size_t(4) << 30;

std::unique_ptr<Environment> make_task(const char* name, const PairOptions& options, const TransportTable& table) {
  return make_production_environment({.task = name,
                                      .sink = {},
                                      .transports = table,
                                      .pool_threads = 1,
                                      .spin = options.spin,
                                      .buffers = BufferPool::create(kRetainedBytesMax)});
}

}  // namespace

Pair::Pair(const PairOptions& options) : options_(options) {
  const auto hub = std::make_shared<transport::InprocHub>();
  TransportTable table = transport::built_in_transports();
  table["inproc"] = transport::inproc_factory(hub);
  server_ = make_task("server", options, table);
  client_ = make_task("client", options, table);
  transport::Transport& transport = transport_of(*server_);
  listener_ = value_or_raise(transport.listen(free_endpoint(transport, options.scheme), link_options()));
  thread_ = std::thread([this] { value_or_raise(server_->run(serve())); });
  value_or_raise(client_->run(connect()));
}

Pair::~Pair() {
  if (connection_) value_or_raise(client_->run(hang_up()));
  thread_.join();
  connection_.reset();
  accepted_.reset();
  listener_.reset();
}

transport::Transport& Pair::transport_of(Environment& env) const { return *value_or_raise(env.transport(options_.scheme)); }

transport::LinkOptions Pair::link_options() const {
  return {.receive_bytes_max = uint64_t(2) << 30,
          .send_queue_bytes_max = options_.send_queue_bytes_max,
          .checksum = options_.checksum,
          .credential = options_.credential};
}

uint64_t Pair::copied() const {
  return transport_of(*server_).stats().bytes_copied + transport_of(*client_).stats().bytes_copied;
}

Task<Result<void>> Pair::connect() {
  auto connecting = transport_of(*client_).connect(listener_->endpoint(), link_options(), client_->after(kPatience));
  SHOAL_CO_TRY(connection_, co_await std::move(connecting));
  co_return Result<void>();
}

/// To be run on the client's strand, where what closing says leaves at once: its event loop does not turn again.
Task<Result<void>> Pair::hang_up() {
  connection_->close(unavailable("done"));
  co_return Result<void>();
}

Task<Result<void>> Pair::serve() {
  auto accepting = listener_->accept(server_->after(kPatience));
  SHOAL_CO_TRY(accepted_, co_await std::move(accepting));
  for (;;) {
    auto receiving = accepted_->receive(server_->after(kPatience));
    Result<Message> message = co_await std::move(receiving);
    if (!message) co_return Result<void>();  // The client is done.
    SHOAL_CO_TRY_VOID(co_await answer(std::move(*message)));
  }
}

Task<Result<void>> Pair::answer(Message message) {
  const double now = now_seconds();
  if (message.head.sequence < received_.size()) received_[size_t(message.head.sequence)] = now;
  switch (Mode(message.head.status)) {
    case Mode::kSink: co_return Result<void>();
    case Mode::kSinkAndRead: keep(read_all(message.payload())); co_return Result<void>();
    case Mode::kEcho: break;
  }
  if (reply_.body_bytes() != message.body_bytes()) {
    reply_ = message.body ? transport::make_weights(server_->buffers(), message.payload().size()) : Message();
  }
  Message reply = reply_;
  reply.head.kind = message.head.kind;
  reply.head.reply_to = message.head.sequence;
  message.body = {};
  co_return co_await accepted_->send(std::move(reply), server_->after(kPatience));
}

Task<Result<void>> Pair::ask(size_t bytes, int64_t count, Exchange& exchange) {
  Message message = transport::make_weights(client_->buffers(), bytes);
  std::memset(transport::mutable_payload(message).data(), 1, bytes);
  message.head.status = uint8_t(Mode::kEcho);
  for (int64_t i = 0; i < count; ++i) {
    Message copy = message;
    copy.head.sequence = uint64_t(i);
    const double start = now_seconds();
    if (!connection_->try_send(copy))
      SHOAL_CO_TRY_VOID(co_await connection_->send(std::move(copy), client_->after(kPatience)));
    auto receiving = connection_->receive(client_->after(kPatience));
    SHOAL_CO_TRY(const Message reply, co_await std::move(receiving));
    const double end = now_seconds();
    exchange.round_trips.add(end - start);
    exchange.one_way.add(received_[size_t(i)] - start);
  }
  co_return Result<void>();
}

Task<Result<void>> Pair::send_all(size_t bytes, int64_t count, bool touch, Exchange& exchange) {
  std::vector<double> sent;
  sent.reserve(size_t(count));
  for (int64_t i = 0; i < count; ++i) {
    Message message = transport::make_weights(client_->buffers(), bytes);
    if (touch) std::memset(transport::mutable_payload(message).data(), int(i & 0xff), bytes);
    message.head.status = uint8_t(touch ? Mode::kSinkAndRead : Mode::kSink);
    message.head.sequence = uint64_t(i);
    sent.push_back(now_seconds());
    if (connection_->try_send(message)) continue;
    SHOAL_CO_TRY_VOID(co_await connection_->send(std::move(message), client_->after(kPatience)));
  }
  SHOAL_CO_TRY_VOID(co_await finish());
  for (int64_t i = 0; i < count; ++i) exchange.one_way.add(received_[size_t(i)] - sent[size_t(i)]);
  co_return Result<void>();
}

/// An empty message there and back: the server has had all before it.
Task<Result<void>> Pair::finish() {
  Message message;
  message.head.kind = transport::MessageKind::kPull;
  message.head.status = uint8_t(Mode::kEcho);
  message.head.sequence = ~uint64_t(0);
  SHOAL_CO_TRY_VOID(co_await connection_->send(std::move(message), client_->after(kPatience)));
  auto receiving = connection_->receive(client_->after(kPatience));
  SHOAL_CO_TRY(const Message reply, co_await std::move(receiving));
  co_return Result<void>();
}

template <class Make>
Exchange Pair::measured(const Make& make) {
  Exchange exchange;
  const uint64_t copied_before = copied();
  const double start = now_seconds(), processor_start = processor_seconds();
  value_or_raise(client_->run(make(exchange)));
  exchange.seconds = now_seconds() - start;
  exchange.processor_seconds = processor_seconds() - processor_start;
  exchange.bytes_copied = copied() - copied_before;
  return exchange;
}

Exchange Pair::round_trips(size_t bytes, int64_t count) {
  received_.assign(size_t(count), 0);
  return measured([&](Exchange& exchange) { return ask(bytes, count, exchange); });
}

Exchange Pair::stream(size_t bytes, int64_t count, bool touch) {
  received_.assign(size_t(count), 0);
  return measured([&](Exchange& exchange) { return send_all(bytes, count, touch, exchange); });
}

}  // namespace shoal::bench
