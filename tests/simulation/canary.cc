// SPDX-License-Identifier: Apache-2.0
#include "canary.h"

#include <algorithm>
#include <vector>

#include "shoal/testing/forwarding_storage.h"
#include "shoal/transport/message.h"
#include "shoal/transport/transport.h"

namespace shoal::simulation {
namespace {

using transport::Connection;
using transport::Endpoint;
using transport::LinkOptions;
using transport::Listener;
using transport::Message;

constexpr int kPushRepeated = 20;  // The number, on its connection, of the push that is repeated.

class FlippingFile final : public WritableFile {
 public:
  explicit FlippingFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    if (!copy.empty()) copy[copy.size() / 2] ^= std::byte{4};
    return file_->append(copy);
  }
  Result<void> flush() override { return file_->flush(); }
  Result<void> sync() override { return file_->sync(); }
  Result<void> close() override { return file_->close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

class LyingStorage final : public testing::ForwardingStorage {
 public:
  LyingStorage(Canary canary, std::shared_ptr<Storage> disk) : ForwardingStorage(std::move(disk)), canary_(canary) {}

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    SHOAL_TRY(auto file, disk_->create(path));
    const bool lies = canary_ == Canary::kDiskFlipsABit && path.find(".data") != std::string::npos;
    if (!lies) return file;
    return std::make_unique<FlippingFile>(std::move(file));
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    const bool lies = canary_ == Canary::kDiskForgetsARename && to.ends_with(".index");
    return lies ? Result<void>() : disk_->rename(from, to);
  }

 private:
  const Canary canary_;
};

/// The same push under the next number.
Message numbered_anew(BufferPool& pool, const Message& message) {
  const transport::Chunk chunk = value_or_raise(transport::read_chunk(message));
  transport::Chunk fields = chunk;
  ++fields.push;
  transport::OutgoingChunk again = transport::make_chunk(pool, fields, chunk.payload.size(), chunk.scalars.size());
  std::ranges::copy(chunk.payload, again.payload.begin());
  std::ranges::copy(chunk.scalars, again.scalars.begin());
  again.message.head = message.head;
  again.message.head.sequence += 1;
  return std::move(again.message);
}

Task<Result<void>> send_twice(Connection& connection, BufferPool& pool, Message message, Deadline deadline) {
  Message again = numbered_anew(pool, message);
  auto first = connection.send(std::move(message), deadline);
  SHOAL_CO_TRY_VOID(co_await std::move(first));
  auto second = connection.send(std::move(again), deadline);
  co_return co_await std::move(second);
}

class RepeatingConnection final : public Connection {
 public:
  RepeatingConnection(std::unique_ptr<Connection> inner, BufferPool& pool) : inner_(std::move(inner)), pool_(pool) {}
  const Endpoint& peer() const override { return inner_->peer(); }
  std::optional<transport::PeerIdentity> identity() const override { return inner_->identity(); }
  SteadyTime heard() const override { return inner_->heard(); }
  bool try_send(Message& message) override { return inner_->try_send(message); }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    const bool push = message.head.kind == transport::MessageKind::kChunk;
    if (push && ++pushes_ == kPushRepeated) return send_twice(*inner_, pool_, std::move(message), deadline);
    return inner_->send(std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override { return inner_->receive(deadline); }
  void close(Error reason) override { inner_->close(std::move(reason)); }
  void set_receive_limit(uint64_t bytes) override { inner_->set_receive_limit(bytes); }

 private:
  const std::unique_ptr<Connection> inner_;
  BufferPool& pool_;
  int pushes_ = 0;
};

class RepeatingTransport final : public transport::Transport {
 public:
  RepeatingTransport(std::shared_ptr<transport::Transport> inner, BufferPool& pool)
      : inner_(std::move(inner)), pool_(pool) {}
  transport::Reach reach() const override { return inner_->reach(); }
  bool shares_memory() const override { return inner_->shares_memory(); }
  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    return inner_->listen(std::move(at), std::move(options));
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    auto connecting = inner_->connect(std::move(to), std::move(options), deadline);
    SHOAL_CO_TRY(std::unique_ptr<Connection> made, co_await std::move(connecting));
    co_return std::unique_ptr<Connection>(new RepeatingConnection(std::move(made), pool_));
  }
  transport::TransportStats stats() const override { return inner_->stats(); }

 private:
  const std::shared_ptr<transport::Transport> inner_;
  BufferPool& pool_;
};

}  // namespace

std::string_view to_string(Canary canary) {
  switch (canary) {
    case Canary::kDiskFlipsABit: return "the disk flips a bit";
    case Canary::kDiskForgetsARename: return "the disk forgets a rename";
    case Canary::kNetworkRepeatsAPush: return "the network repeats a push";
  }
  return "";
}

Plan canary_plan(Canary, uint64_t seed) {
  Plan plan = draw_plan(seed);
  plan.faults.clear();
  plan.job.local = false;
  plan.job.size = {.ps = 1, .workers = 1, .evaluator = true};
  plan.job.max_steps = 200;
  plan.job.passes = 0;
  plan.job.uneven_passes.clear();
  plan.job.save_steps = 50;
  plan.job.save_secs = 0;
  plan.job.hook_stops_at.reset();
  plan.job.early_stop_from.reset();
  plan.job.hook_throws_at.reset();
  plan.job.poison = Poison::kNone;
  plan.job.compression.clear();
  plan.job.updates = Updates::kAsync;  // Synchronous updates would drop a push of the step before.
  plan.many_parts = false;             // A server refuses a chunk of a push that it has.
  return plan;
}

std::shared_ptr<Storage> planted_disk(Canary canary, std::shared_ptr<Storage> disk) {
  return std::make_shared<LyingStorage>(canary, std::move(disk));
}

TransportFactory planted_network(Canary canary, const std::string& task, TransportFactory network) {
  if (canary != Canary::kNetworkRepeatsAPush || task != "worker 0") return network;
  return [network = std::move(network)](Environment& env) -> std::shared_ptr<transport::Transport> {
    return std::make_shared<RepeatingTransport>(network(env), env.buffers());
  };
}

}  // namespace shoal::simulation
