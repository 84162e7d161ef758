// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of the fuzz targets, as the real makers make them: PROGRAM FOLDER, which is tests/fuzz/corpus. Findings
// that lie there too stay.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "job/rendezvous/messages.h"
#include "known_token.h"
#include "make_file_seeds.h"
#include "payload_spec.h"
#include "shoal/base/check.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/task_status.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/transport/message.h"
#include "shoal/transport/token.h"
#include "state/codec.h"
#include "state/row_codec.h"
#if SHOAL_FUZZ_TCP
#include "frame.h"
#endif
#if SHOAL_FUZZ_TLS
#include <sys/socket.h>
#include <unistd.h>

#include "tls.h"
#endif
#if SHOAL_FUZZ_SHM
#include "control.h"
#include "rings.h"
#endif

namespace shoal {
namespace {

using transport::make_chunk, transport::make_control, transport::make_error, transport::make_hello,
    transport::make_snapshot_part, transport::Message, transport::MessageKind;

std::filesystem::path folder;
const std::shared_ptr<BufferPool> pool = BufferPool::create();

void write(const std::string& target, const std::string& name, const std::string& bytes) {
  fuzz::write_seed(folder, target, name, bytes);
}

using fuzz::bytes_of;
std::string bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class T>
std::string numbers(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) bytes += bytes_of(value);
  return bytes;
}

// ---- bodies ------------------------------------------------------------------------------------------------------------

/// Whole, and with its payload apart, as shm has it.
void write_body(const std::string& target, const std::string& name, const Message& message) {
  const std::string whole = bytes_of(message.body->bytes());
  write(target, name, bytes_of(uint32_t(0)) + whole);
  const std::span<const std::byte> payload = message.payload();
  if (payload.empty()) return;
  const auto begin = size_t(payload.data() - message.body->data());
  const std::string front = whole.substr(0, begin - sizeof(uint32_t)) + bytes_of(uint32_t(0));
  write(target, name + "_apart", bytes_of(uint32_t(payload.size())) + front + bytes_of(payload));
}

Message hello() {
  return make_hello(*pool, {.job = "chief 127.0.0.1:1, ps 127.0.0.1:2",
                            .role = "worker",
                            .index = 1,
                            .incarnation = 77,
                            .strategy = "async",
                            .fingerprint = 5,
                            .numerics = "reference float32",
                            .variables = "w [2,3]\n",
                            .meaning = "the head: binary_head\n"});
}
Message chunk(size_t payload_bytes) {
  const transport::OutgoingChunk made = make_chunk(
      *pool, {.ordinal = 3, .range_end = payload_bytes, .closing = true, .position = "{\"epoch\":1}"}, payload_bytes, 2);
  std::ranges::fill(made.payload, std::byte(0x3f));
  std::ranges::fill(made.scalars, 0.01);
  return made.message;
}
Message weights(size_t payload_bytes) {
  Message message = transport::make_weights(*pool, payload_bytes);
  std::ranges::fill(transport::mutable_payload(message), std::byte(0x3f));
  transport::set_weights_version(message, 3, 4);
  return message;
}
Message snapshot() {
  static constexpr std::byte kPayload[128] = {};
  return make_snapshot_part(*pool, {.version = 4, .name = "slot/0", .offset = 64, .total_bytes = 192, .payload = kPayload});
}
Message control(std::string_view verb, const std::string& text) { return transport::make_control(*pool, verb, text); }

void write_bodies() {
  write_body("hello", "worker", hello());
  write_body("hello", "empty", make_hello(*pool, {.role = "chief"}));
  write_body("control", "text", control("release", "{\"a\":1}"));
  static constexpr std::byte kPayload[100] = {};
  write_body("control", "payload", make_control(*pool, "verb", "", kPayload));
  write_body("weights", "empty", weights(0));
  write_body("weights", "arena", weights(256));
  write_body("chunk", "empty", make_chunk(*pool, {}, 0, 0).message);
  write_body("chunk", "push", chunk(256));
  write_body("chunk", "sparse",
             make_chunk(*pool, {.encoding = transport::Encoding::kSparseRows, .range_end = 4096}, 64, 1).message);
  write_body("snapshot", "slot", snapshot());
  write_body("snapshot", "empty", make_snapshot_part(*pool, {.name = "slot/0", .total_bytes = 64}));
  write_body("error", "unavailable", make_error(*pool, unavailable("the peer is gone")));
  using transport::OrderKind, transport::ReportKind, transport::make_order, transport::make_report;
  write_body("report", "in_step", make_report(*pool, {.kind = ReportKind::kInStep, .received = 7}));
  write_body("report", "held",
             make_report(*pool, {.kind = ReportKind::kHeld, .received = 7, .push = {2, 77, 9}, .base_version = 5}));
  write_body("order", "commit",
             make_order(*pool, {.index = 8, .number = 6, .global_step = 5, .pushes = {{0, 76, 4}, {2, 77, 9}}}));
  write_body("order", "fence", make_order(*pool, {.kind = OrderKind::kFence, .index = 9, .pushes = {{2, 77, 0}}}));
  write_body("order", "seal", make_order(*pool, {.kind = OrderKind::kSeal, .index = 10, .pushes = {}}));
}

// ---- texts -------------------------------------------------------------------------------------------------------------

cluster::ShardSpec shard_spec() {
  using Kind = nn::UpdateRule::Kind;
  using cluster::VariableSpec;
  const std::vector<VariableSpec> variables{
      {.name = "dense/kernel",
       .shape = Shape({3, 4}),
       .initializer = {Initializer::Kind::kUniform, -1, 1},
       .key = 7,
       .rule = {.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-7}, .learning_rate_scalar = 0}},
      {.name = "table",
       .shape = Shape({5, 2}),
       .initializer = {Initializer::Kind::kConstant, 0.5, 0},
       .key = 8,
       .rule = {.kind = Kind::kSgd, .constants = {}, .learning_rate_scalar = 0},
       .lazy_rows = true}};
  return value_or_raise(cluster::plan_shards(variables, 1, 1)).shards.at(0);
}

void write_control_texts() {
  using namespace cluster;
  const auto text = [](char which, const std::string& name, const std::string& json) {
    write("control_text", name, std::string(1, which) + json);
  };
  const StateText state{
      .epoch = 2, .global_step = 10, .counters = {4, 3}, .positions = {{0, "abc"}, {1, ""}}, .ended = {1}};
  text(0, "welcome", to_json(Welcome{Phase::kReady, 2, 10, "abc"}));
  text(0, "welcome_end", to_json(Welcome{Phase::kFinished, 2, 10, "", {true, "NaN at global step 3"}}));
  ServerStatus status;
  status.phase = Phase::kLoading;
  status.epoch = 1;
  status.counters = {1, 2};
  status.trainers.push_back({.index = 0, .connected = true, .pushes = {.applied = 9}});
  text(1, "status", to_json(status));
  text(2, "state", to_json(state));
  text(3, "read_range", to_json(ReadRange{1, 64, 4096}));
  text(4, "job_end", to_json(JobEnd{false, "max_steps"}));
  text(5, "shard_spec", to_json(shard_spec()));
  text(6, "prepare", to_json(Prepare{1, 9, shard_spec()}));
  text(11, "failed", to_json(JobFailure{ErrorKind::kNanLoss, "worker 0: the loss is NaN", 1}));
  text(7, "hold_request", to_json(HoldRequest{.residuals = true, .version = 9}));
  text(
      8, "task_status",
      to_json(TaskStatus{
          .role = "ps", .index = 1, .phase = "ready", .global_step = 7, .run = "r", .peers = {{"worker 0", true, "a:1"}}}));
  text(9, "rest", to_json(Rest{.newest_push = 20, .input_ended = true, .waits = true}));
  text(10, "rest_news", to_json(RestNews{.chief_connected = true, .at_work = "chief 0, worker 1 (away)"}));
}

void write_rendezvous() {
  const auto text = [](char which, const std::string& name, const std::string& json) {
    write("rendezvous_text", name, std::string(1, which) + json);
  };
  const cluster::Gathering gathering{.id = 7, .addresses = {"a:1", "[::1]:2", ""}, .host_names = {"a", "b", "b"}};
  cluster::Join join{
      .rank = 1, .size = 3, .plan = "ps:1,evaluator", .run = "slurm 7.0", .own_host = "", .host_name = "b", .known = {}};
  text(0, "join", to_json(join));
  join.known = gathering;
  text(0, "join_again", to_json(join));
  text(1, "seat", to_json(cluster::SeatOffer{"10.0.0.2", "10.0.0.2:23456"}));
  text(2, "here", to_json(cluster::SeatTaken{"10.0.0.2:23456"}));
  text(3, "waiting", to_json(cluster::Missing{.ranks = {1, 2}, .count = 5}));
  text(4, "cluster", to_json(gathering));
  write("node_list", "nodes", "r[0-1]n[08-10,12],login");
  write("node_list", "node", "n1");
  write("node_list", "counts", "5,4(x3)");
}

void write_tf_configs() {
  const auto text = [](const std::string& name, const std::string& json) { write("tf_config", name, json); };
  for (const cluster::TaskConfig& task : cluster::in_process_tasks({.ps = 1, .workers = 1, .evaluator = true}, "seed"))
    text("task_" + task.type, cluster::to_tf_config(task));
  text("all",
       R"({"cluster":{"chief":["a:1"],"ps":{"3":"[::1]:2","5":"c:3"},"evaluator":["d:4"]},)"
       R"("task":{"type":"ps","index":"5","trial":"1"},"model_dir":"m","service":{"x":[1,null]},"other":{"y":1e9}})");
  text("local", R"({"task":{"type":"worker","index":0.0}})");
  text("blank", " \n");
}

void write_payloads() {
  using transport::Encoding;
  const cluster::ShardSpec spec = fuzz::payload_spec();
  const Ref<Buffer> arena = pool->get(spec.arena_bytes);
  std::memset(arena->data(), 0x3f, arena->size());
  const auto add = [](const std::string& name, Encoding encoding, const Buffer& payload) {
    write("payload", name, char(int(encoding) - 1) + bytes_of(payload.bytes()));
  };
  for (const auto& [name, encoding] :
       {std::pair{"bfloat16", Encoding::kBfloat16}, {"float16", Encoding::kFloat16}, {"int8", Encoding::kInt8}}) {
    const Ref<Buffer> payload = pool->get(cluster::encoded_bytes(spec, encoding));
    cluster::encode(spec, encoding, arena->bytes(), payload->bytes());
    add(name, encoding, *payload);
  }
  const Ref<Buffer> largest = pool->get(cluster::encoded_bytes(spec, Encoding::kTopK, 0.05));
  cluster::TopK(spec, 0.05, *pool).encode(arena->bytes(), largest->bytes());
  add("top_k", Encoding::kTopK, *largest);
  std::vector<cluster::SegmentRows> rows(spec.segments.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (spec.segments[i].variable.lazy_rows) cluster::take_rows(spec.segments[i], {1, 3}, arena->bytes(), rows[i]);
  }
  const Ref<Buffer> by_rows = pool->get(cluster::row_payload_bytes(spec, rows));
  cluster::encode_rows(spec, arena->bytes(), rows, by_rows->bytes());
  add("rows", Encoding::kSparseRows, *by_rows);
}

void write_tokens() {
  const std::string token = "shoal1-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
  write("token", "cut_short", token);
  write("token", "whole", std::string(fuzz::kKnownToken) + "\n");
}

// ---- tcp ---------------------------------------------------------------------------------------------------------------

#if SHOAL_FUZZ_TCP
std::string frame_of(const Message& message, bool farewell = false) {
  const std::span<const std::byte> body = message.body ? message.body->bytes() : std::span<const std::byte>();
  transport::tcp::FrameBytes head;
  transport::tcp::encode({.head = message.head,
                          .checksummed = true,
                          .farewell = farewell,
                          .body_bytes = body.size(),
                          .checksum = transport::tcp::checksum_of(body)},
                         head);
  return bytes_of(std::span<const std::byte>(head)) + bytes_of(body);
}

void write_tcp() {
  using namespace transport::tcp;
  const PreambleBytes bytes = encode({.checksum = true, .heartbeat = std::chrono::seconds(5)});
  const std::string preamble = bytes_of(std::span<const std::byte>(bytes));
  Message pull;
  pull.head = {.kind = MessageKind::kPull, .status = 3, .job = 1, .epoch = 2, .incarnation = 5, .sequence = 6};
  write("tcp_frame", "pull", preamble + frame_of(pull));
  FrameBytes heartbeat;
  encode({.heartbeat = true}, heartbeat);
  const std::string beat = bytes_of(std::span<const std::byte>(heartbeat));
  write("tcp_frame", "heartbeat", preamble + beat);
  const auto stream = [&](const std::string& name, const std::string& frames) {
    write("tcp_stream", name, char(0) + preamble + frames);   // The bytes are taken as they are.
    write("tcp_stream", name + "_sealed", char(7) + frames);  // The target adds preamble and checksums.
  };
  stream("silent", "");
  stream("heartbeats", beat + beat);
  stream("hello_pull", frame_of(hello()) + frame_of(pull));
  stream("chunk", frame_of(chunk(64)));
  stream("control_weights", frame_of(control("status", "")) + beat + frame_of(weights(64)));
  stream("farewell", frame_of(make_error(*pool, unavailable("the task has ended")), true));
  write("tcp_stream", "http", char(0) + std::string("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
}
#endif

#if SHOAL_FUZZ_TLS
std::string received(int socket) {
  char bytes[16384];
  const ssize_t count = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
  return {bytes, size_t(std::max<ssize_t>(count, 0))};
}

/// The first words of a handshake by the known token, of either side, and what follows a good one. See tcp_tls_target.cc.
void write_tls() {
  using namespace transport::tcp;
  int of_client[2], of_server[2];
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK;
  SHOAL_CHECK(::socketpair(AF_UNIX, kType, 0, of_client) == 0 && ::socketpair(AF_UNIX, kType, 0, of_server) == 0);
  const auto context = value_or_raise(make_tls_context(value_or_raise(transport::Token::parse(fuzz::kKnownToken))));
  const auto client = context->start(TlsSide::kClient, of_client[0]),
             server = context->start(TlsSide::kServer, of_server[0]);
  error_code error;
  client->write_some(std::array{asio::const_buffer("hello", 5)}, error);
  const std::string client_hello = received(of_client[1]);
  write("tcp_tls", "client_hello", char(0) + client_hello);
  SHOAL_CHECK(::send(of_server[1], client_hello.data(), client_hello.size(), 0) > 0);
  server->read_some({}, error);
  write("tcp_tls", "server_hello", char(1) + received(of_server[1]));
  write("tcp_tls", "after_the_handshake", std::string{2, 0x17, 3, 3, 0, 20} + std::string(20, 'x'));
  write("tcp_tls", "older_version", char(0) + std::string("\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9));
}
#endif

// ---- shm ---------------------------------------------------------------------------------------------------------------

#if SHOAL_FUZZ_SHM
/// See shm_stream_target.cc.
void write_shm_stream(const std::string& name, const Message& message, bool farewell) {
  using namespace transport::shm;
  const auto notice = [](uint8_t file, const std::string& bytes) {
    return std::string{char(file), char(bytes.size())} + bytes;
  };
  Descriptor descriptor{.kind = uint8_t(message.head.kind), .farewell = farewell, .has_body = 1, .segment = 1};
  const std::span<const std::byte> body = message.body->bytes(), payload = message.payload();
  descriptor.front_bytes = payload.empty() ? body.size() : size_t(payload.data() - body.data());
  descriptor.payload_bytes = payload.size();
  Descriptor second = descriptor;
  second.slot = 1;
  const Notice segment{.kind = Notice::kSegment, .id = 1, .bytes = 8192}, forget{.kind = Notice::kForget, .id = 1};
  write("shm_stream", name,
        std::string{1, 3} + notice(1, bytes_of(segment)) + notice(0, bytes_of(uint32_t(Notice::kRing))) +
            notice(0, bytes_of(forget)) + char(1) + numbers<uint32_t>({2, 0, 0, 0}) + bytes_of(descriptor) +
            bytes_of(second) + bytes_of(Descriptor{}) + bytes_of(Descriptor{}) + bytes_of(body));
}

void write_shm() {
  write_shm_stream("hello", hello(), false);
  write_shm_stream("chunk", chunk(256), false);
  write_shm_stream("farewell", make_error(*pool, unavailable("the task has ended")), true);
  transport::shm::Preamble other;
  other.protocol = 9;
  write("shm_stream", "other_protocol", char(4) + bytes_of(other));
}
#endif

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
  shoal::folder = argv[1];
  shoal::write_bodies();
  shoal::write_control_texts();
  shoal::write_rendezvous();
  shoal::write_tf_configs();
  shoal::write_payloads();
  shoal::write_tokens();
  shoal::fuzz::write_file_seeds(shoal::folder);
#if SHOAL_FUZZ_TCP
  shoal::write_tcp();
#endif
#if SHOAL_FUZZ_TLS
  shoal::write_tls();
#endif
#if SHOAL_FUZZ_SHM
  shoal::write_shm();
#endif
  return 0;
}
