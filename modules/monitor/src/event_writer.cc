// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/event_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "event_codec.h"
#include "shoal/base/record_framing.h"

namespace shoal::monitor {
namespace {

/// Drops fractions of a microsecond, which a double of this size cannot hold.
double seconds_of(WallTime time) { return double(time.time_since_epoch() / std::chrono::microseconds(1)) / 1e6; }

constexpr std::string_view kNameHead = "events.out.tfevents.";
constexpr size_t kSecondsDigits = 10;
// The largest time with ten digits. Readers sort file names by bytes. So a time of eleven digits, which begins with 1,
// would precede older times of ten digits.
constexpr int64_t kSecondsMax = 9'999'999'999;

/// Returns the time in the name of an event file of any program, in seconds; nothing if it does not have ten digits.
std::optional<int64_t> seconds_in(std::string_view name) {
  if (!name.starts_with(kNameHead)) return std::nullopt;
  name.remove_prefix(kNameHead.size());
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits != kSecondsDigits) return std::nullopt;
  int64_t seconds = 0;
  for (const char digit : name.substr(0, digits)) seconds = 10 * seconds + (digit - '0');
  return seconds;
}

/// Returns the name of an event file. A slash in `host` becomes "_", since a file name cannot contain one.
std::string file_name(int64_t seconds, int64_t nanoseconds, std::string host, uint32_t unique) {
  for (char& c : host) {
    if (c == '/' || c == '\0') c = '_';
  }
  std::array<char, 64> head{};
  std::array<char, 32> tail{};
  std::snprintf(head.data(), head.size(), "%s%010lld.", kNameHead.data(), static_cast<long long>(seconds));
  std::snprintf(tail.data(), tail.size(), ".%09lld-%08x", static_cast<long long>(nanoseconds), unique);
  return head.data() + host + tail.data();
}

/// Returns a file name that sorts after the names of all event files in `folder`, by bytes, since readers sort files so.
/// Its seconds are the present time, or one second after the newest name if the clock has gone back. If the folder cannot
/// be listed, the present time is used.
std::string next_file_name(Environment& env, const std::string& folder, const std::string& host) {
  constexpr int64_t kPerSecond = 1'000'000'000;
  const int64_t now = env.wall_now().time_since_epoch().count();
  const uint32_t unique = uint32_t(env.entropy());
  std::string name = file_name(now / kPerSecond, now % kPerSecond, host, unique);
  const auto listing = env.storage().list(folder);
  if (!listing) return name;
  int64_t newest = -1;
  bool is_behind = true;
  for (const FileInfo& file : *listing) {
    const std::optional<int64_t> seconds = file.is_folder ? std::nullopt : seconds_in(file.name);
    if (!seconds) continue;
    newest = std::max(newest, *seconds);
    is_behind &= name > file.name;
  }
  if (is_behind || newest >= kSecondsMax) return name;
  return file_name(newest + 1, 0, host, unique);
}

}  // namespace

EventWriter::EventWriter(Environment& env, std::string folder, EventWriterOptions options)
    : env_(env), folder_(std::move(folder)), options_(std::move(options)), last_flush_(env.now()) {}

EventWriter::~EventWriter() {
  if (file_) (void)close();
}

Result<std::unique_ptr<EventWriter>> EventWriter::open(Environment& env, const std::string& folder,
                                                       EventWriterOptions options) {
  Storage& storage = env.storage();
  if (options.makes_folder) SHOAL_TRY_VOID(storage.make_folders(folder));
  if (options.host.empty()) options.host = env.process().host_name;
  std::unique_ptr<EventWriter> writer(new EventWriter(env, folder, std::move(options)));
  SHOAL_TRY_VOID(writer->settle(writer->begin_file()));
  return writer;
}

Result<void> EventWriter::begin_file() {
  Storage& storage = env_.storage();
  do {  // Looks for a free name, since create() would truncate an existing file.
    path_ = join_path(folder_, next_file_name(env_, folder_, options_.host));
  } while (storage.exists(path_));
  SHOAL_TRY(file_, storage.create(path_));
  append_record(buffer_, encode_version_event(seconds_of(env_.wall_now())));
  SHOAL_TRY_VOID(write_out());
  last_flush_ = env_.now();
  return file_->flush();
}

/// Handles the result of a write. Stores an error, which all later calls return; but with survives_failure, logs the error
/// and goes on without a file for a minute.
Result<void> EventWriter::settle(Result<void> result) {
  constexpr auto kPause = std::chrono::minutes(1);
  if (result) return result;
  Error error = std::move(result).error().with_context("event file " + path_);
  if (!options_.survives_failure) {
    failed_ = std::move(error);
    return *failed_;
  }
  env_.log().warning(error.message() + "; events of the next minute are dropped, and the run continues");
  file_.reset();
  buffer_.clear();
  retry_at_ = env_.now() + kPause;
  return {};
}

Result<void> EventWriter::add_start(int64_t first_step) {
  return add_record(encode_start(seconds_of(env_.wall_now()), first_step));
}

Result<void> EventWriter::add_scalar(int64_t global_step, std::string_view tag, double value) {
  const Scalar scalar{tag, value};
  return add_scalars(global_step, {&scalar, 1});
}

Result<void> EventWriter::add_scalars(int64_t global_step, std::span<const Scalar> scalars) {
  return add_record(encode_scalars(seconds_of(env_.wall_now()), global_step, scalars));
}

Result<void> EventWriter::add_histogram(int64_t global_step, std::string_view tag, const Histogram& histogram) {
  return add_record(encode_histogram(seconds_of(env_.wall_now()), global_step, tag, histogram));
}

Result<void> EventWriter::add_text(int64_t global_step, std::string_view tag, std::string_view text) {
  return add_record(encode_text(seconds_of(env_.wall_now()), global_step, tag, text));
}

Result<void> EventWriter::add_image(int64_t global_step, std::string_view tag, const EncodedImage& image) {
  const auto is_size = [](int64_t pixels) { return pixels >= 1 && pixels <= INT32_MAX; };
  if (!is_size(image.width) || !is_size(image.height) || image.channels < 1 || image.channels > 4) {
    return invalid_argument("image " + std::string(tag) + ": its size is " + std::to_string(image.width) + " x " +
                            std::to_string(image.height) + " pixels with " + std::to_string(image.channels) +
                            " channels; expected sizes of at least 1 and from 1 to 4 channels");
  }
  return add_record(encode_image(seconds_of(env_.wall_now()), global_step, tag, image));
}

Result<void> EventWriter::add_tensor(int64_t global_step, std::string_view tag, const TensorSummary& tensor) {
  if (!has_elements(tensor.shape, tensor.values.size())) {
    return invalid_argument("tensor " + std::string(tag) + ": its shape does not have " +
                            std::to_string(tensor.values.size()) + " elements, as many as there are values");
  }
  return add_record(encode_tensor(seconds_of(env_.wall_now()), global_step, tag, tensor));
}

Result<void> EventWriter::add_pr_curve(int64_t global_step, std::string_view tag, std::span<const float> values) {
  constexpr size_t kRows = 6;
  const size_t thresholds = values.size() / kRows;
  const std::array<int64_t, 2> shape{int64_t(kRows), int64_t(thresholds)};
  const std::string content = pr_curve_content(thresholds);
  return add_tensor(global_step, tag, {.shape = shape, .values = values, .plugin = "pr_curves", .content = content});
}

Result<bool> EventWriter::add_graph(std::span<const GraphNode> nodes) {
  constexpr size_t kGraphBytesMax = size_t(1) << 20;
  const std::string event = encode_graph(seconds_of(env_.wall_now()), nodes);
  if (event.size() > kGraphBytesMax) return false;
  SHOAL_TRY_VOID(add_record(event));
  return true;
}

Result<void> EventWriter::add_session_start(const SessionStart& start) {
  return add_record(encode_session_start(seconds_of(env_.wall_now()), start));
}

Result<void> EventWriter::add_session_end(SessionStatus status) {
  return add_record(encode_session_end(seconds_of(env_.wall_now()), status));
}

Result<void> EventWriter::add_hparams_experiment(const HyperParameterExperiment& experiment) {
  SHOAL_TRY_VOID(check_experiment(experiment));
  return add_record(encode_experiment(seconds_of(env_.wall_now()), experiment));
}

Result<void> EventWriter::add_record(std::string_view event) {
  if (failed_) return *failed_;
  if (closed_) return failed_precondition("event file " + path_ + " is closed");
  if (!file_ && env_.now() >= retry_at_) SHOAL_TRY_VOID(settle(begin_file()));
  if (!file_) return {};
  append_record(buffer_, event);
  if (env_.now() >= last_flush_ + options_.flush_interval) return flush();
  if (buffer_.size() > options_.buffer_bytes_max) return settle(write_out());
  return {};
}

Result<void> EventWriter::write_out() {
  if (buffer_.empty()) return {};
  Result<void> written = file_->append(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
  return written;
}

Result<void> EventWriter::flush() {
  if (failed_) return *failed_;
  if (!file_) return {};
  Result<void> flushed = write_out();
  last_flush_ = env_.now();
  if (flushed) flushed = file_->flush();
  return settle(std::move(flushed));
}

Result<void> EventWriter::close() {
  closed_ = true;
  if (!file_) return failed_ ? Result<void>(*failed_) : Result<void>();
  Result<void> flushed = flush();
  if (!file_) return flushed;
  Result<void> closed = file_->close();
  file_.reset();
  return flushed ? settle(std::move(closed)) : flushed;
}

}  // namespace shoal::monitor
