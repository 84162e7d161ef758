// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The protocol of trainers and parameter servers, and of servers among themselves, above transport messages: verbs, reply
/// states, and the JSON texts of control messages as structs. All of it comes over the network and is checked. An epoch is
/// one loading of the model and the training that follows. Every pair below is a request -> its possible replies. Instead
/// of a hello any peer with a token or certificate of the job may send "status" -> "status" TaskStatus (task_status.h).
/// A trainer to a server:
///   Hello                    -> "welcome" Welcome | Error. A second chief is answered only when it is known whether the
///                               first one is alive; status kStatusFinal if it is
///   Pull                     -> Weights, once the model is ready | "not_ready" | "finished" JobEnd
///   Chunk (closing)          -> one of these, once an order has decided about the push:
///                               Weights, with the push applied | Weights, kStatusStale: not applied
///                               | Weights, kStatusKept: not applied yet | "fenced", kStatusFenced
///                               | "sealed": not applied, the last checkpoint is taken | "finished" JobEnd: not applied
///                               | Error InvalidArgument: the push does not fit, or learning rates differ
///   Chunk (others)           -> nothing
///   "welcome" number of push -> "welcome" Welcome, as it is now. That push of the trainer and all earlier ones are
///                               dropped, unless they are committed (an empty number: there is no such push)
///   "done"                   -> "ok" | "finished" JobEnd: the trainer makes no more pushes, and leaves
///   "rest" Rest              -> "rest" RestNews | "again" | "finished" JobEnd: the trainer makes no more pushes, and
///                               stays. "again": the trainer's epoch is over, or the job cancels its request to stop;
///                               the trainer then attaches anew and goes on
///   "failure"                -> "ok" | Error: why nothing more of this epoch is saved (after a kStatusPoisonBit)
///   "failed" JobFailure      -> "ok": the trainer has failed for good (exit status 2, 3 or 4); shard 0 tells the chief
/// The push of a shard in several parts (parts_of) is one Chunk for each part. The trainer may send the first Chunks
/// while the step is still computed; the closing Chunk, which has the first part, comes last. Weights of such a shard
/// are one message for each part, in order, of one version. All these messages carry the number of the request.
/// A trainer that compresses with top-k may also send to a server:
///   Snapshot part            -> "ok": a part of the trainer's residual, as it was after the push that the part's version
///                               names. The trainer sends the whole residual, in order, if the reply to a push has
///                               kStatusResidualBit (the residual before that push) or kStatusSaveBit (the one after
///                               it), and before "done"
///   "residual" ReadRange     -> Snapshot part of the trainer's own residual | Error NotFound: the server has none
/// A server that leaves while trainers are connected sends them "finished" JobEnd unasked (reply_to 0).
/// The chief may also send to a server:
///   "status"                 -> "status" ServerStatus
///   "prepare" Prepare        -> "ok": a new epoch is being loaded, the old one is gone | Error: the machine cannot hold it
///   Snapshot part            -> "ok": bytes of an arena to restore
///   "ready" StateText        -> "ok": the server serves the epoch
///   "hold" HoldRequest       -> "held" StateText: the server holds a snapshot until "release" or the connection's end.
///                               Shard 0 is asked first; its answer names the version of the weights to hold elsewhere
///                               | "more": that version is yet to come, ask again | Error Unavailable: there is no model
///                               | Error NanLoss: that version has a value that is not finite and was finite at the start
///   "read" ReadRange         -> Snapshot part
///   "residuals" ["now"]      -> "residuals" [trainers]: the snapshot has their residuals, which "read" sends
///                               | "more": the server still waits for some residuals, ask again
///   "release" ["saved"]      -> "ok": the server frees the snapshot; "saved": the newest checkpoint has it
///   "stop"                   -> "ok": from now on replies ask trainers to stop
///   "seal"                   -> "ok": no push is applied any more, the last checkpoint is taken (shard 0 orders it)
///   "finish" JobEnd          -> "ok": the job has ended; the server returns
/// Another server to shard 0, which has the sequencer: Hello with role "ps" -> "welcome" Welcome | Error. Then that server
/// sends Reports and shard 0 sends Orders; neither is answered. A server ignores an Order of another epoch
/// (MessageHead::epoch).
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/time.h"
#include "shoal/cluster/run_identity.h"
#include "shoal/cluster/shard.h"
#include "shoal/cluster/snapshot.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// How long a peer that sends heartbeats may take to send or receive a message, if `bytes` bytes of other messages come
/// first: a minute, plus a second for each MiB (8 Mbit/s).
inline Duration transfer_patience(uint64_t bytes) { return std::chrono::seconds(60 + int64_t(bytes >> 20)); }

/// The values of MessageHead::status. A reply has one of the states kStatusOk to kStatusKept, and bits that ask the trainer
/// for something. A push has bits only.
inline constexpr uint8_t kStatusOk = 0;
inline constexpr uint8_t kStatusFenced = 1;  ///< The model was loaded anew: the trainer has to attach() again.
/// In a reply with Weights: the push was too old for the update strategy, and is not applied.
inline constexpr uint8_t kStatusStale = 2;
/// In a reply with an Error: trying again is of no use, whatever the kind of the error.
inline constexpr uint8_t kStatusFinal = 3;
/// In a reply with Weights: the server keeps the push for a later commit; the trainer may push again for this step.
inline constexpr uint8_t kStatusKept = 4;
inline constexpr uint8_t kStatusStateMask = 0x07;
/// In any reply: the server was asked to give way (to end early), and ends as soon as a checkpoint has its state. The
/// chief then saves a checkpoint.
inline constexpr uint8_t kStatusLeaveBit = 0x10;
/// In any reply: an update since the model was loaded has written a NaN or an infinity; "failure" says which.
inline constexpr uint8_t kStatusPoisonBit = 0x08;
/// In a chief's push: the chief takes a checkpoint after the update that includes this push, and waits for residuals. The
/// replies to the other trainers' pushes in this update have the bit, too, which asks these trainers for their residuals.
/// (If all of them then wait for the chief, the servers send no later reply that could ask them.)
inline constexpr uint8_t kStatusSaveBit = 0x20;
inline constexpr uint8_t kStatusResidualBit = 0x40;
inline constexpr uint8_t kStatusStopBit = 0x80;

/// The text of the request "release" if the snapshot has become a checkpoint.
inline constexpr std::string_view kReleaseSaved = "saved";

/// Makes the number of a new epoch (one loading of the model). It is higher than `newest`, the highest number that the
/// servers and this chief know, and was never used before, even if no task remembers which numbers were used. The upper
/// half is a count, the lower half is the chief's incarnation, as ballot numbers are made of a count and the proposer
/// (Lamport, "The Part-Time Parliament", 1998, 2.2).
uint64_t next_epoch(uint64_t newest, uint64_t incarnation);

enum class Phase : uint8_t { kEmpty = 0, kLoading = 1, kReady = 2, kFinished = 3 };
std::string_view to_string(Phase phase);

/// How a job ended. The chief tells the servers, and they tell the trainers.
struct JobEnd {
  bool failed = false;  ///< True if the chief gave up.
  /// If the job succeeded, why it ended: "max_steps", ... (checkpoint::EndReason). If it failed, the sentence of the error.
  std::string reason;
  friend bool operator==(const JobEnd&, const JobEnd&) = default;
};
/// "training finished (max_steps)" or "the job failed: the chief gave up: ...".
std::string sentence(const JobEnd& end);
std::string to_json(const JobEnd& end);
Result<JobEnd> parse_job_end(std::string_view json);

/// Why a task of the job has failed for good, or why the job's model may no longer be saved.
struct JobFailure {
  ErrorKind kind = ErrorKind::kInternal;
  std::string sentence;
  int trainer = -1;  ///< The trainer that has failed; -1 if an update has written a value that is not finite.
  bool of_values() const { return trainer < 0; }
  Error error() const { return {kind, sentence}; }
  friend bool operator==(const JobFailure&, const JobFailure&) = default;
};
std::string to_json(const JobFailure& failure);
/// Reads a failure of a kind that no restart mends: configuration, NanLoss, damaged data. DataLoss for other kinds.
Result<JobFailure> parse_job_failure(std::string_view json);

struct Welcome {
  Phase phase = Phase::kEmpty;
  uint64_t epoch = 0;
  uint64_t global_step = 0;
  std::string position;  ///< From shard 0: the stored input position of the asking trainer; empty if none.
  JobEnd end = {};       ///< In phase kFinished: how the job ended.
  RunIdentity run = {};  ///< The run of the model that the server holds or loads.
};
std::string to_json(const Welcome& welcome);
Result<Welcome> parse_welcome(std::string_view json);

/// What became of one trainer's pushes at one server, in numbers since the server's start.
struct PushCounts {
  uint64_t applied = 0;
  uint64_t dropped = 0;  ///< Pushes too old for the update strategy, or abandoned by the trainer.
  /// The sum of the staleness of all applied pushes: how many updates came between the weights that a push was computed
  /// on and the push itself.
  uint64_t staleness = 0;
  uint64_t staleness_max = 0;
  uint64_t losses = 0;     ///< The number of applied pushes with a finite loss.
  double loss = 0;         ///< The sum of the finite losses of applied pushes.
  double waited_secs = 0;  ///< How long the trainer has waited for replies to its pushes, in seconds.
  friend bool operator==(const PushCounts&, const PushCounts&) = default;
};

/// The message of a trainer that makes no more pushes, but stays until the end of the job is announced.
struct Rest {
  /// The number of the trainer's newest push; 0 if there is none. The servers drop all pushes of the trainer up to this
  /// number that are not committed yet.
  uint64_t newest_push = 0;
  /// True if the trainer's input has ended at a position that can be stored: checkpoints then record the end.
  bool input_ended = false;
  bool stopped_by_job = false;  ///< True if the job told the trainer to stop. The trainer goes on if the job cancels that.
  bool waits = false;           ///< True: before the server answers, it waits up to a second for the job to end or go on.
  friend bool operator==(const Rest&, const Rest&) = default;
};
std::string to_json(const Rest& rest);
Result<Rest> parse_rest(std::string_view json);

/// News of the other trainers: the answer to a trainer that makes no more pushes (Rest).
struct RestNews {
  bool chief_connected = false;
  std::string at_work;  ///< The trainers that still make pushes: "chief 0, worker 1"; empty if none does.
};
std::string to_json(const RestNews& news);
Result<RestNews> parse_rest_news(std::string_view json);

struct TrainerStatus {
  int index = 0;
  bool connected = false;
  bool done = false;   ///< The trainer makes no more pushes, for now or for good.
  bool ended = false;  ///< The trainer's input has ended; a restored checkpoint may say so before the trainer connects.
  PushCounts pushes = {};
  friend bool operator==(const TrainerStatus&, const TrainerStatus&) = default;
};
/// A server's state, for the chief. While training makes progress, some number here changes from answer to answer.
struct ServerStatus {
  Phase phase = Phase::kEmpty;
  uint64_t epoch = 0;
  uint64_t global_step = 0;
  uint64_t spec_hash = 0;    ///< The hash of the server's ShardSpec; 0 if the server has none.
  uint64_t fingerprint = 0;  ///< The fingerprint of the model.
  RunIdentity run = {};      ///< The run that the model belongs to.
  uint64_t changes = 0;      ///< How often a trainer has connected, disconnected, or said that it is done.
  ShardCounters counters;
  std::vector<TrainerStatus> trainers;
  /// Why the job cannot go on. If a weight is NaN or infinite and a trainer has failed, too, this tells of the weight.
  std::optional<JobFailure> failure = {};
  friend bool operator==(const ServerStatus&, const ServerStatus&) = default;
};
std::string to_json(const ServerStatus& status);
Result<ServerStatus> parse_server_status(std::string_view json);

struct Prepare {
  uint64_t epoch = 0;
  uint64_t fingerprint = 0;
  ShardSpec spec;
  /// How trainers will send gradients, if the chief knows; the server's estimate of its memory depends on it.
  transport::Encoding gradients = transport::Encoding::kDense;
  std::string meaning = {};  ///< The chief's TaskIdentity::meaning: what the model's ids and logits stand for.
  RunIdentity run = {};
  bool allow_non_finite = false;  ///< True if updates may write values that are not finite.
};
std::string to_json(const Prepare& prepare);
Result<Prepare> parse_prepare(std::string_view json);

/// The state of one shard, which is the text of two messages: of "ready", when training with a loaded model begins, and of
/// "held", when a server holds a snapshot.
struct StateText {
  uint64_t epoch = 0;
  uint64_t global_step = 0;
  ShardCounters counters;
  // Only shard 0 sets the fields below.
  std::map<int, std::string> positions;
  std::set<int> ended = {};  ///< Trainers whose inputs have ended, at the positions that `positions` has for them.
};
std::string to_json(const StateText& state);
Result<StateText> parse_state(std::string_view json);

/// The chief's request for a snapshot.
struct HoldRequest {
  bool residuals = false;
  uint64_t version = 0;  ///< The weights' version in the snapshot; 0 in the request to shard 0, which chooses it.
};
std::string to_json(const HoldRequest& request);
Result<HoldRequest> parse_hold_request(std::string_view json);

struct ReadRange {
  ArenaIndex arena = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
std::string to_json(const ReadRange& range);
Result<ReadRange> parse_read_range(std::string_view json);

/// Writes and reads an ascending list of trainers' numbers. Reading: DataLoss for anything else.
std::string to_json(const std::vector<int>& trainers);
Result<std::vector<int>> parse_trainers(std::string_view json);

uint64_t spec_hash(const ShardSpec& spec);

/// arena_name() returns the name of an arena, a buffer of a shard: "weights", "slot/0", "residual/0", ...
/// parse_arena_name() returns the number of the arena with this name; InvalidArgument for any other text.
std::string arena_name(ArenaIndex arena);
Result<ArenaIndex> parse_arena_name(std::string_view name);

}  // namespace shoal::cluster
