// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What trainers and parameter servers say to each other, and servers among themselves, above transport messages: verbs,
/// reply states, and the JSON texts of control messages as structs. Everything read here comes over the network and is
/// checked.
///
/// Anybody's with a token or certificate of the job, in place of a hello: "status" -> "status" TaskStatus (task_status.h),
/// and that is all.
///
/// A trainer's connection to a server:
///   Hello                    -> "welcome" Welcome | Error (of a chief only when it shows whether the one before it lives;
///                               with status kStatusFinal if it does)
/// Of a shard in several parts (parts_of), a push is a Chunk for each, in any order but the closing one last, which is that of
/// the first part; it may begin while the step is still computed. Where Weights come, one comes for each part, in order, of one
/// version. All have the number of the request.
///   Pull                     -> Weights (once the model is ready) | "not_ready" | "finished" JobEnd
///   Chunk (closing)          -> once an order is about the push: Weights, with the push applied | Weights,
///                               kStatusStale: not applied | Weights, kStatusKept: not applied yet | "fenced",
///                               kStatusFenced | "sealed": not applied, the last checkpoint is taken | "finished"
///                               JobEnd, not applied | Error InvalidArgument: it does not fit, or learning rates differ
///   Chunk (others)           -> nothing
///   "welcome" number of push -> "welcome" Welcome, as it is now; that push and those before it, if they are not
///                               committed, are given up ("": there is none)
///   "done"                   -> "ok" | "finished" JobEnd: this trainer makes no more pushes, and leaves
///   "rest" Rest              -> "rest" RestNews | "again" | "finished" JobEnd: it makes no more pushes, and stays. "again":
///                               the state that it rests in is gone, or what stopped it is: it attaches, and goes on
///   "failure"                -> "ok" | Error: why nothing more is saved of this epoch, asked where a reply has kStatusPoisonBit
///   "failed" JobFailure      -> "ok": this trainer has failed for good (statuses 2, 3, 4); of shard 0, which tells the chief
/// One that compresses with top-k, beside that:
///   Snapshot part            -> "ok": a part of its own residual, as it was after the push that the part's version
///                               names. Sent whole, in order, where the reply to a push has kStatusResidualBit (then as
///                               it was before that push) or kStatusSaveBit (as it is after it), and before "done"
///   "residual" ReadRange     -> Snapshot part of its own residual | Error NotFound: the server has none
/// A server that leaves while trainers are connected sends them "finished" JobEnd unasked (reply_to 0).
/// The chief's, beside that:
///   "status"                 -> "status" ServerStatus
///   "prepare" Prepare        -> "ok": a new epoch is being loaded; the old one is gone | Error: the machine cannot hold it
///   Snapshot part            -> "ok": bytes of an arena
///   "ready" StateText        -> "ok": the epoch serves
///   "hold" HoldRequest       -> "held" StateText: a snapshot is held until "release" or the connection's end. Of shard 0
///                               first: it says at which version of the weights all others hold theirs
///                               | "more": that is not here yet, ask again | Error Unavailable: there is no model
///                               | Error NanLoss: that version has a value that is not finite, and begun without
///   "read" ReadRange         -> Snapshot part
///   "residuals" ["now"]      -> "residuals" [trainers]: of those the held state has the residual ("read" gives it)
///                               | "more": some are on their way, ask again
///   "release" ["saved"]      -> "ok": what was held is not wanted any more; "saved": it is in the newest checkpoint
///   "stop"                   -> "ok": replies ask trainers to stop from now on
///   "seal"                   -> "ok": no push counts any more, the last checkpoint is taken (shard 0 decides that for all)
///   "finish" JobEnd          -> "ok": the job has ended; the server returns
///
/// Another server's, to shard 0, which is the sequencer: Hello with role "ps" -> "welcome" Welcome | Error, then
/// Reports one way and Orders the other, none of them answered. An Order has an effect in its epoch alone
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

/// How long a peer whose heartbeats come may take to send, or to take, something that `bytes` may be before: a minute, and
/// a second for each MiB (8 Mbit/s).
inline Duration transfer_patience(uint64_t bytes) { return std::chrono::seconds(60 + int64_t(bytes >> 20)); }

/// MessageHead::status of replies: a state, and bits that ask trainers to stop, and to send their residual. Of pushes: bits.
inline constexpr uint8_t kStatusOk = 0;
inline constexpr uint8_t kStatusFenced = 1;  ///< The request was of an epoch that is over: attach again.
/// Weights with it say that the push was too old for the strategy, and does not count.
inline constexpr uint8_t kStatusStale = 2;
/// An Error with it says that it is no use to try again, whatever its kind.
inline constexpr uint8_t kStatusFinal = 3;
/// Weights with it say that the push is kept, and may be followed by one for the same step.
inline constexpr uint8_t kStatusKept = 4;
inline constexpr uint8_t kStatusStateMask = 0x07;
/// In any reply: the server gives way (CONTRACT FA-12) as soon as a checkpoint has what it holds, for which the chief is
/// asked.
inline constexpr uint8_t kStatusLeaveBit = 0x10;
/// An update of this server's epoch has written a value that is not finite: "failure" says which.
inline constexpr uint8_t kStatusPoisonBit = 0x08;
/// Of a chief's push: once it counts, the chief saves, and waits for residuals. Replies to the other pushes of that commit
/// have it too: where all wait for the chief there is no later one to ask by.
inline constexpr uint8_t kStatusSaveBit = 0x20;
inline constexpr uint8_t kStatusResidualBit = 0x40;
inline constexpr uint8_t kStatusStopBit = 0x80;

/// What "release" says of a snapshot that has become a checkpoint.
inline constexpr std::string_view kReleaseSaved = "saved";

/// The number of the next restore's epoch: above `newest`, the highest that the servers and this chief know, and never
/// given before, though all of them have forgotten. The upper half counts; the lower is the chief's incarnation, as the
/// numbers of ballots are made of a count and who proposes (Lamport, "The Part-Time Parliament", 1998, 2.2).
uint64_t next_epoch(uint64_t newest, uint64_t incarnation);

enum class Phase : uint8_t { kEmpty = 0, kLoading = 1, kReady = 2, kFinished = 3 };
std::string_view to_string(Phase phase);

/// How a job ended: the chief tells the servers, and they tell the trainers.
struct JobEnd {
  bool failed = false;  ///< True if the chief gave up.
  std::string reason;   ///< After a clean end "max_steps", ... (checkpoint::EndReason), else the sentence of the error.
  friend bool operator==(const JobEnd&, const JobEnd&) = default;
};
/// "training finished (max_steps)" or "the job failed: the chief gave up: ...".
std::string sentence(const JobEnd& end);
std::string to_json(const JobEnd& end);
Result<JobEnd> parse_job_end(std::string_view json);

/// Why a job's task has failed for good, or nothing more may be saved of its model.
struct JobFailure {
  ErrorKind kind = ErrorKind::kInternal;
  std::string sentence;
  int trainer = -1;  ///< The trainer that has failed; -1: an update has written a value that is not finite.
  bool of_values() const { return trainer < 0; }
  Error error() const { return {kind, sentence}; }
  friend bool operator==(const JobFailure&, const JobFailure&) = default;
};
std::string to_json(const JobFailure& failure);
/// DataLoss unless its kind is one that no restart mends (CONTRACT FA-9).
Result<JobFailure> parse_job_failure(std::string_view json);

struct Welcome {
  Phase phase = Phase::kEmpty;
  uint64_t epoch = 0;
  uint64_t global_step = 0;
  std::string position;  ///< The position of the trainer that asked, from shard 0; empty if there is none.
  JobEnd end = {};       ///< How the job ended, in phase kFinished.
  RunIdentity run = {};  ///< The run whose model the server holds, or is given.
};
std::string to_json(const Welcome& welcome);
Result<Welcome> parse_welcome(std::string_view json);

/// What became of a trainer's pushes at one server, since that was started.
struct PushCounts {
  uint64_t applied = 0;
  uint64_t dropped = 0;  ///< Pushes that were too late for the strategy (CONTRACT SY-2), or given up by the trainer.
  /// A sum over the applied ones: updates between the weights they were computed on and themselves.
  uint64_t staleness = 0;
  uint64_t staleness_max = 0;
  uint64_t losses = 0;     ///< How many of the applied ones had a finite loss.
  double loss = 0;         ///< The sum of these losses.
  double waited_secs = 0;  ///< How long the trainer has waited for replies to its pushes.
  friend bool operator==(const PushCounts&, const PushCounts&) = default;
};

/// A trainer makes no more pushes, but stays until the end is announced (CONTRACT JE-1).
struct Rest {
  uint64_t newest_push = 0;  ///< That push and those before it, if they are not committed, are given up; 0: there is none.
  /// Its input has ended, at a position that it can tell: checkpoints say so, too.
  bool input_ended = false;
  bool stopped_by_job = false;  ///< It stopped since it was told to: it goes on where that is taken back.
  bool waits = false;           ///< The answer may take a second, if there is nothing to tell.
  friend bool operator==(const Rest&, const Rest&) = default;
};
std::string to_json(const Rest& rest);
Result<Rest> parse_rest(std::string_view json);

/// What a trainer that rests hears of the others.
struct RestNews {
  bool chief_connected = false;
  std::string at_work;  ///< Who else makes pushes still: "chief 0, worker 1"; empty: nobody does.
};
std::string to_json(const RestNews& news);
Result<RestNews> parse_rest_news(std::string_view json);

struct TrainerStatus {
  int index = 0;
  bool connected = false;
  bool done = false;   ///< It makes no more pushes: it rests, or has left.
  bool ended = false;  ///< Its input has ended; a checkpoint may say so of one that has not been here yet.
  PushCounts pushes = {};
  friend bool operator==(const TrainerStatus&, const TrainerStatus&) = default;
};
/// All that changes in it is progress: while trainers train, one of its numbers moves.
struct ServerStatus {
  Phase phase = Phase::kEmpty;
  uint64_t epoch = 0;
  uint64_t global_step = 0;
  uint64_t spec_hash = 0;    ///< The hash of the ShardSpec that is held; 0 if there is none.
  uint64_t fingerprint = 0;  ///< The fingerprint of the model.
  RunIdentity run = {};      ///< The run whose model that is.
  uint64_t changes = 0;      ///< How often a trainer has come, gone, or said that it is done.
  ShardCounters counters;
  std::vector<TrainerStatus> trainers;
  std::optional<JobFailure> failure = {};  ///< What values have come to goes before what has become of a trainer.
  friend bool operator==(const ServerStatus&, const ServerStatus&) = default;
};
std::string to_json(const ServerStatus& status);
Result<ServerStatus> parse_server_status(std::string_view json);

struct Prepare {
  uint64_t epoch = 0;
  uint64_t fingerprint = 0;
  ShardSpec spec;
  /// How trainers will send gradients, as far as the chief knows: for what the server says of its memory.
  transport::Encoding gradients = transport::Encoding::kDense;
  std::string meaning = {};  ///< What TaskIdentity::meaning of the chief says.
  RunIdentity run = {};
  bool allow_non_finite = false;  ///< True if updates may write values that are not finite.
};
std::string to_json(const Prepare& prepare);
Result<Prepare> parse_prepare(std::string_view json);

/// The state of one shard: what becomes of it ("ready") or what it was when held ("held").
struct StateText {
  uint64_t epoch = 0;
  uint64_t global_step = 0;
  ShardCounters counters;
  // Only shard 0 has what follows.
  std::map<int, std::string> positions;
  std::set<int> ended = {};  ///< Trainers whose inputs have ended, at their positions.
};
std::string to_json(const StateText& state);
Result<StateText> parse_state(std::string_view json);

/// What the chief asks for with "hold".
struct HoldRequest {
  bool residuals = false;
  uint64_t version = 0;  ///< The version of the weights; 0 to shard 0, which decides that.
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

/// A list of trainers is ascending. Reading gives DataLoss if these are no numbers of trainers.
std::string to_json(const std::vector<int>& trainers);
Result<std::vector<int>> parse_trainers(std::string_view json);

uint64_t spec_hash(const ShardSpec& spec);

/// "weights", "slot/0", "residual/0", ... and back (InvalidArgument).
std::string arena_name(ArenaIndex arena);
Result<ArenaIndex> parse_arena_name(std::string_view name);

}  // namespace shoal::cluster
